"""The loop keeps a GPU from a flood of whole-GPU pods before it is free.

Two nodes of one GPU are whole and in use; the past entitles whole GPUs to one of them. The
scheduler gives an instance that becomes free to the next pod that asks for it at once.
"""

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.apply import Apply
from autoscaler.control.outside import Outside
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import CONFIG_MAPS, PODS
from autoscaler.simulation.apiserver.faults import Point
from autoscaler.simulation.store import StoreClient
from tests.agent_worlds import Guard, agent_policy, agent_world
from tests.floods import FULL, POLICY, Steady, flood
from tests.loops import (
    NAMESPACE,
    STATUS,
    Replica,
    annotate,
    annotations,
    create_pod,
    is_closed,
    kill_at_write,
)
from tests.worlds import ONE, THREE, cordon, geometries, pods


def flooded(nodes=("n1", "n2"), gpus=(FULL,), run_s=1000.0):
    """Return a world in use, with a flood that waits and two small pods behind it."""
    world = agent_world(*gpus, nodes=nodes)
    flood(world, len(nodes) * len(gpus), run_s=run_s)
    return world


def replica(world, **changes):
    """Return a replica that knows the past."""
    return Replica(world, agent_policy(**{**POLICY, **changes}), history=Steady())


def running(world):
    """Return who runs on which node, those that were first left out."""
    found = pods(world).values()
    return {
        p["metadata"]["name"]: p["spec"]["nodeName"]
        for p in found
        if p["status"]["phase"] == "Running" and not p["metadata"]["name"].startswith("first")
    }


def withdraw_small(world):
    """Delete the small pods that wait."""
    for number in range(2):
        world.platform.client.delete(PODS, "jobs", f"small-{number}")


def closed(world):
    """Return the nodes that are cordoned."""
    return [name for name in world.fleet.names if is_closed(world, name)]


def results(own):
    """Return how rollouts ended."""
    return [record.result for record in own.records]


def served(world):
    """Say whether the home share has its pod, and the small ones the other node."""
    found = running(world)
    whole, other = found.get("flood-0"), found.get("small-0")
    return found == {"flood-0": whole, "small-0": other, "small-1": other} and whole != other


def test_without_waiting_the_flood_takes_what_becomes_free():
    """What the wait is good for."""
    world = flooded()
    replica(world, disruption={"draining": {"enabled": False}})
    world.run_for(1500)
    assert sorted(running(world)) == ["flood-0", "flood-1"]


def test_the_surplus_goes_to_those_who_wait():
    """The GPU of the home share stays open, and nobody is disturbed."""
    world = flooded()
    guard, own = Guard(world), replica(world)
    world.run_for(600)
    # Which of the two ends first nobody knows.
    assert closed(world) == ["n1", "n2"]
    assert own.states("n2") == ["draining"]
    change = next(c for o in own.outcomes if o.plan for c in o.plan.changes)
    assert change.evictions == ()
    assert [pod.name.startswith("first") for pod in change.awaits] == [True]
    world.run_for(900)
    assert served(world)
    assert sorted(geometries(world, "n1") + geometries(world, "n2")) == [
        "3g.20gb@0 3g.20gb@4",
        "7g.40gb@0",
    ]
    assert closed(world) == []
    assert sorted(results(own)) == [Result.DONE, Result.WAITED, Result.WAITED]
    assert sorted(annotations(world, "n2")) == ["mig-autoscaler.io/inventory"]
    assert guard.faults == []


def test_what_becomes_of_it_is_decided_when_it_is_free():
    """Much may come while the pod runs: here seven small pods instead of the two halves."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    withdraw_small(world)
    for number in range(7):
        create_pod(world, f"tiny-{number}", requests={ONE: 1})
    world.run_for(900)
    assert sorted(running(world)) == ["flood-0", *(f"tiny-{n}" for n in range(7))]
    assert results(own)[-2:] == [Result.WAITED, Result.DONE]


def test_a_wait_that_nobody_needs_any_more_ends_without_a_rest():
    """The node is open at once, and may be closed again when somebody comes."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    withdraw_small(world)
    world.run_for(90)
    assert (closed(world), results(own)) == ([], [Result.WAITED] * 2)
    create_pod(world, "half", requests={THREE: 1})
    world.run_for(90)
    assert closed(world) == ["n1", "n2"]


def test_at_the_deadline_the_node_is_open_again_and_rests():
    """A pod that outlasts the wait keeps its GPU, and it is no news until the rest is over."""
    world = flooded(run_s=90_000.0)
    draining = {"draining": {"minChance": 0.1}}
    rollout = {"warmUp": "1s", "surplusDeadline": "15m"}
    own = replica(world, rollout=rollout, disruption=draining)
    world.run_for(1200)
    assert (closed(world), results(own)) == ([], [Result.ABORTED] * 2)
    assert "DrainDeadline" in own.records[0].message
    assert sorted(annotations(world, "n2")) == ["mig-autoscaler.io/inventory"]


