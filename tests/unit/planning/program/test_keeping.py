"""Whole GPUs in use that others may have next: whom a plan waits for, and whom never."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Disruption, Driver, PlanningRules, RolloutRules
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.keeping import LEAST, keepable, may_wait_for
from autoscaler.planning.program.whole_gpu_cap import cap_rules
from tests.builders import NOW_S, fleet_node, gpu, holder, placed, snapshot, waiting
from tests.fleets import policy, pool
from tests.rollouts import journal

FULL, HALF = "7g.40gb", "3g.20gb"
WHOLE = resource_name(FULL)
SERVICE_S = {WHOLE: 4800.0, resource_name(HALF): 600.0}
ALIKE_S = dict.fromkeys(SERVICE_S, 600.0)
NAMES = ("node-a", "node-b")


def in_use(name, gpus=1, driver=Driver.AGENT, **changes):
    """Return a node whose GPUs are each held as a whole."""
    own = placed({FULL: 1})
    cut = tuple(gpu(i, {FULL: 1}, {FULL: 1}, geometry=own, pinned=own) for i in range(gpus))
    layout = [{FULL: 1}] * gpus
    return fleet_node(name, layout, layout, driver=driver, gpus=cut, **changes)


def holds(node, index=0):
    """Return the pod that holds a GPU of a node and ends some time."""
    return holder(
        f"job-{node}-{index}",
        FULL,
        node,
        index,
        places=placed({FULL: 1}),
        refusal=None,
        ends=True,
    )


def kept(node, index=0):
    """Return the same, which may not be evicted."""
    own = holds(node, index)
    return replace(own, refusal=PodNote(own.pod, Reason.EVICTION_DISABLED, "off"))


def planned(*nodes, home=1, groups=None, own=None, service_s=SERVICE_S, is_held=True):
    """Return the plan for two halves that wait behind a flood."""
    names = tuple(node.name for node in nodes)
    asked = groups or (waiting(FULL, 4, names, prefix="flood"), waiting(HALF, 2, names))
    who = [kept(node.name, g.index) for node in nodes for g in node.gpus]
    demand = Demand(asked, holders=tuple(who) if is_held else ())
    history = ValueHistory(home={("pool", WHOLE): home}, service_s=service_s)
    rules = own or policy(planning=PlanningRules(min_gain=1.0))
    return make_plan(snapshot(*nodes), demand, rules, NOW_S, PlannerSettings(history=history))


def test_a_plan_waits_for_a_pod_and_says_for_whom():
    """Nobody is evicted, and the wait is part of the estimate."""
    (change,) = planned(*map(in_use, NAMES)).changes
    (pod,) = change.awaits
    assert pod == PodRef("default", f"job-{change.node}-0")
    assert change.evictions == ()
    assert dict(change.layout[0]) == {HALF: 2}
    # Half of the 6 h is enough for most of a memoryless stay of 80 minutes.
    assert 4000.0 < change.estimated_s < 5000.0


def test_the_home_share_is_left_alone():
    """Of requests that are worth the same for their size, those of the home mix go first."""
    assert planned(*map(in_use, NAMES), home=2, service_s=ALIKE_S).changes == ()


def test_a_home_share_is_no_right_against_those_who_are_worth_more():
    """Else one long flood has its GPUs for as long as it lasts, and short pods none."""
    (change,) = planned(*map(in_use, NAMES), home=2).changes
    assert len(change.awaits) == 1


def test_a_flood_alone_closes_nothing():
    """Whoever asks for the same gets the GPU anyway."""
    assert planned(*map(in_use, NAMES), groups=(waiting(FULL, 4, NAMES),)).changes == ()


def test_nothing_is_closed_when_draining_is_off():
    """The policy's word."""
    off = policy(
        planning=PlanningRules(min_gain=1.0),
        disruption=Disruption.model_validate({"draining": {"enabled": False}}),
    )
    assert planned(*map(in_use, NAMES), own=off).changes == ()


def test_a_wait_that_will_hardly_succeed_is_not_begun():
    """Of the deadline only a tenth of the usual stay."""
    short = policy(
        planning=PlanningRules(min_gain=1.0), rollout=RolloutRules(surplus_deadline_s=480.0)
    )
    assert planned(*map(in_use, NAMES), own=short).changes == ()


