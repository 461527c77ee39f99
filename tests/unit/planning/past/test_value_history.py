"""What the past of a pool says: service times, home share, reach."""

from dataclasses import replace

import pytest

from autoscaler.domain.policy.policy import PlanningRules
from autoscaler.planning.past.demand_history import Grid, Service, history_of_jobs
from autoscaler.planning.past.home_share import PoolGpus, gpus_of, home_share
from autoscaler.planning.past.queue_model import Job
from autoscaler.planning.past.value_history import (
    CHANCE_STEP,
    PoolPast,
    coarse,
    pool_past,
    values_of,
)
from tests.builders import fleet_node, model, snapshot
from tests.fleets import pool
from tests.pasts import (
    DAY_S,
    HOUR_S,
    MONDAY_S,
    ONE,
    POOL,
    THREE,
    WHOLE,
    daily,
    history,
)

RULES = PlanningRules()
MADE_S = MONDAY_S + 7 * DAY_S


def gpus(number=1, key="a100-40gb"):
    """Return so many GPUs of a model."""
    return PoolGpus(((model(key), number),))


def steady(resource, at_once, days=7):
    """Return jobs that hold so many instances for hours on end, one after another."""
    return {
        (POOL, resource): [
            Job(MONDAY_S + hour * HOUR_S, HOUR_S)
            for hour in range(days * 24)
            for _ in range(at_once)
        ]
    }


def past_of(jobs, number=1, **changes):
    """Return what a log of these jobs says of a pool of so many GPUs."""
    own = history_of_jobs(jobs, Grid(MONDAY_S, HOUR_S, 7 * 24))
    return pool_past(own, pool(**changes), gpus(number), RULES, MADE_S)


def test_the_home_share_is_what_the_past_needed_at_once():
    """Seven small ones on one GPU, two halves on the other; no whole GPU."""
    past = past_of(steady(ONE, 7) | steady(THREE, 2), number=2)
    assert past.home == {ONE: 7, THREE: 2, WHOLE: 0}
    assert (past.reason, past.gpus, past.sources) == ("", "2 x a100-40gb", ("job-log",))
    assert past.known_s == 7 * DAY_S


def test_room_that_nobody_ever_wanted_entitles_nobody():
    """Ten GPUs for one small job at a time."""
    assert past_of(steady(ONE, 1), number=10).home == {ONE: 1, WHOLE: 0}


def test_numbers_say_as_much_as_single_requests():
    """Read out of samples, the same past has the same home share."""
    jobs = steady(ONE, 7) | steady(THREE, 2)
    own = history_of_jobs(jobs, Grid(MONDAY_S, HOUR_S, 7 * 24))
    read = pool_past(replace(own, jobs={}), pool(), gpus(2), RULES, MADE_S)
    assert read.home == past_of(jobs, number=2).home
    assert read.reach == past_of(jobs, number=2).reach


def test_too_short_a_past_does_not_count():
    """Two days of the three that are needed."""
    past = pool_past(history({ONE: daily([3.0] * 24, 2)}), pool(), gpus(), RULES, MADE_S)
    assert past.reason == "only 2d of the past are known, 3d are needed"
    assert (past.home, past.reach) == ({}, {})
    assert values_of([past], RULES) == values_of([], RULES)


def test_profiles_that_the_pool_may_not_have_are_left_out_and_said():
    """Requests for them are served elsewhere, or never."""
    past = past_of(steady(ONE, 7) | steady(THREE, 2), profiles=("1g.5gb",))
    assert past.home == {ONE: 7, WHOLE: 0}
    assert f"{THREE} is left out of the home mix: not offered here" in past.notices


def test_a_ceiling_limits_the_home_share():
    """What may not be had is no entitlement."""
    assert past_of(steady(ONE, 7), ceilings={"1g.5gb": 3}).home[ONE] == 3


