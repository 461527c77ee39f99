"""The product dies at any write of a rollout; whoever comes next ends it the same way."""

from functools import cache

import pytest

from autoscaler.simulation.apiserver.faults import Point
from tests.chaos.stage import (
    BlindMetrics,
    Stage,
    create_service,
    open_by_hand,
    refs_on,
    stage_of,
)
from tests.loops import auto_policy
from tests.worlds import HALVES, ONE, START_S

IN_TIME_S = START_S + 400.0
EVICTING = auto_policy(disruption={"eviction": {"enabled": True}})
# As many as a rollout takes to be over and told of.
WRITES = 26


def idle_roll():
    """Return a node of two idle GPUs, one of which is to be cut for waiting jobs.

    Its configuration is a mix, so it has to be written first.
    """
    stage = stage_of(HALVES, HALVES, jobs=0)
    create_service(stage.world, "job", 7, ONE)
    return stage


def roll_with_evictions():
    """Return a node just closed, whose pods the rollout may evict, and jobs that wait."""
    stage = stage_of(policy=EVICTING, jobs=0)
    create_service(stage.world)
    stage.run(30)
    open_by_hand(stage, evict=refs_on(stage.world))
    create_service(stage.world, "job", 7, ONE)
    return stage


ROLLS = {"idle": idle_roll, "evicting": roll_with_evictions}


def join(stage: Stage, name, identity):
    """Start a replica that has metrics, so that it may evict."""
    return stage.join(name, identity, metrics=BlindMetrics(stage.world))


@cache
def undisturbed(roll):
    """Return the end of a rollout in which nobody dies."""
    stage = ROLLS[roll]()
    replica = join(stage, "replica-1", "pod-a")
    stage.run(250)
    stage.rest()
    stage.audit.check_end()
    assert [r.result.value for r in replica.records] == ["done"]
    return stage.shape()


@pytest.mark.parametrize("roll", ROLLS)
def test_an_undisturbed_rollout_ends_as_planned(roll):
    """The jobs run, and the node is as open and as unmarked as before."""
    layout, offered, closed, marks = undisturbed(roll)["n1"]
    assert (offered[ONE], closed, marks) == (7, False, [])
    assert layout.startswith("as-") is (roll == "idle")
    assert undisturbed(roll)["pods"]["Running"] == 7


@pytest.mark.parametrize("identity", ["pod-a", "pod-b"])
@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("roll", ROLLS)
@pytest.mark.parametrize("number", range(0, WRITES, 2))
def test_a_death_at_a_write_changes_nothing_of_the_end(number, roll, point, identity):
    """Right before the write and right after it, with the same identity and another."""
    stage = ROLLS[roll]()
    # The four neighbors of a case take the odd numbers, so every write has its turn.
    number += (identity == "pod-a") is (point is Point.AFTER_APPLY)
    stage.kill_at(number, point)
    first = join(stage, "replica-1", "pod-a")
    while first.is_alive and stage.world.clock.now_s() < IN_TIME_S:
        stage.run(30)
    assert not first.is_alive
    join(stage, "replica-2", identity)
    stage.run(200)
    stage.rest()
    stage.audit.check_end()
    assert stage.shape() == undisturbed(roll)