def test_what_need_not_wait_goes_first():
    """A GPU that is free wins over one that will be."""
    idle = fleet_node(
        "node-c",
        [{FULL: 1}],
        driver=Driver.AGENT,
        gpus=(gpu(0, {FULL: 1}, geometry=placed({FULL: 1})),),
    )
    nodes = (*map(in_use, NAMES), idle)
    halves = (waiting(HALF, 2, (*NAMES, "node-c")),)
    (change,) = planned(*nodes, groups=halves).changes
    assert (change.node, change.awaits) == ("node-c", ())


@pytest.mark.parametrize(
    "node",
    [
        in_use("node-a", gpus=2),
        in_use("node-a", driver=Driver.MIG_MANAGER),
        in_use("node-a", reserved=True),
    ],
    ids=["several GPUs", "MIG manager", "reserved"],
)
def test_nodes_that_are_never_closed_for_it(node):
    """The cordon would cost others something, or nobody may cut there."""
    home = {("pool", WHOLE): 0}
    assert keepable([holds("node-a")], (node,), home, may_wait_for) == {}


@pytest.mark.parametrize("whole_s", [600.0, 850.0, 1000.0, 1100.0, 4800.0])
def test_what_is_waited_for_would_be_cut_if_it_were_free(whole_s):
    """Else a node is closed for nothing each time that one of the home share ends."""
    service_s = {**SERVICE_S, WHOLE: whole_s}
    free = (
        fleet_node(
            name,
            [{FULL: 1}],
            driver=Driver.AGENT,
            gpus=(gpu(0, {FULL: 1}, geometry=placed({FULL: 1})),),
        )
        for name in NAMES
    )
    waits = planned(*map(in_use, NAMES), home=2, service_s=service_s)
    cuts = planned(*free, home=2, service_s=service_s, is_held=False)
    assert len(waits.changes) == len(cuts.changes) == (whole_s > 1000.0)


def test_without_a_home_mix_nothing_is_kept():
    """Nothing says what whole GPUs are needed for."""
    nodes = (in_use("node-a"),)
    assert keepable([holds("node-a")], nodes, {}, may_wait_for) == {}
    known = keepable([holds("node-a")], nodes, {("pool", WHOLE): 0}, may_wait_for)
    assert known == {("node-a", 0): False}


@pytest.mark.parametrize("home", [0, 1, 2, 3])
def test_all_of_them_are_candidates_whatever_the_home_mix_has(home):
    """What becomes of one that is free the plan decides."""
    nodes, mix = tuple(map(in_use, NAMES)), {("pool", WHOLE): home}
    found = keepable([holds(name) for name in NAMES], nodes, mix, may_wait_for)
    assert found == {(name, 0): home >= len(NAMES) for name in NAMES}


def test_a_whole_gpu_that_was_waited_for_has_no_right_to_stay():
    """The cap is no lower than what exists, that one left out."""
    own = pool(driver=Driver.AGENT)
    home = ValueHistory(home={("pool", WHOLE): 0})
    none = policy(planning=PlanningRules(whole_gpu_cap=0))
    stays = [fleet_node(name, [{FULL: 1}]) for name in NAMES]
    (rule,) = cap_rules(own, snapshot(*stays), home, none, NOW_S)
    assert (rule.limit, rule.present) == (2, 2)
    waited = [stays[0], replace(stays[1], has_waited=True)]
    (rule,) = cap_rules(own, snapshot(*waited), home, none, NOW_S)
    assert (rule.limit, rule.present) == (1, 2)


def test_of_a_large_fleet_only_some_are_closed_at_once():
    """Twice what is too many, and a few in any case, those that wait already included."""
    nodes = [in_use(f"node-{n:03d}") for n in range(60)]
    pods = [holds(node.name) for node in nodes]
    assert len(keepable(pods, nodes, {("pool", WHOLE): 59}, may_wait_for)) == LEAST
    assert len(keepable(pods, nodes, {("pool", WHOLE): 40}, may_wait_for)) == 40
    waits = journal(awaits=("default/job",))
    some = [replace(node, journal=waits) for node in nodes[:30]]
    assert (
        len(keepable(pods[30:], (*some, *nodes[30:]), {("pool", WHOLE): 40}, may_wait_for))
        == 10
    )
