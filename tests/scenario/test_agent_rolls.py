"""The loop and the node agent on an embedded cluster: pods run on, whatever goes wrong."""

from functools import cache

import pytest

from autoscaler.control.outcome import Decision
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Mode
from autoscaler.domain.reasons import Reason
from autoscaler.simulation.apiserver.faults import Point
from autoscaler.simulation.world import NODE_AGENT
from tests.agent_worlds import Guard, agent_policy, agent_world, agent_writes
from tests.loops import (
    Replica,
    annotate,
    annotations,
    create_pod,
    is_closed,
    kill_at_write,
    mutations,
)
from tests.worlds import (
    CONFIG,
    ONE,
    SEVENS,
    START_S,
    THREE,
    TWO,
    cordon,
    devices,
    geometries,
    label,
    operands,
    pods,
    set_labels,
    task,
)

MANAGER_SWITCH = "nvidia.com/gpu.deploy.mig-manager"
CUT = {"1g.5gb": 3, "3g.20gb": 1}
BEFORE, AFTER = "3g.20gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6", "3g.20gb@0 2g.10gb@4 1g.5gb@6"


def waiting_world(nodes=("n1",), gpus=(CUT,)):
    """Return nodes in use whose free part could serve a pod that comes after a minute.

    On the first GPU a 3g and the last 1g are held for long.
    """
    world = agent_world(*gpus, nodes=nodes)
    world.submit(
        [task("small", {ONE: 1}, run_s=90_000.0), task("big", {THREE: 1}, run_s=90_000.0)]
    )
    world.submit([task("middle", {TWO: 1}, run_s=90_000.0, arrival_s=START_S + 60)])
    return world


def phases(world):
    """Return the phase of each task."""
    return {name: p["status"]["phase"] for name, p in sorted(pods(world).items())}


def results(*replicas):
    """Return how rollouts ended."""
    return [record.result for replica in replicas for record in replica.records]


def end_of(world, name="n1"):
    """Return what must be the same, however often someone died on the way."""
    return (
        geometries(world, name),
        {key: n for key, n in devices(world, name).items() if n},
        is_closed(world, name),
        sorted(annotations(world, name)),
        phases(world),
    )


RUNNING = {"big": "Running", "middle": "Running", "small": "Running"}
END = ([AFTER], {ONE: 1, TWO: 1, THREE: 1}, False, ["mig-autoscaler.io/inventory"], RUNNING)


