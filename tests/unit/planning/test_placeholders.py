"""Placeholders: for which whole GPUs of nodes with several they are wanted, and when never."""

from dataclasses import replace

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Disruption, Driver, PlanningRules
from autoscaler.domain.reasons import Hold, PodNote, Reason
from autoscaler.planning.gating.gate import Standing
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.placeholders import Occasion, placeholders_for
from autoscaler.planning.planner import PlannerSettings
from tests.builders import NOW_S, fleet_node, gpu, holder, placed, snapshot, waiting
from tests.fleets import policy

FULL, HALF = "7g.40gb", "3g.20gb"
WHOLE = resource_name(FULL)
SERVICE_S = {WHOLE: 4800.0, resource_name(HALF): 600.0}


def in_use(name, gpus=2, driver=Driver.MIG_MANAGER, **changes):
    """Return a node whose GPUs are each held as a whole."""
    own = placed({FULL: 1}) if driver is Driver.AGENT else None
    cut = tuple(gpu(i, {FULL: 1}, {FULL: 1}, geometry=own, pinned=own) for i in range(gpus))
    layout = [{FULL: 1}] * gpus
    return fleet_node(name, layout, layout, driver=driver, gpus=cut, **changes)


def holds(node, index, **changes):
    """Return the pod that holds a GPU of a node, ends some time, and may not be evicted."""
    own = holder(f"job-{node}-{index}", FULL, node, index, ends=True, **changes)
    return replace(own, refusal=PodNote(own.pod, Reason.EVICTION_DISABLED, "off"))


def rules(**disruption):
    """Return a policy with some rules of disruption."""
    own = Disruption.model_validate(disruption)
    return policy(planning=PlanningRules(min_gain=1.0), disruption=own)


def found(nodes, holders, *, home=1, halves=2, own=None, standing=None, **past):
    """Return the placeholders for halves that wait behind a flood."""
    names = tuple(node.name for node in nodes)
    groups = [waiting(FULL, 4, names, prefix="flood"), waiting(HALF, halves, names)]
    demand = Demand(tuple(g for g in groups if g.number), holders=tuple(holders))
    history = ValueHistory(home={("pool", WHOLE): home}, **{"service_s": SERVICE_S, **past})
    settings = PlannerSettings(history=history)
    occasion = Occasion(own or rules(), NOW_S, settings, standing or Standing())
    return placeholders_for(snapshot(*nodes), demand, occasion)


def wanted(*nodes, places=None, **changes):
    """Return how many of them each node shall have, with a pod on each GPU that ends."""
    who = [holds(node.name, g.index, places=places) for node in nodes for g in node.gpus]
    return {one.node: one.number for one in found(nodes, who, **changes)}


@pytest.mark.parametrize("driver", list(Driver))
def test_a_node_with_several_gpus_gets_as_many_as_are_worth_it(driver):
    """Two halves need one GPU, four need two; the home share of one is given back later."""
    node = in_use("node-a", 3, driver)
    places = placed({FULL: 1}) if driver is Driver.AGENT else None
    assert wanted(node, places=places) == {"node-a": 1}
    assert wanted(node, halves=4, places=places) == {"node-a": 2}


def test_a_home_share_is_no_right_against_those_who_are_worth_more():
    """The plan weighs it, as when the GPU is free."""
    assert wanted(in_use("node-a"), home=2) == {"node-a": 1}


def test_each_node_gets_them_because_nobody_knows_who_ends_first():
    """Those that are not needed any more go with the next plan."""
    assert wanted(in_use("node-a"), in_use("node-b"), home=3) == {"node-a": 1, "node-b": 1}


def test_the_pods_are_named():
    """Any of them may be the first to end."""
    (own,) = found([in_use("node-a")], [holds("node-a", 0), holds("node-a", 1)])
    assert [pod.name for pod in own.awaits] == ["job-node-a-0", "job-node-a-1"]
    assert (own.pool, own.resource) == ("pool", WHOLE)


@pytest.mark.parametrize(
    "changes",
    [
        {"home": 2, "service_s": dict.fromkeys(SERVICE_S, 600.0)},
        {"halves": 0},
        {"own": rules(draining={"enabled": False})},
        {"own": rules(draining={"placeholders": False})},
        {"own": rules(windows=())},
        {"standing": Standing(paused="by ops")},
    ],
    ids=["home share", "nobody else", "no draining", "off", "no window", "paused"],
)
def test_there_are_none_where_they_would_help_nobody(changes):
    """A home share goes first where the worth is the same; what may not start waits."""
    assert wanted(in_use("node-a"), **changes) == {}


def test_a_budget_that_is_used_up_does_not_forbid_them():
    """Nothing is closed for them, and it may be free when they are bound."""
    assert wanted(in_use("node-a"), own=rules(budgets={"per_hour": 0})) == {"node-a": 1}


@pytest.mark.parametrize(
    "node",
    [
        in_use("node-a", 1, Driver.AGENT),
        in_use("node-a", reserved=True),
        in_use("node-a", holds=(Hold(Reason.HELD, "held", "node-a"),)),
    ],
    ids=["closed instead", "reserved", "on hold"],
)
def test_nodes_that_never_have_them(node):
    """One GPU of the agent's is waited for by closing its node."""
    assert wanted(node) == {}


def test_pods_that_never_end_are_not_waited_for():
    """A placeholder would wait for ever, and say nothing."""
    stay = [replace(holds("node-a", index), ends=False) for index in range(2)]
    assert found([in_use("node-a")], stay, home=0) == ()
