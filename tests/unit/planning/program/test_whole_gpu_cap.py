"""The cap on whole-GPU instances."""

from dataclasses import replace

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.policy.policy import PlanningRules
from autoscaler.domain.reasons import Reason
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.whole_gpu_cap import cap_rules, more_than_home
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, snapshot, waiting
from tests.fleets import policy, pool

WHOLE = "nvidia.com/mig-7g.40gb"
KNOWN = ValueHistory(home={("pool", WHOLE): 1})


def fleet(*, whole=0, small=4):
    """Return one node of idle GPUs, some of them whole."""
    layout = [{"7g.40gb": 1}] * whole + [SEVEN_SMALL] * small
    return snapshot(fleet_node(layout=layout))


def planned(fleet, number, history=KNOWN, cap="10%"):
    """Return the plan for so many pods that want a whole GPU."""
    own = policy(planning=PlanningRules(min_gain=0.0, whole_gpu_cap=cap))
    demand = Demand((waiting("7g.40gb", number),))
    return make_plan(fleet, demand, own, NOW_S, PlannerSettings(history=history))


def created(plan):
    """Return how many whole-GPU instances a plan makes."""
    return sum(g.after["7g.40gb"] for change in plan.changes for g in change.gpus)


@pytest.mark.parametrize(
    ("cap", "gpus", "more"),
    [("10%", 4, 1), ("10%", 14, 1), ("10%", 15, 2), ("10%", 88, 9), ("0%", 88, 1), (0, 8, 0)],
)
def test_a_share_is_rounded_and_at_least_one_and_a_number_is_itself(cap, gpus, more):
    """As max(1, round(0.10 G))."""
    assert more_than_home(cap, gpus) == more


def test_a_flood_gets_the_home_share_and_a_little_more():
    """One of the home mix and one of the tenth of four GPUs, rounded up to one."""
    plan = planned(fleet(), 4)
    assert created(plan) == 2
    (note, other) = plan.unserved
    assert note.reason is other.reason is Reason.WHOLE_GPU_CAP
    assert "no more than 2 are made" in note.message


@pytest.mark.parametrize("history", [None, ValueHistory()])
def test_without_a_home_mix_there_is_no_cap(history):
    """Nobody knows what would be too many."""
    assert created(planned(fleet(), 4, history)) == 4


def test_the_cap_can_be_turned_off():
    """As for those who want floods to be served."""
    assert created(planned(fleet(), 4, cap="off")) == 4


def test_what_exists_may_exceed_it_and_stays():
    """Three are there: none is destroyed, none is added."""
    plan = planned(fleet(whole=3, small=1), 4)
    assert plan.changes == ()
    assert [note.reason for note in plan.unserved] == [Reason.WHOLE_GPU_CAP]


def test_a_floor_goes_before_the_cap():
    """People asked for three in any case."""
    own = pool(floors={"7g.40gb": 3})
    (rule,) = cap_rules(own, fleet(), KNOWN.home, "10%", NOW_S)
    assert rule.limit == 3


def test_reserved_nodes_do_not_count():
    """Neither their GPUs nor their instances."""
    whole = fleet_node("node-b", layout=[{"7g.40gb": 1}] * 4)
    nodes = (*fleet().nodes, replace(whole, reserved=True))
    (rule,) = cap_rules(pool(), snapshot(*nodes), KNOWN.home, "10%", NOW_S)
    assert (rule.present, rule.limit) == (0, 2)


def test_other_profiles_are_not_limited():
    """The cap is on whole GPUs only."""
    own = policy(planning=PlanningRules(min_gain=0.0))
    demand = Demand((waiting("3g.20gb", 8),))
    plan = make_plan(fleet(), demand, own, NOW_S, PlannerSettings(history=KNOWN))
    assert plan.unserved == ()