def test_the_free_part_of_a_gpu_in_use_is_recut():
    """The pods on it run on, and the node is closed for less than two minutes."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(400)
    assert end_of(world) == END
    assert guard.faults == []
    assert results(replica) == [Result.DONE]
    assert 40.0 < guard.closed_s <= 120.0
    assert replica.outcomes[-1].decision is Decision.UNCHANGED


def test_no_label_and_no_configuration_is_written():
    """The loop writes journals and cordons, the agent its two annotations."""
    world = waiting_world()
    Replica(world, agent_policy())
    world.run_for(400)
    assert label(world, CONFIG) is None
    touched = {(r.resource, r.name) for r in mutations(world) if r.resource != "events"}
    assert ("configmaps", "mig-autoscaler-config") not in touched
    assert {(r.verb, r.resource) for r in agent_writes(world)} == {
        ("patch", "nodes"),
        ("create", "pods"),
    }


def test_a_dry_run_shows_the_places_and_writes_nothing():
    """What stays where it is, and what comes."""
    world = waiting_world()
    replica = Replica(world, agent_policy(mode=Mode.DRY_RUN))
    world.run_for(200)
    (change,) = replica.outcomes[-1].plan.changes
    (gpu,) = change.gpus
    assert (str(gpu.placements_before), str(gpu.placements_after)) == (BEFORE, AFTER)
    assert change.evictions == ()
    assert mutations(world) == []


@cache
def undisturbed():
    """Return the number of writes of the loop and of the agent in a run without a death."""
    world = waiting_world()
    Replica(world, agent_policy())
    world.run_for(400)
    assert end_of(world) == END
    mine = [r for r in agent_writes(world) if r.at_s >= START_S]
    return len(mutations(world)), len(mine)


@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("number", range(24))
def test_a_death_of_the_loop_at_any_write_leads_to_the_same_end(number, point):
    """Another replica goes on from what is on the node."""
    world = waiting_world()
    kill_at_write(world, number, point)
    guard, first = Guard(world), Replica(world, agent_policy())
    world.run_for(120)
    Replica(world, agent_policy(), name="replica-2")
    world.run_for(700)
    assert first.is_alive is (number >= undisturbed()[0])
    assert end_of(world) == END
    assert guard.faults == []


@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("number", range(12))
def test_a_death_of_the_agent_at_any_write_leads_to_the_same_end(number, point):
    """It starts anew some seconds later and goes on from what it sees."""
    world = waiting_world()
    rule = kill_at_write(world, number, point, NODE_AGENT)
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(600)
    assert bool(rule.struck) is (number < undisturbed()[1])
    assert end_of(world) == END
    assert (guard.faults, results(replica)) == ([], [Result.DONE])


def test_a_budget_of_one_closes_one_node_after_the_other():
    """And on each only what is free is cut."""
    world = waiting_world(nodes=("n1", "n2"))
    world.submit(
        [task(f"more-{i}", {TWO: 1}, run_s=90_000.0, arrival_s=START_S + 60) for i in range(2)]
    )
    guard, replica = Guard(world), Replica(world, agent_policy())
    most = 0
    for _ in range(30):
        world.run_for(30)
        most = max(most, is_closed(world, "n1") + is_closed(world, "n2"))
    assert most == 1
    assert results(replica) == [Result.DONE, Result.DONE]
    assert set(phases(world).values()) == {"Running"}
    assert guard.faults == []


# What goes wrong.


def test_without_an_agent_the_node_is_opened_again():
    """Nothing was changed; it is tried again after a while, and then it works."""
    world = waiting_world()
    world.run_for(40)
    world.faults.silent_agents.add("n1")
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(600)
    assert results(replica) == [Result.NO_RESPONSE]
    assert (geometries(world), is_closed(world)) == ([BEFORE], False)
    world.faults.silent_agents.clear()
    world.run_for(3600)
    assert results(replica)[-1] is Result.DONE
    assert end_of(world)[:3] == END[:3]
    assert guard.faults == []


def test_a_client_that_no_pod_is_blocks_the_change_and_it_is_undone():
    """Nothing is forced, and the pods run on."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(60)
    (gpu,) = world.hardware.gpus("n1")
    free = [i for i in gpu.instances if not gpu.is_in_use(i.uuid)]
    gpu.open_process(free[0].uuid, "monitor")
    world.run_for(900)
    assert results(replica) == [Result.ROLLED_BACK]
    assert "IN_USE" in replica.records[0].message
    assert (geometries(world), is_closed(world)) == ([BEFORE], False)
    assert phases(world)["middle"] == "Pending"
    assert guard.faults == []


def test_e06_a_creation_that_fails_brings_back_what_was_there():
    """Also the instances that were destroyed for it, at their places."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(60)
    (gpu,) = world.hardware.gpus("n1")
    gpu.refuses_creation = True
    while '"failed"' not in annotations(world).get("mig-autoscaler.io/agent", ""):
        world.run_for(1)
    held = gpu.devices
    gpu.refuses_creation = False
    world.run_for(300)
    assert results(replica) == [Result.ROLLED_BACK]
    assert "INSUFFICIENT_RESOURCES" in replica.records[0].message
    assert (geometries(world), is_closed(world)) == ([BEFORE], False)
    assert held < gpu.devices
    assert devices(world)[ONE] == 3
    assert guard.faults == []


def test_e06_a_node_that_cannot_be_brought_back_is_left_alone():
    """With what it has left; nobody is taken off it."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(60)
    (gpu,) = world.hardware.gpus("n1")
    gpu.refuses_creation = True
    world.run_for(900)
    assert results(replica) == [Result.QUARANTINED]
    assert "mig-autoscaler.io/quarantine" in annotations(world)
    assert phases(world) == RUNNING | {"middle": "Pending"}
    assert guard.faults == []


