"""The cap on whole-GPU instances."""

from dataclasses import replace

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.policy.policy import Disruption, Driver, PlanningRules
from autoscaler.domain.reasons import Reason
from autoscaler.planning.past.home_share import PoolGpus
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.whole_gpu_cap import cap_rules, filled_gpus, more_than_home
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, model, snapshot, waiting
from tests.builders import pod as some_pod
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


def capped(cap="10%", *, placeholders=False):
    """Return a policy with a cap."""
    rules = {"draining": {"placeholders": placeholders}}
    planning = PlanningRules(whole_gpu_cap=cap)
    return policy(planning=planning, disruption=Disruption.model_validate(rules))


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


THREES = ("pool", "nvidia.com/mig-3g.20gb")


@pytest.mark.parametrize(
    ("gpus", "wanted", "cap", "limit"),
    [
        (5, 4.8, "10%", 2),  # others fill 2.4 of the three that are left
        (4, 4.8, "10%", 1),  # of four, one more would leave them two
        (4, 4.8, "50%", 1),
        (8, 4.8, "50%", 5),
        (4, 4.8, 1, 2),  # a number is a number
        (4, 8.0, "10%", 1),  # they have too little as it is
        (4, 1.8, "10%", 2),  # whole GPUs are the larger part of the work
        (4, 0.0, "10%", 2),
    ],
)
def test_what_others_fill_is_left_to_them(gpus, wanted, cap, limit):
    """Beyond the home mix, of one GPU; nine tenths of one are wanted as a whole."""
    several, part = divmod(wanted, 1)
    reach = {THREES: (*(1.0,) * int(several), part), ("pool", WHOLE): (0.9,)}
    known = replace(KNOWN, reach=reach)
    (rule,) = cap_rules(pool(), fleet(small=gpus), known, capped(cap), NOW_S)
    assert rule.limit == limit


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1.0])
def test_a_chance_that_cannot_be_says_nothing(odd):
    """Neither too many nor too few are taken to be wanted, and nothing fails."""
    known = replace(KNOWN, reach={THREES: (1.0,) * 4 + (odd,), ("pool", WHOLE): (0.9, odd)})
    (rule,) = cap_rules(pool(), fleet(small=5), known, capped(), NOW_S)
    assert rule.limit == 2


def test_where_a_whole_gpu_can_be_waited_for_one_more_harms_nobody():
    """On nodes of one GPU with the agent; elsewhere that takes placeholders."""
    known = replace(KNOWN, reach={THREES: (1.0,) * 5})
    own = pool(driver=Driver.AGENT)
    alone = [
        fleet_node(name, [SEVEN_SMALL], driver=Driver.AGENT)
        for name in ("node-a", "node-b", "node-c", "node-d")
    ]
    (rule,) = cap_rules(own, snapshot(*alone), known, capped(), NOW_S)
    assert rule.limit == 2
    pair = fleet_node("node-e", [SEVEN_SMALL] * 2, driver=Driver.AGENT)
    both = snapshot(*alone[:2], pair)
    (rule,) = cap_rules(own, both, known, capped(), NOW_S)
    assert rule.limit == 1
    (rule,) = cap_rules(own, both, known, capped(placeholders=True), NOW_S)
    assert rule.limit == 2


def test_without_metrics_there_are_no_placeholders_to_count_on():
    """Of nodes that nobody uses nothing has to be seen, and one that is seen is enough."""
    known = replace(KNOWN, reach={THREES: (1.0,) * 5})
    used = {"holders": (some_pod(node="node-a"),)}
    own = [fleet_node(n, [SEVEN_SMALL] * 2, **used) for n in ("node-a", "node-b")]
    blind = [replace(node, unseen="no metrics") for node in own]
    for nodes, limit in ((own, 2), ((blind[0], own[1]), 2), (blind, 1)):
        (rule,) = cap_rules(pool(), snapshot(*nodes), known, capped(placeholders=True), NOW_S)
        assert rule.limit == limit


def test_models_that_offer_the_same_share_what_is_wanted():
    """By GPUs; what only one offers is filled on that alone."""
    a100, h100 = model("a100-80gb"), model("h100-80gb")
    gpus = PoolGpus(((a100, 6), (model("a30-24gb"), 5), (h100, 2)))
    reach = {
        ("pool", "nvidia.com/mig-1g.10gb"): (1.0,) * 7,
        ("pool", "nvidia.com/mig-3g.40gb"): (0.5, 0.5),
    }
    filled = filled_gpus(a100, gpus, "pool", reach)
    assert (filled["1g.10gb"], filled["3g.40gb"]) == (0.75, 0.375)
    assert filled_gpus(h100, gpus, "pool", reach)["1g.10gb"] == 0.25
    assert not any(filled_gpus(model("a30-24gb"), gpus, "pool", reach).values())


def test_what_exists_may_exceed_it_and_stays():
    """Three are there: none is destroyed, none is added."""
    plan = planned(fleet(whole=3, small=1), 4)
    assert plan.changes == ()
    assert [note.reason for note in plan.unserved] == [Reason.WHOLE_GPU_CAP]


def test_a_floor_goes_before_the_cap():
    """People asked for three in any case."""
    own = pool(floors={"7g.40gb": 3})
    (rule,) = cap_rules(own, fleet(), KNOWN, capped(), NOW_S)
    assert rule.limit == 3


def test_reserved_nodes_do_not_count():
    """Neither their GPUs nor their instances."""
    whole = fleet_node("node-b", layout=[{"7g.40gb": 1}] * 4)
    nodes = (*fleet().nodes, replace(whole, reserved=True))
    (rule,) = cap_rules(pool(), snapshot(*nodes), KNOWN, capped(), NOW_S)
    assert (rule.present, rule.limit) == (0, 2)


def test_other_profiles_are_not_limited():
    """The cap is on whole GPUs only."""
    own = policy(planning=PlanningRules(min_gain=0.0))
    demand = Demand((waiting("3g.20gb", 8),))
    plan = make_plan(fleet(), demand, own, NOW_S, PlannerSettings(history=KNOWN))
    assert plan.unserved == ()