def test_a_hold_ends_the_wait():
    """People go first."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    annotate(world, "n2", hold="true")
    world.run_for(60)
    assert (closed(world), results(own)) == (["n1"], [Result.ABORTED])


def test_a_pause_opens_a_node_that_has_waited():
    """Nothing may start, so nobody would use it."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    paused = {"metadata": {"annotations": {"mig-autoscaler.io/pause": "by ops"}}}
    world.platform.client.patch(CONFIG_MAPS, NAMESPACE, STATUS, paused)
    world.run_for(900)
    assert (closed(world), results(own)) == ([], [Result.WAITED] * 2)


def test_a_node_of_several_gpus_is_not_closed_for_one_of_them():
    """What becomes free on its other GPUs would be lost."""
    world = flooded(nodes=("n1",), gpus=(FULL, FULL))
    replica(world)
    world.run_for(600)
    assert closed(world) == []


def test_a_node_that_waits_is_in_service_for_the_budget():
    """One node may be out of service, and it goes to one that changes now."""
    world = flooded(nodes=("n1", "n2", "n3"))
    own = replica(world, disruption={"budgets": {"nodes": 1, "perHour": 1}})
    world.run_for(600)
    assert closed(world) == ["n1", "n2", "n3"]
    assert all(j.is_waiting for j in own.outcomes[-1].journals.values())


@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("number", range(16))
def test_whoever_dies_the_end_is_the_same(number, point):
    """The next replica goes on from the journal, at each write of the first."""
    world = flooded()
    guard = Guard(world)
    replica(world)
    Replica(world, agent_policy(**POLICY), name="replica-2", history=Steady())
    kill_at_write(world, number, point)
    world.run_for(1800)
    assert served(world)
    assert closed(world) == []
    assert guard.faults == []


def test_who_opens_the_node_again_has_it():
    """A person's word ends the wait, and the node is left alone for a while."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    cordon(world, "n1", closed=False)
    world.run_for(300)
    assert closed(world) == ["n2"]
    assert results(own) == [Result.ABORTED]
    assert "Uncordoned" in own.records[0].message


def test_a_node_that_was_closed_by_people_is_not_waited_for():
    """It would stay closed whatever is made of it."""
    world = flooded()
    cordon(world, "n1")
    own = replica(world)
    world.run_for(600)
    assert [name for o in own.outcomes for name in o.journals if name == "n1"] == []


def test_a_journal_that_is_taken_away_leaves_the_node_to_who_did_it():
    """Nothing is opened that a person may have closed."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    annotate(world, "n1", rollout=None)
    world.run_for(1500)
    assert is_closed(world, "n1")
    assert results(own)[0] == Result.GONE


@pytest.mark.parametrize("mode", [Mode.RECOMMEND, Mode.OFF])
def test_a_mode_that_looks_neither_opens_nor_cuts(mode):
    """As with any open rollout; back in mode auto the wait goes on from its journal."""
    world = flooded()
    own = replica(world)
    world.run_for(600)
    own.policy = agent_policy(mode=mode, **POLICY)
    world.run_for(600)
    assert closed(world) == ["n1", "n2"]
    own.policy = agent_policy(**POLICY)
    world.run_for(600)
    assert closed(world) == []
    assert served(world)


def test_a_replica_that_leads_anew_goes_on_with_the_wait():
    """It knows nothing but the journals."""
    world = flooded()
    first = replica(world)
    world.run_for(600)
    first.is_alive = False
    Replica(world, agent_policy(**POLICY), name="replica-2", history=Steady())
    world.run_for(900)
    assert served(world)


def test_a_person_who_applies_a_plan_gets_what_it_says():
    """No plan follows there, so the change is made when the pod has ended."""
    world = flooded()
    looks = Replica(world, agent_policy(mode=Mode.DRY_RUN, **POLICY), history=Steady())
    world.run_for(120)
    looks.is_alive = False
    plan = looks.outcomes[-1].plan
    (change,) = plan.changes
    assert len(change.awaits) == 1
    cluster = KubernetesCluster(StoreClient(world.store, "person"), world.clock)
    outside = Outside(cluster, world.clock, identity="person")
    acts = leadership_for(outside, agent_policy(**POLICY))
    applied = Apply(Setting(outside, looks.policy, acts), plan).run()
    assert [record.result for record in applied.records] == [Result.DONE]
    assert geometries(world, change.node) == ["3g.20gb@0 3g.20gb@4"]
    assert closed(world) == []