def test_without_gpus_there_is_no_home_share_but_service_times_count():
    """All of the pool is reserved, say."""
    own = history_of_jobs(steady(ONE, 2), Grid(MONDAY_S, HOUR_S, 7 * 24))
    past = pool_past(own, pool(), PoolGpus(), RULES, MADE_S)
    assert past.home == {}
    assert values_of([past], RULES).service_s == {ONE: HOUR_S}


def test_of_two_models_each_gets_its_share_of_requests_that_both_can_serve():
    """In proportion to their GPUs: of 1g.10gb an H100 has seven, an A100-80GB too."""
    both = PoolGpus(((model("a100-80gb"), 1), (model("h100-80gb"), 2)))
    name = "nvidia.com/mig-1g.10gb"
    jobs = steady(name, 21, days=3)[POOL, name]
    home, notices = home_share({name: jobs}, pool(), both, MADE_S)
    assert (home[name], notices) == (21, [])


def test_very_large_pasts_are_looked_at_in_proportion():
    """Half of the requests on half of the GPUs; the limit is set low for the test."""
    jobs = steady(ONE, 14)[POOL, ONE]
    home, notices = home_share({ONE: jobs}, pool(), gpus(2), MADE_S, most_work=15_000)
    assert home[ONE] == 14
    assert notices[0].startswith("the home mix of 2 x a100-40gb was found for one in 2 of")


def test_chances_are_taken_in_steps():
    """Of two hundredths; what is less than half a step has no chance."""
    assert coarse((0.999, 0.5, 0.031, 0.012, 0.009)) == (1.0, 0.5, 0.04, 0.02)
    assert all(
        round(c / CHANCE_STEP) * CHANCE_STEP == pytest.approx(c) for c in coarse((0.33,))
    )


def test_reach_is_the_share_of_time_as_if_nothing_had_waited():
    """Half of the time two, else none."""
    halves = [2.0 if hour % 2 else 0.0 for hour in range(7 * 24)]
    past = pool_past(history({ONE: halves}), pool(), gpus(), RULES, MADE_S)
    assert past.reach == {ONE: (0.5, 0.5)}


def test_pools_add_up_their_service_times_and_keep_the_rest_apart():
    """Resources are the same everywhere, home shares are not."""
    pasts = [
        PoolPast("a", MADE_S, services={ONE: Service(10, 100)}, home={ONE: 2}),
        PoolPast("b", MADE_S, services={ONE: Service(10, 300)}, home={ONE: 5}),
        PoolPast("c", MADE_S, services={ONE: Service(99, 1)}, reason="too short"),
    ]
    values = values_of(pasts, RULES)
    assert values.service_s == {ONE: 20.0}
    assert values.home == {("a", ONE): 2, ("b", ONE): 5}


def test_a_forecast_stands_in_place_of_the_share_of_time():
    """For its own pool; the others keep theirs."""
    pasts = [
        PoolPast("a", MADE_S, reach={ONE: (0.5,), THREE: (0.3,)}),
        PoolPast("b", MADE_S, reach={ONE: (0.2,)}),
    ]
    values = values_of(pasts, RULES, {"a": {ONE: (1.0, 0.9), THREE: ()}})
    assert values.reach == {("a", ONE): (1.0, 0.9), ("a", THREE): (), ("b", ONE): (0.2,)}


def test_gpus_that_may_be_cut_are_counted():
    """MIG on, not reserved, of this pool, also while they cannot be told apart."""
    blind = fleet_node("d", [{"1g.5gb": 7}] * 4, gpus=())
    fleet = snapshot(
        fleet_node("a", [{"1g.5gb": 7}, None]),
        fleet_node("b", [{"1g.5gb": 7}] * 2, pool="other"),
        fleet_node("c", [{"7g.40gb": 1}] * 8, reserved=True),
        blind,
    )
    assert gpus_of("pool", fleet).text() == "5 x a100-40gb"
    assert gpus_of("none", fleet).total == 0
