"""Nodes in kinds, zones and hosts."""

from dataclasses import replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.resource import resource_name
from autoscaler.planning.program.fleet import free_of, potential_of, with_hosts, zones_of
from autoscaler.planning.program.mix import GpuKind, NodeKind, Option
from autoscaler.planning.program.problem import state_problem
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, snapshot, waiting
from tests.fleets import policy

WHOLE = {"7g.40gb": 1}


def problem_of(fleet, *groups):
    """Return the problem of a fleet and what waits."""
    return state_problem(fleet, Demand(tuple(groups)), policy(), NOW_S)


def names(problem):
    """Return the names of the nodes of each kind."""
    return sorted([node.name for node in own.nodes] for own in problem.fleet.members)


def test_nodes_with_the_same_gpus_in_another_order_are_alike():
    """Which GPU of a node is which does not matter."""
    fleet = snapshot(
        fleet_node("node-a", [SEVEN_SMALL, WHOLE]),
        fleet_node("node-b", [WHOLE, SEVEN_SMALL]),
        fleet_node("node-c", [WHOLE, WHOLE]),
    )
    everywhere = [node.name for node in fleet.nodes]
    problem = problem_of(fleet, waiting("3g.20gb", 1, everywhere))
    assert names(problem) == [["node-a", "node-b"], ["node-c"]]


def test_nodes_that_take_other_pods_are_in_another_zone():
    """A group that only one node may take tells it apart."""
    fleet = snapshot(fleet_node("node-a"), fleet_node("node-b"))
    problem = problem_of(fleet, waiting("3g.20gb", 1, ["node-b"]))
    assert names(problem) == [["node-a"], ["node-b"]]
    assert [zone.wants for zone in problem.fleet.zones] == [(), (0,)]


def test_zones_do_not_depend_on_names():
    """They are ordered by pool and by what they may take."""
    nodes = [fleet_node("node-z"), fleet_node("node-a"), fleet_node("node-m")]
    zones, place = zones_of(nodes, [frozenset({"node-z"}), frozenset({"node-z", "node-a"})])
    assert [zone.wants for zone in zones] == [(), (0, 1), (1,)]
    assert place == {"node-z": 1, "node-a": 2, "node-m": 0}


def test_so_many_hosts_are_set_apart_as_there_are_requests():
    """Five nodes alike and two bundles: two hosts, and three that count together."""
    fleet = snapshot(*(fleet_node(f"node-{i}") for i in range(5)))
    everywhere = [node.name for node in fleet.nodes]
    problem = problem_of(fleet, waiting({"3g.20gb": 2}, 2, everywhere))
    assert names(problem) == [["node-0"], ["node-1"], ["node-2", "node-3", "node-4"]]


def test_too_many_hosts_are_counted():
    """What is left out is known, so that it can be said."""
    fleet = snapshot(*(fleet_node(f"node-{i}") for i in range(5)))
    everywhere = [node.name for node in fleet.nodes]
    problem = problem_of(fleet, waiting("1g.5gb", 1, everywhere))
    wants = problem_of(fleet, waiting({"3g.20gb": 2}, 4, everywhere)).mix.wants
    plain = replace(
        problem.fleet, kinds=tuple(replace(k, is_host=False) for k in problem.mix.kinds)
    )
    able = replace(
        plain,
        kinds=tuple(
            replace(k, free=Counts({resource_name("3g.20gb"): 2})) for k in plain.kinds
        ),
    )
    hosted = with_hosts(able, wants, most=3)
    assert sum(kind.is_host for kind in hosted.kinds) == 3
    assert hosted.unhosted == 1
    assert sum(kind.number for kind in hosted.kinds) == 5


def test_a_node_in_a_rollout_offers_its_target():
    """Less what pods hold on it already."""
    node = replace(
        fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 2}]),
        target_supply=Counts({resource_name("1g.5gb"): 3}),
    )
    assert free_of(node) == Counts({resource_name("1g.5gb"): 1})


def test_the_potential_takes_the_best_option_of_each_gpu():
    """Two GPUs may gain two instances each, beside the one that is free."""
    options = (Option((("x", 2),), 1.0), Option((("x", -1), ("y", 1)), 1.0))
    kind = NodeKind(0, 1, Counts({"x": 1}), (GpuKind(2, options),))
    assert potential_of(kind) == Counts({"x": 5, "y": 2})
