"""Margins: what a change must gain beyond its cost, and more so to undo another."""

from dataclasses import replace

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.planning_rules import PlanningRules
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.margin import margins_of
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, snapshot, waiting
from tests.fleets import policy

RULES = PlanningRules(min_gain=1.5, undo_gain=3.0, undo_within_s=7200.0)
WHOLE = {"7g.40gb": 1}


def record(node="node-a", ago_s=0.0, result=Result.DONE, gpus=(0,)):
    """Return a rollout that ended some time ago."""
    ended_s = NOW_S - ago_s
    return RolloutRecord(node, ended_s - 300.0, ended_s, result, gpus=gpus)


@pytest.mark.parametrize(
    ("ago_s", "margin"), [(0.0, 3.0), (3600.0, 2.25), (7200.0, 1.5), (9e9, 1.5), (-60.0, 3.0)]
)
def test_the_margin_of_a_recent_change_falls_evenly(ago_s, margin):
    """From undoGain to minGain; one of the future counts as of now."""
    assert margins_of(RULES, [record(ago_s=ago_s)], NOW_S).of_gpu("node-a", 0) == margin


def test_only_what_was_changed_has_the_larger_margin():
    """Other GPUs and other nodes were not, and neither was what a rollout gave up on."""
    margins = margins_of(RULES, [record(), record("node-b", result=Result.ABORTED)], NOW_S)
    assert margins.of_gpu("node-a", 1) == 1.5
    assert margins.of_gpu("node-b", 0) == 1.5


def test_a_record_without_gpus_stands_for_all_of_them():
    """Histories of earlier versions do not say which GPUs were re-cut."""
    assert margins_of(RULES, [record(gpus=())], NOW_S).of_gpu("node-a", 5) == 3.0


def test_a_margin_is_never_below_the_cost():
    """A minGain of 0 lifts the margin, not the cost itself."""
    rules = PlanningRules(min_gain=0.0, undo_gain=0.0)
    assert margins_of(rules, [record()], NOW_S).of_gpu("node-a", 0) == 1.0


def planned(fleet, weight, *records, profile="7g.40gb", **known):
    """Return the plan for one pod of a weight, after these rollouts."""
    demand = Demand((waiting(profile, weight=weight),))
    settings = PlannerSettings(records=records, **known)
    return make_plan(fleet, demand, policy(), NOW_S, settings)


def test_what_gains_less_than_the_margin_is_not_proposed():
    """Seven slices cost 1890 to re-cut, so 2835 must be won."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    per_weight = 7 * 12000.0
    assert planned(fleet, 2800.0 / per_weight).changes == ()
    (change,) = planned(fleet, 2900.0 / per_weight).changes
    price = change.price
    assert (price.gain, price.cost, price.churn) == pytest.approx((2900.0, 1890.0, 945.0))


def test_undoing_a_recent_change_takes_a_larger_gain():
    """What would have been worth it yesterday is not yet worth undoing it."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    weight = 4000.0 / (7 * 12000.0)
    assert planned(fleet, weight).changes
    assert planned(fleet, weight, record()).changes == ()
    assert planned(fleet, weight, record(ago_s=7000.0)).changes


def test_another_node_is_cut_rather_than_the_one_that_was():
    """Of two nodes alike, the one that nobody has touched of late changes."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]), fleet_node("node-b", [SEVEN_SMALL]))
    demand = Demand((waiting("7g.40gb", nodes=("node-a", "node-b")),))
    settings = PlannerSettings(records=(record(),))
    (change,) = make_plan(fleet, demand, policy(), NOW_S, settings).changes
    assert change.node == "node-b"


@pytest.mark.parametrize(("pool", "cost"), [("pool", 1890.0 / 4), ("other", 1890.0)])
def test_where_the_past_is_known_what_nobody_waits_for_counts_a_quarter(pool, cost):
    """Of a pool that nobody knows anything of, people may come for it at any time."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    history = ValueHistory(reach={(pool, "nvidia.com/mig-7g.40gb"): (0.5,)})
    (change,) = planned(fleet, 1.0, history=history).changes
    assert change.price.cost == pytest.approx(cost)


def test_two_demands_that_alternate_change_a_gpu_once():
    """A light pod of either kind comes and goes; the first change is not undone."""
    node, records, changes = fleet_node("node-a", [SEVEN_SMALL]), [], 0
    weight = 4000.0 / (7 * 12000.0)
    for turn in range(6):
        profile = "7g.40gb" if turn % 2 == 0 else "1g.5gb"
        own = weight if profile == "7g.40gb" else 7 * weight
        plan = planned(snapshot(node), own, *records, profile=profile)
        for change in plan.changes:
            changes += 1
            after = change.gpus[0].after
            moved = fleet_node("node-a", [dict(after)])
            node = replace(moved, node=replace(moved.node, uid=node.node.uid))
            records.append(record(ago_s=600.0 * (5 - turn)))
    assert changes == 1
