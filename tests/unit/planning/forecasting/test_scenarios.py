"""Scenarios: stretches of the past, moved to the present, weighed by likeness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.planning.forecasting.record import Recall, record_of
from autoscaler.planning.forecasting.scenarios import Scenarios, scenarios, weighted_quantiles
from autoscaler.planning.past.demand_history import Grid
from autoscaler.planning.past.reach import share_reaching
from tests.pasts import DAY_S, HOUR_S, MONDAY_S

RECALL = Recall(7 * DAY_S, 20.0)
ONLY_ALIKE = Recall(1e9, 0.0)


def made(columns, leads=1, recall=RECALL, step_s=HOUR_S):
    """Return scenarios after hourly samples, one list a profile."""
    samples = np.array(columns, dtype=float).T
    grid = Grid(MONDAY_S, step_s, len(samples))
    return scenarios(record_of(samples, grid, leads, "UTC"), leads, recall)


def week(value_at):
    """Return two weeks and an hour of samples by hour of the week."""
    return [value_at(hour % 168) for hour in range(2 * 168 + 1)]


def test_the_hour_of_the_week_repeats_itself():
    """With nothing but like hours to go by, what followed a week ago follows again."""
    found = made([week(lambda hour: hour)], leads=3, recall=ONLY_ALIKE)
    assert found.values[found.weights > 0][:, :, 0].tolist() == [[1, 2, 3], [1, 2, 3]]
    assert found.alike == pytest.approx(2.0, abs=0.01)


def test_what_sets_the_present_apart_is_carried_on_as_far_as_it_used_to_last():
    """A level that never changes back is kept; one that forgets at once is not."""
    steady = [0.0] * 200 + [10.0] * 200
    assert made([[*steady, 10.0]]).quantiles(0, [0.5])[0] > 9
    noise = [float(hour % 2) * 10 for hour in range(400)]
    lasting = made([[*noise, 0.0]]).quantiles(0, [0.5])[0]
    assert lasting == 10.0


def test_profiles_move_together():
    """Each scenario has both peaks or none: single profiles are never mixed."""
    peaks = [10.0 if hour % 7 == 3 else 0.0 for hour in range(400)]
    found = made([peaks, peaks], leads=4)
    assert found.values[:, :, 0].tolist() == found.values[:, :, 1].tolist()
    for sample in found.sampled(20):
        assert sample[:, 0].tolist() == sample[:, 1].tolist()


def test_samples_follow_the_weights():
    """Drawn at even steps, so none needs a random number."""
    weights = np.array([0.5, 0.3, 0.2])
    values = np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)
    drawn = Scenarios(values, weights, 0.0).sampled(10)[:, 0, 0].tolist()
    assert drawn == [1.0] * 5 + [2.0] * 3 + [3.0] * 2
    assert len(Scenarios(values[:0], weights[:0], 0.0).sampled(10)) == 0


def test_the_less_is_known_of_an_hour_the_more_all_hours_count():
    """One like hour weighs a twentieth of all others, four of them a fifth."""

    def likeness(weeks):
        found = made([[0.0] * (weeks * 168 + 1)], recall=Recall(1e12, 20.0))
        return found.alike / (found.alike + 20)

    assert likeness(1) == pytest.approx(1 / 21)
    assert likeness(4) == pytest.approx(4 / 24)


def test_stretches_with_holes_are_left_out():
    """All of them here, so there is nothing to go by."""
    columns = [[1.0, np.nan] * 50]
    assert len(made(columns, leads=2).weights) == 0
    assert made(columns, leads=2).reach(0) == ()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_past_shorter_than_what_lies_ahead_gives_nothing(number):
    """No stretch fits."""
    record = record_of(np.zeros((number, 1)), Grid(0.0, HOUR_S, number), 3, "UTC")
    found = scenarios(record, 3, RECALL)
    assert len(found.weights) == 0
    assert np.isnan(found.quantiles(0, [0.5])).all()


def test_where_the_present_is_not_known_nothing_is_carried_on():
    """The last hour is missing, so the past stands for itself."""
    found = made([[5.0] * 50 + [9.0] * 50 + [np.nan] * 3])
    assert set(found.values[:, 0, 0]) == {5.0, 9.0}


def test_a_short_half_life_leaves_the_youngest():
    """However short: weights never all vanish."""
    found = made([list(range(100))], recall=Recall(1.0, 1.0))
    assert found.weights.argmax() == len(found.weights) - 1
    assert found.weights.sum() == pytest.approx(1.0)


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0.01, 9)), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
)
def test_a_quantile_is_the_smallest_value_that_covers_its_share(pairs, share):
    """Of the weights."""
    values, weights = (np.array(own) for own in zip(*pairs, strict=True))
    (found,) = weighted_quantiles(values, weights, [share])
    assert weights[values <= found].sum() >= share * weights.sum() - 1e-9
    below = weights[values < found].sum()
    assert below <= share * weights.sum() + 1e-9


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=20))
def test_reach_is_the_share_of_the_weights_with_at_least_so_many(pairs):
    """Counted one by one, it falls, and ends at the largest."""
    values, weights = (np.array(own, dtype=float) for own in zip(*pairs, strict=True))
    reach = share_reaching(values, weights)
    assert len(reach) == values.max()
    for k, share in enumerate(reach, start=1):
        assert share == pytest.approx(weights[values >= k].sum() / weights.sum())
    assert list(reach) == sorted(reach, reverse=True)