def test_a_plugin_that_does_not_come_back_leads_to_quarantine():
    """Behind a node that offers nothing the door stays shut."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(60)
    world.faults.no_plugin.add("n1")
    world.run_for(2400)
    assert results(replica) == [Result.QUARANTINED]
    assert is_closed(world)
    assert guard.faults == []
    world.faults.no_plugin.clear()
    world.run_for(300)
    assert not is_closed(world)
    assert phases(world)["big"] == "Running"


def test_a_plugin_that_needs_some_time_is_waited_for():
    """It tries again every half minute."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    world.run_for(60)
    world.faults.no_plugin.add("n1")
    world.run_for(240)
    world.faults.no_plugin.clear()
    world.run_for(200)
    assert results(replica) == [Result.DONE]
    assert end_of(world) == END
    assert guard.faults == []


def test_a_pod_bound_at_the_last_moment_keeps_its_instance():
    """It was under way when the node was closed; nothing is cut under it."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    while not is_closed(world):
        world.run_for(1)
    create_pod(world, "late", node="n1", requests={ONE: 2})
    world.run_for(200)
    assert guard.faults == []
    assert results(replica) == [Result.ABORTED]
    assert "GpusBusy" in replica.records[0].message
    assert (geometries(world), is_closed(world)) == ([BEFORE], False)
    assert phases(world)["late"] == "Running"


def test_a_node_that_someone_opens_in_the_middle_is_closed_again():
    """Once; what is bound there meanwhile is left alone."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy())
    while not (replica.outcomes and "applying" in replica.states()):
        world.run_for(5)
    cordon(world, closed=False)
    guard.faults.clear()
    world.run_for(60)
    assert is_closed(world) or results(replica) == [Result.DONE]
    world.run_for(200)
    assert end_of(world)[:4] == END[:4]


def test_an_abort_in_the_middle_leads_back():
    """To the very places, with the pods where they are."""
    world = waiting_world()
    guard, replica = Guard(world), Replica(world, agent_policy(), interval_s=5.0)
    while "applying" not in replica.states():
        world.run_for(5)
    annotate(world, "n1", abort="true")
    world.run_for(200)
    assert results(replica) == [Result.ROLLED_BACK]
    assert (geometries(world), is_closed(world)) == ([BEFORE], False)
    assert guard.faults == []


# Who else is there.


def test_a_manager_beside_the_agent_is_a_second_owner():
    """It would apply its label again; nothing is changed until it is gone."""
    world = waiting_world()
    set_labels(world, {MANAGER_SWITCH: "true"})
    replica = Replica(world, agent_policy())
    world.run_for(300)
    assert operands(world, "nvidia-mig-manager") != []
    (node,) = replica.outcomes[-1].view.snapshot.nodes
    assert {hold.reason for hold in node.holds} == {Reason.TWO_OWNERS}
    assert geometries(world) == [BEFORE]
    set_labels(world, {MANAGER_SWITCH: "false"})
    world.run_for(400)
    assert end_of(world)[:3] == END[:3]


def test_a_node_without_an_inventory_is_held():
    """Its agent has never looked."""
    world = agent_world(SEVENS, bring_up_s=0.0)
    world.faults.silent_agents.add("n1")
    replica = Replica(world, agent_policy())
    world.run_for(120)
    (node,) = replica.outcomes[-1].view.snapshot.nodes
    assert Reason.NO_AGENT in {hold.reason for hold in node.holds}
    world.faults.silent_agents.clear()
    world.run_for(120)
    (node,) = replica.outcomes[-1].view.snapshot.nodes
    assert Reason.NO_AGENT not in {hold.reason for hold in node.holds}
