"""The hedged policy in its plainest form."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.planning.past.queue_model import Job
from autoscaler.simulation.study.hedged import (
    Constants,
    Hedged,
    HedgedPast,
    hedged_past,
    reach_of,
)
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.replanning import HedgedPlanner, Replanner
from tests.studies import MODEL, ONE, THREE, WHOLE, fleet, jobs, layouts, work

EMPTY = Geometry()
WHOLE_GPU = layouts({WHOLE: 1})[0]


def hedged(home=None, service_s=None, reach=None, **constants):
    past = HedgedPast(Counts(home or {}), service_s or {}, reach or {})
    return Hedged(MODEL, past, 2, Constants(**constants))


def test_the_reach_is_the_share_of_the_time():
    """One job for 60 of 100 s, a second one for 20 of them."""
    jobs_of_past = [Job(0, 60), Job(10, 20)]
    assert reach_of(jobs_of_past, 100) == pytest.approx((0.6, 0.2))


def test_values_fall_from_home_share_to_hedge():
    """1.1 for the home share that is wanted, 1 for wants, then the chance."""
    policy = hedged({ONE: 1}, {ONE: 3000.0}, {ONE: (1.0, 0.9, 0.5)})
    assert policy.steps(ONE, 2, 4) == [(1.1, 1), (1.0, 1), (pytest.approx(0.1), 1)]


def test_long_jobs_weigh_less_for_their_size():
    """Four times the run time halves the worth."""
    policy = hedged(service_s={THREE: 12_000.0})
    assert policy.weight(THREE) == 1.5
    assert policy.weight(WHOLE) == 7.0


def test_an_idle_gpu_is_cut_for_those_who_wait():
    """Two 3g wait and nobody wants the whole GPU."""
    chosen = hedged().choose({(EMPTY, WHOLE_GPU): 1}, Counts({THREE: 2}))
    assert [(target.counts, number) for _, target, number in chosen] == [
        (Counts({THREE: 2}), 1)
    ]


def test_whole_gpus_are_capped():
    """Without home mix one of two GPUs may be made whole, however many wait."""
    halves = layouts({THREE: 2})[0]
    states = {(EMPTY, halves): 2}
    [(_, target, number)] = hedged().choose(states, Counts({WHOLE: 5}))
    assert (target.counts, number) == (Counts({WHOLE: 1}), 1)
    free = hedged(cap_share=float("inf"))
    assert [n for _, _, n in free.choose(states, Counts({WHOLE: 5}))] == [2]


def test_few_jobs_are_drawn_towards_the_mean():
    """One 3g of 600 s among nine 1g of 100 s: (600 + 5 x 150) / 6."""
    past = hedged_past(work(*[(0, 100, ONE)] * 9, (0, 600, THREE)), Counts())
    assert past.service_s[THREE] == pytest.approx(225)
    assert past.service_s[ONE] == pytest.approx((900 + 750) / 14)


@pytest.mark.parametrize(("interval_s", "start_s"), [(0.0, 70.0), (30.0, 90.0)])
def test_plans_are_made_at_events_or_at_the_pace_of_the_loop(interval_s, start_s):
    """A 3g arrives at 10; the cut takes 60 s from the plan, at once or at 30."""
    player = Replanner(HedgedPlanner(hedged()), interval_s=interval_s)
    outcome = play("hedged", fleet({WHOLE: 1}), jobs((10, 5, THREE)), player)
    assert outcome.jobs[0].start_s == start_s
