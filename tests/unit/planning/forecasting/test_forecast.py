"""Forecasts: silent with too little, cautious until they have proved themselves."""

import numpy as np
import pytest

from autoscaler.domain.policy.policy import ForecastRules
from autoscaler.planning.forecasting.forecast import SHARES, forecast, pinball
from autoscaler.planning.past.reach import share_of_time
from tests.pasts import DAY_S, HOUR_S, ONE, POOL, THREE, daily, history, samples

NIGHTS = [8.0] * 6 + [0.0] * 18
RULES = ForecastRules()


def test_below_the_least_history_there_is_none_and_a_reason():
    """Six days of the seven that are needed."""
    found = forecast(history({ONE: daily(NIGHTS, 6)}), POOL, RULES)
    assert (found.futures, found.quantiles(ONE), found.reach()) == (None, None, {})
    assert found.reason == "only 6d of the past are known, 7d are needed"
    assert not found.is_confident


@pytest.mark.parametrize("past", [history({}), history({ONE: [None] * 300})])
def test_of_nothing_nothing_is_forecast(past):
    """No samples, or none that are known."""
    found = forecast(past, POOL, RULES)
    assert found.reason.startswith("only 0s of the past are known")


def test_holes_are_not_counted_as_history():
    """Ten days, of which half are known."""
    hours = [None if hour % 2 else 1.0 for hour in range(240)]
    found = forecast(history({ONE: hours}), POOL, RULES)
    assert found.known_s == 5 * DAY_S
    assert found.futures is None


def test_hours_of_the_day_are_seen_coming():
    """At 23:00 the nightly load is an hour away, at noon it is not, at 21:00 it is near."""
    nights = daily(NIGHTS, 14)
    late = forecast(history({ONE: nights}), POOL, RULES)
    assert late.quantiles(ONE) == (8.0, 8.0, 8.0)
    assert late.is_confident
    noon = forecast(history({ONE: nights[:-11]}), POOL, RULES)
    assert noon.quantiles(ONE) == (0.0, 0.0, 0.0)
    evening = forecast(history({ONE: nights[:-2]}), POOL, RULES)
    assert evening.quantiles(ONE) == (0.0, 0.0, 8.0)


def test_reach_is_the_share_of_the_horizon():
    """At 21:00, two of the four hours have all eight."""
    found = forecast(history({ONE: daily(NIGHTS, 14)[:-2]}), POOL, RULES)
    assert found.reach() == {ONE: (0.5,) * 8}


def test_only_as_much_of_the_past_counts_as_the_rules_say():
    """What was three weeks ago is not looked at."""
    old = [50.0] * (14 * 24)
    found = forecast(history({ONE: [*old, *daily(NIGHTS, 14)]}), POOL, RULES)
    assert max(found.quantiles(ONE)) == 8.0
    assert found.known_s == 14 * DAY_S


def test_one_that_does_worse_than_the_plain_share_is_not_relied_on():
    """What used to last for days began to change every hour: carrying it on misleads."""
    blocks = [40.0 * (hour // 48 % 2) for hour in range(7 * 24)]
    wild = [40.0 * (hour * hour // 3 % 2) for hour in range(7 * 24)]
    found = forecast(history({ONE: [*blocks, *wild]}), POOL, RULES)
    assert found.futures is not None
    assert "times as far as the plain share of time" in found.reason
    assert not found.is_confident


def test_demand_that_never_changes_is_forecast_as_it_is():
    """And relied on: nothing has spoken against it."""
    found = forecast(history({ONE: [3.0] * 240, THREE: [0.0] * 240}), POOL, RULES)
    assert found.is_confident
    assert found.quantiles(ONE) == (3.0, 3.0, 3.0)
    assert found.reach() == {ONE: (1.0, 1.0, 1.0), THREE: ()}
    assert found.now == {ONE: 3.0, THREE: 0.0}


def test_a_profile_that_is_not_known_has_no_quantiles():
    """Not zero."""
    found = forecast(history({ONE: [3.0] * 240}), POOL, RULES)
    assert found.quantiles(THREE) is None


@pytest.mark.parametrize(
    ("truth", "loss"),
    [(0.0, [0.1 * 0, 0.5, 0.4]), (4.0, [0.4, 1.5, 0.0]), (9.0, [0.9, 4, 4.5])],
)
def test_pinball_loss_punishes_the_rarer_side_more(truth, loss):
    """Quantiles 0, 1 and 4; by hand."""
    assert pinball(np.array([0.0, 1.0, 4.0]), truth, SHARES).tolist() == pytest.approx(loss)


def test_the_share_of_time_counts_known_time_only():
    """Two of the three known hours had one, one had three."""
    assert share_of_time(samples([1, None, 3, 0])) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    assert share_of_time(samples([])) == ()
    assert share_of_time(samples([None])) == ()


def test_the_same_past_gives_the_same_forecast():
    """Nothing is drawn at random."""
    past = history({ONE: daily(NIGHTS, 14)})
    first, second = (forecast(past, POOL, RULES).reach() for _ in range(2))
    assert first == second


def test_finer_steps_are_looked_at_an_hour_apart():
    """Five-minute samples: as many scenarios as hours, each with all its steps."""
    hours = daily(NIGHTS, 14)
    fine = [v for v in hours for _ in range(12)]
    found = forecast(history({ONE: fine}, step_s=300.0), POOL, RULES)
    assert found.futures.values.shape[1:] == (48, 1)
    assert found.futures.values.shape[0] == 14 * 24 - 4
    assert HOUR_S / 300.0 == 12
