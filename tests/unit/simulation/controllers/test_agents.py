"""Simulated agents: who has one, what their acts take, and what keeps them away."""

import json

import pytest

from autoscaler.domain.cluster.board import BoardInstance
from autoscaler.domain.errors import ConfigError, NotFound
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.nvml import SimulatedNvml
from autoscaler.simulation.timing import Span, Timing
from autoscaler.simulation.world import NODE_AGENT
from tests.agent_worlds import agent_world
from tests.loops import annotations
from tests.worlds import (
    CONFIG,
    HALVES,
    ONE,
    SEVENS,
    START_S,
    label,
    make_world,
    operands,
    task,
)

PLACE = GpuInstance(0, 1, "1g.5gb")


def holders(world, name="n1"):
    """Return the pods that the inventory of a node shows."""
    shown = json.loads(annotations(world, name)["mig-autoscaler.io/inventory"])
    rows = (row for gpu in shown["gpus"] for row in gpu["instances"])
    return sorted(row["pod"] for row in rows if "pod" in row)


def test_nodes_of_the_agent_show_inventories_and_have_no_manager():
    """Nor a label that would ask one for anything."""
    world = agent_world(HALVES, None)
    shown = json.loads(annotations(world)["mig-autoscaler.io/inventory"])
    assert [gpu["migEnabled"] for gpu in shown["gpus"]] == [True, False]
    assert shown["gpus"][0]["model"] == "NVIDIA-A100-SXM4-40GB"
    assert (operands(world, "nvidia-mig-manager"), label(world, CONFIG)) == ([], None)


def test_nodes_of_mig_manager_have_no_agent():
    """Their inventory is nobody's business."""
    world = make_world(HALVES)
    assert annotations(world) == {}
    assert len(operands(world, "nvidia-mig-manager")) == 1
    assert world.store.requests.num_mutating(NODE_AGENT) == 0


def test_a_fleet_with_agents_needs_one_that_is_handed_in():
    """The simulation has none of its own."""
    with pytest.raises(ConfigError, match="node n1 is cut by an agent, and none is given"):
        make_world(HALVES, driver=Driver.AGENT)


def test_inventories_follow_the_pods():
    """Some seconds after they have come, and after they have gone."""
    world = agent_world(SEVENS)
    world.submit([task("a", {ONE: 1}, run_s=60.0), task("b", {ONE: 2}, run_s=500.0)])
    world.run_for(30)
    assert holders(world) == ["jobs/a", "jobs/b", "jobs/b"]
    world.run_for(60)
    assert holders(world) == ["jobs/b", "jobs/b"]


def test_an_idle_agent_writes_nothing():
    """The inventory stays as it is, and so does the node."""
    world = agent_world(SEVENS)
    before = world.store.requests.num_mutating(NODE_AGENT)
    world.run_for(3600)
    assert world.store.requests.num_mutating(NODE_AGENT) == before == 1


def test_an_agent_that_does_not_run_sees_nothing():
    """Until it runs again."""
    world = agent_world(SEVENS)
    world.faults.silent_agents.add("n1")
    world.submit([task("a", {ONE: 1}, arrival_s=START_S + 5)])
    world.run_for(60)
    assert holders(world) == []
    world.faults.silent_agents.clear()
    world.run_for(30)
    assert holders(world) == ["jobs/a"]


def test_acts_take_their_time_and_questions_none():
    """Whoever runs the agent lets it pass."""
    timing = Timing(destroy=Span(1, 1), create=Span(2, 2), device_nodes=Span(4, 4))
    gpus = agent_world(SEVENS).hardware.gpus("n1")
    driver = SimulatedNvml(gpus, timing)
    (board,) = driver.read()
    assert driver.spent_s == 0.0
    driver.destroy(board.uuid, board.instances[0])
    driver.create(board.uuid, PLACE)
    driver.refresh()
    assert driver.spent_s == 7.0
    driver.create(board.uuid, PLACE)
    with pytest.raises(NotFound):
        driver.destroy(board.uuid, BoardInstance(99, PLACE))
    assert driver.spent_s == 7.0
