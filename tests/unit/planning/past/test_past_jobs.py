"""Single requests read out of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.planning.past.demand_history import Grid, Service, concurrency
from autoscaler.planning.past.past_jobs import jobs_seen, mean_service_s, without_waits
from tests.pasts import HOUR_S, MONDAY_S, ONE, POOL, TWO, history, samples


def seen(wanted, held, mean_h=1.0):
    """Return arrivals and service times in hours."""
    grid = Grid(0.0, HOUR_S, len(wanted))
    found = jobs_seen(samples(wanted), samples(held), grid, mean_h * HOUR_S)
    return [(job.arrival_s / HOUR_S, job.service_s / HOUR_S) for job in found]


@pytest.mark.parametrize(
    ("wanted", "held", "expected"),
    [
        ([0, 1, 1, 0], [0, 1, 1, 0], [(1, 2)]),
        ([1, 2, 1, 0], [1, 2, 1, 0], [(0, 2), (1, 2)]),
        ([2, 2, 1, 0], [1, 1, 1, 0], [(0, 2), (0, 1)]),
        ([1, 1, 1], [1, 1, 1], [(0, 3)]),
        ([1, 1, 1], [0, 0, 0], [(0, 1)]),
        ([2, 2, 1, 1], [1, 1, 1, 1], [(0, 2), (0, 2)]),
        ([2, 2, 1, 1], [0, 0, 0, 0], [(0, 1)]),
        ([1, None, None, 0], [1, None, None, 0], [(0, 3)]),
        ([None, 3, None], [None, 3, None], [(1, 2)] * 3),
        ([0, 0], [0, 0], []),
        ([None, None], [None, None], []),
        ([1, 0], [None, None], [(0, 1)]),
        ([1, 1, 0], [2, 2, 0], [(0, 2)]),
    ],
    ids=[
        "one", "in turn", "the second waits", "runs on", "never starts", "takes its place",
        "gives up", "hole",
        "known late", "none", "nothing known", "held not known", "more held than wanted",
    ],
)  # fmt: skip
def test_requests_are_matched_in_their_order(wanted, held, expected):
    """Arrivals, starts and ends, first come first served."""
    assert sorted(seen(wanted, held)) == sorted(expected)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_where_nothing_waits_they_add_up_to_what_was_held(numbers):
    """At every moment, whatever it was."""
    grid = Grid(MONDAY_S, HOUR_S, len(numbers))
    own = samples(numbers)
    found = jobs_seen(own, own, grid, HOUR_S)
    assert concurrency(found, grid).tolist() == own.tolist()


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 9)), min_size=1)
)
def test_whatever_the_numbers_they_are_requests(pairs):
    """None before the start, none that ends before it begins, in order."""
    grid = Grid(0.0, 60.0, len(pairs))
    wanted, held = samples(w for w, _ in pairs), samples(h for _, h in pairs)
    found = jobs_seen(wanted, held, grid, 30.0)
    assert list(found) == sorted(found)
    assert all(job.arrival_s >= 0 and job.service_s >= 0 for job in found)
    assert all(job.arrival_s + job.service_s >= job.arrival_s for job in found)


def test_without_waits_demand_is_that_of_arrivals():
    """The second of two waited an hour; without that both would have been over."""
    past = history({ONE: [2, 2, 1, 0]}, {ONE: [1, 1, 1, 0]})
    smooth = without_waits(past, {ONE: HOUR_S})
    assert smooth.wanted[POOL, ONE].tolist() == [2, 1, 0, 0]
    assert len(smooth.jobs[POOL, ONE]) == 2


def test_what_is_not_known_stays_so():
    """A hole in the samples is one in the result."""
    smooth = without_waits(history({ONE: [1, None, 1]}), {})
    assert np.isnan(smooth.wanted[POOL, ONE]).tolist() == [False, True, False]


def test_few_requests_say_little_about_their_mean():
    """One of 100 s among nine of 10 s, with five more of the mean of all, 19 s."""
    services = {ONE: Service(9, 90), TWO: Service(1, 100)}
    means = mean_service_s(services, 5.0)
    assert means == {ONE: (90 + 95) / 14, TWO: (100 + 95) / 6}
    assert mean_service_s(services, 0.0) == {ONE: 10.0, TWO: 100.0}


@pytest.mark.parametrize("services", [{}, {ONE: Service()}, {ONE: Service(3, 0)}])
def test_without_requests_there_is_no_mean(services):
    """Then sizes count alone."""
    assert mean_service_s(services, 5.0) == {}


def test_a_profile_without_requests_gets_the_mean_of_all():
    """Nothing speaks for another."""
    means = mean_service_s({ONE: Service(4, 80), TWO: Service()}, 5.0)
    assert means[TWO] == 20.0
    assert mean_service_s({ONE: Service(4, 80), TWO: Service()}, 0.0)[TWO] == 20.0
