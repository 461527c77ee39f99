"""Several replicas at once: one acts, and a leader that was away does no harm."""

import pytest

from autoscaler.control.outcome import Decision
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import LEASES
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from tests.chaos.stage import stage_of
from tests.loops import NAMESPACE, auto_policy
from tests.worlds import HALVES, ONE, START_S

AWAY_S = 300.0


def freeze_at(stage, number, name="replica-1"):
    """Have a replica stand still for five minutes after its n-th request of any kind."""

    def freeze(_):
        stage.world.clock.sleep(AWAY_S)

    def is_own(request):
        return request.user_agent == name

    rule = Rule(Point.AFTER_APPLY, Fault(call=freeze), is_own, skip=number)
    return stage.world.store.faults.add(rule)


def lease_of(stage):
    """Return the Lease as the API has it."""
    return stage.world.platform.client.get(LEASES, NAMESPACE, "mig-autoscaler")["spec"]


def served(stage):
    """Say whether the jobs run and the node is open and clean."""
    layout, offered, closed, marks = stage.shape()["n1"]
    return (offered.get(ONE), closed, marks) == (7, False, []) and layout.startswith("as-")


@pytest.mark.parametrize("number", range(0, 120, 5))
def test_a_leader_that_freezes_is_succeeded_and_harms_nobody(number):
    """Wherever it stood still, and though it goes on where it was when it wakes up."""
    stage = stage_of(HALVES, HALVES)
    rule = freeze_at(stage, number)
    stage.join()
    stage.run(10)
    stage.join("replica-2")
    stage.run(700)
    stage.rest()
    stage.audit.check_end()
    assert rule.struck == 1
    assert served(stage)


@pytest.mark.parametrize("at_s", [20, 50, 160, 200])
def test_a_leader_whose_requests_fail_is_succeeded(at_s):
    """It stops by itself before the other one may begin."""
    stage = stage_of(HALVES, HALVES)
    first, second = stage.join(), stage.join("replica-2")
    stage.run(at_s)

    def is_from_first(request):
        return request.user_agent == "replica-1"

    rule = Rule(Point.BEFORE_APPLY, Fault(code=503), is_from_first, times=None)
    stage.world.store.faults.add(rule)
    stage.run(600)
    assert second.outcomes[-1].standing.is_leader
    assert first.outcomes[-1].decision is Decision.NOT_LEADER
    stage.world.store.faults.clear()
    stage.run(60)
    assert lease_of(stage)["holderIdentity"] == "replica-2"
    stage.audit.check_end()
    assert served(stage)


@pytest.mark.parametrize("cycle", range(1, 10))
def test_a_leader_that_is_told_to_stop_gives_the_lease_up(cycle):
    """And the next one goes on at once, evictions included."""
    stage = stage_of(HALVES, HALVES)
    first = stage.join()
    stage.run(30 * cycle - 15)
    first.is_alive = False
    first.loop.close()
    assert lease_of(stage)["holderIdentity"] == ""
    second = stage.join("replica-2")
    stage.run(1)
    assert second.outcomes[0].standing.is_leader
    stage.run(300)
    stage.rest()
    stage.audit.check_end()
    assert served(stage)


def test_a_slower_pace_makes_the_lease_last_longer():
    """Else the others would take it between two cycles of the leader."""
    stage = stage_of(HALVES, HALVES, jobs=0)
    first, second = stage.join(), stage.join("replica-2")
    stage.run(100)
    stage.edit(auto_policy(loop={"interval": "4m"}))
    first.interval_s = second.interval_s = 240.0
    stage.run(4000)
    leaders = [o.standing.is_leader for o in first.outcomes[6:]]
    assert set(leaders) == {True}
    assert not any(o.standing.is_leader for o in second.outcomes)


def test_what_a_former_leader_remembers_does_not_count_any_more():
    """A proposal must persist anew: while others led nobody looked at it."""
    stage = stage_of(HALVES, HALVES, policy=auto_policy(planning={"persistence": "100s"}))
    first = stage.join()
    stage.run(40)
    first.is_alive = False
    second = stage.join("replica-2")
    stage.run(100)
    second.is_alive = False
    second.loop.close()
    first.is_alive = True
    stage.run(31)
    assert first.outcomes[-1].standing.is_leader
    sightings = first.outcomes[-1].memory.proposals.values()
    assert min(own.since_s for own in sightings) == START_S + 140
    assert not first.outcomes[-1].journals


def test_recommend_and_auto_do_not_contend():
    """Each has a Lease of its own."""
    stage = stage_of(HALVES, HALVES)
    watcher = stage.join("watcher")
    watcher.policy = auto_policy(Mode.RECOMMEND)
    actor = stage.join()
    stage.run(300)
    stage.rest()
    assert all(o.standing.is_leader for o in (*watcher.outcomes, *actor.outcomes))
    stage.audit.check_end()
    assert served(stage)
