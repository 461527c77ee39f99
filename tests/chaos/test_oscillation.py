"""Demand that swings to and fro does not make nodes roll to and fro."""

from collections import Counter

import pytest

from tests.chaos.stage import stage_of
from tests.loops import auto_policy
from tests.worlds import HALVES, ONE, START_S, THREE, task

HOUR_S = 3600.0
# A day has half the hours here, and the nodes rest for half the time of a usual one.
DAY_S = 12 * HOUR_S
COOLDOWN = "2h"
POLICY = auto_policy(disruption={"cooldown": COOLDOWN, "budgets": {"nodes": 2, "perHour": 20}})


def swings(period_s, run_s):
    """Return jobs that ask for small and for large instances in turn, for a day."""
    jobs = []
    for turn in range(int(DAY_S / period_s)):
        profile, number = (ONE, 14) if turn % 2 == 0 else (THREE, 4)
        arrival_s = START_S + 60.0 + turn * period_s
        jobs += [
            task(f"t{turn}-{i}", {profile: 1}, arrival_s=arrival_s, run_s=run_s)
            for i in range(number)
        ]
    return jobs


def rolls_a_day(stage):
    """Return how often each node was rolled on each day."""
    found = Counter()
    for name, at_s in stage.audit.starts.values():
        found[name, int((at_s - START_S) // DAY_S)] += 1
    return found


@pytest.mark.parametrize("period_s", [1800.0, HOUR_S])
def test_swinging_demand_rolls_a_node_no_more_often_than_its_cooldown(period_s):
    """Six times a day at most, however fast the demand swings."""
    stage = stage_of(HALVES, nodes=("n1", "n2"), policy=POLICY, jobs=0, budget=2)
    stage.world.submit(swings(period_s, run_s=600.0))
    stage.join().interval_s = 240.0
    stage.run(DAY_S)
    stage.rest()
    rolls = rolls_a_day(stage)
    assert rolls
    assert max(rolls.values()) <= 6
    stage.audit.check_end()


def test_steady_demand_rolls_each_node_once_at_most_and_then_never_again():
    """Jobs of the same kind keep coming and going."""
    stage = stage_of(HALVES, nodes=("n1", "n2"), policy=POLICY, jobs=0, budget=2)
    jobs = [
        task(f"t{turn}-{i}", {ONE: 1}, arrival_s=START_S + 60.0 + turn * 900.0, run_s=890.0)
        for turn in range(int(DAY_S / 900.0))
        for i in range(7)
    ]
    stage.world.submit(jobs)
    stage.join().interval_s = 120.0
    stage.run(DAY_S)
    stage.rest()
    rolls = rolls_a_day(stage)
    assert 1 <= len(rolls) <= 2
    assert set(rolls.values()) == {1}
    assert max(at_s for _, at_s in stage.audit.starts.values()) < START_S + HOUR_S
    stage.audit.check_end()


def test_demand_that_is_met_rolls_nothing():
    """What is asked for is there already."""
    stage = stage_of(HALVES, nodes=("n1", "n2"), policy=POLICY, jobs=0, budget=2)
    jobs = [
        task(f"t{turn}-{i}", {THREE: 1}, arrival_s=START_S + 60.0 + turn * 1800.0, run_s=1200.0)
        for turn in range(int(DAY_S / 1800.0))
        for i in range(3)
    ]
    stage.world.submit(jobs)
    stage.join().interval_s = 240.0
    stage.run(DAY_S)
    assert stage.audit.starts == {}
    stage.audit.check_end()
