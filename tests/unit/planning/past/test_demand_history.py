"""Demand of the past as a value: grids, holes, and what fills them."""

import numpy as np
import pytest

from autoscaler.planning.past.demand_history import (
    DemandHistory,
    Grid,
    Service,
    Source,
    concurrency,
    history_of_jobs,
    on_grid,
)
from tests.pasts import HOUR_S, MONDAY_S, ONE, POOL, TWO, history, jobs, samples

GRID = Grid(MONDAY_S, HOUR_S, 4)


def values(array):
    """Return samples as a list, None for those that are not known."""
    return [None if np.isnan(v) else float(v) for v in array]


@pytest.mark.parametrize(
    ("points", "expected", "odd"),
    [
        ([(0, 1), (3600, 2), (7200, 3), (10800, 4)], [1, 2, 3, 4], 0),
        ([(7200, 3), (0, 1)], [1, None, 3, None], 0),
        ([(0, 1), (0, 5)], [5, None, None, None], 0),
        ([(0, float("nan")), (3600, float("inf")), (7200, -1)], [None] * 4, 3),
        ([(-3600, 1), (14400, 1), (float("nan"), 1), (float("inf"), 1)], [None] * 4, 4),
        ([(100, 1), (3500, 2)], [1, 2, None, None], 0),
    ],
    ids=["whole", "clock goes back", "twice", "no numbers", "outside", "nearest place"],
)
def test_points_go_where_they_belong_and_the_rest_is_not_known(points, expected, odd):
    """What cannot be used is counted, never taken for zero."""
    found, number = on_grid([(MONDAY_S + at, value) for at, value in points], GRID)
    assert (values(found), number) == (expected, odd)


def test_a_moment_is_known_when_all_profiles_are():
    """One that is never known does not count against the others."""
    past = history({ONE: [1, None, 3, 4], TWO: [1, 1, None, 1], "x": [None] * 4})
    assert past.known(POOL).tolist() == [True, False, False, True]
    assert past.known_s(POOL) == 2 * HOUR_S
    assert list(past.of_pool(POOL)) == [ONE, TWO]


def test_of_an_unknown_pool_nothing_is_known():
    """Neither is it an error."""
    past = history({ONE: [1, 2]})
    assert past.known_s("other") == 0
    assert past.of_pool("other") == {}


def test_another_source_fills_the_holes_only():
    """What is known stays."""
    own = history({ONE: [None, 2, None, 4]})
    other = history({ONE: [9, 9, None, 9], TWO: [1, 1, 1, 1]})
    both = own.filled_with(other)
    assert values(both.wanted[POOL, ONE]) == [9, 2, None, 4]
    assert values(both.wanted[POOL, TWO]) == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="is not"):
        own.filled_with(history({ONE: [1]}))


def test_the_fingerprint_is_that_of_the_pool():
    """It changes with any sample of it, and with nothing else."""
    first = history({ONE: [1, None, 3]})
    assert first.fingerprint(POOL) == history({ONE: [1, None, 3]}).fingerprint(POOL)
    others = [
        history({ONE: [1, 0, 3]}),
        history({TWO: [1, None, 3]}),
        history({ONE: [1, None, 3]}, services={ONE: Service(1, 5)}),
        history({ONE: [1, None, 3]}, start_s=0.0),
    ]
    prints = {own.fingerprint(POOL) for own in others}
    assert len(prints) == 4
    assert first.fingerprint(POOL) not in prints


def test_samples_cannot_be_changed():
    """A value is a value."""
    past = history({ONE: [1, 2]})
    with pytest.raises(ValueError, match="read-only"):
        past.wanted[POOL, ONE][0] = 7
    with pytest.raises(ValueError, match="samples for"):
        DemandHistory(GRID, {(POOL, ONE): samples([1])})


@pytest.mark.parametrize(("step_s", "number"), [(0, 1), (-1, 1), (1, -1), (float("nan"), 1)])
def test_a_grid_has_a_step_and_a_number(step_s, number):
    """Otherwise it is none."""
    with pytest.raises(ValueError, match="not a grid"):
        Grid(0, step_s, number)


def test_jobs_make_the_history_they_would_have_made_without_waiting():
    """From their arrival for as long as they ran, ends excluded."""
    own = {(POOL, ONE): jobs((0, 2), (1, 1), (2.5, 9))}
    past = history_of_jobs(own, GRID)
    assert values(past.wanted[POOL, ONE]) == [1, 2, 0, 1]
    assert past.services[POOL, ONE] == Service(3, 12 * HOUR_S)
    assert past.sources == (Source.JOB_LOG,)


def test_no_jobs_are_no_demand():
    """That is known, where a log says so."""
    assert values(concurrency((), GRID)) == [0, 0, 0, 0]
