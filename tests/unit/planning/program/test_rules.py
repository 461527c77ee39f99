"""Floors, ceilings and reserved nodes."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.reservation import reserve, reserved_holds
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.planning.planner import make_plan
from autoscaler.planning.program.rules import active_floors, rules_of
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, snapshot, waiting
from tests.fleets import policy, pool

WHOLE = {"7g.40gb": 1}
NIGHT = {"days": ["tue"], "start": "22:00", "end": "23:00"}


def plan_for(fleet, own, *groups):
    """Return the plan of a pool."""
    return make_plan(fleet, Demand(tuple(groups)), policy(own), NOW_S)


def counts_after(fleet, plan) -> Counts:
    """Return all instances of a fleet after a plan."""
    layout = {change.node: change.layout for change in plan.changes}
    total = Counts()
    for node in fleet.nodes:
        for counts in layout.get(node.name, [gpu.counts for gpu in node.gpus]):
            total = total.plus(counts)
    return total


def reserved(fleet: Snapshot, own) -> Snapshot:
    """Return a fleet with its reserved nodes marked, as the assessment does."""
    nodes, holds = reserve(fleet.nodes, own, len(fleet.nodes))
    return replace(fleet, nodes=reserved_holds(nodes), holds=holds)


def test_a_floor_is_made_and_kept():
    """Idle GPUs are cut until the pool has what it always keeps."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL]))
    plan = plan_for(fleet, pool(floors={"2g.10gb": 4}))
    assert counts_after(fleet, plan)["2g.10gb"] >= 4
    assert all(change.price.gain > change.price.cost for change in plan.changes)
    assert plan.holds == ()


def test_demand_does_not_cut_below_a_floor():
    """A large pod waits rather than the floor falls short, whatever its weight."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, pool(floors={"1g.5gb": 4}), waiting("7g.40gb", weight=1000.0))
    assert plan.changes == ()
    plan = plan_for(fleet, pool(floors={"1g.5gb": 4}), waiting("3g.20gb"))
    assert counts_after(fleet, plan) == Counts({"3g.20gb": 1, "1g.5gb": 4})


def test_instances_in_use_count_for_a_floor():
    """Seven held instances are a floor of seven."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL], held=[SEVEN_SMALL]))
    plan = plan_for(fleet, pool(floors={"1g.5gb": 7}), waiting("7g.40gb"))
    assert len(plan.changes) == 1


def test_an_impossible_floor_is_met_as_far_as_it_can_be_and_named():
    """It is a hold with numbers, and demand is planned beside it."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL], [{"1g.5gb": 1}]))
    plan = plan_for(fleet, pool(floors={"3g.20gb": 5}))
    assert counts_after(fleet, plan)["3g.20gb"] == 2
    (hold,) = plan.holds
    assert hold.reason is Reason.FLOOR_IMPOSSIBLE
    assert "5 x 3g.20gb, 2 can be had now" in hold.message
    assert "1 of 2 GPUs that may change are in use" in hold.message


def test_an_impossible_floor_is_not_worked_on_again_and_again():
    """What can be had of it is kept as it is."""
    fleet = snapshot(fleet_node("node-a", [{"3g.20gb": 2}]))
    plan = plan_for(fleet, pool(floors={"3g.20gb": 5}), waiting("7g.40gb"))
    assert plan.changes == ()
    assert plan.holds[0].reason is Reason.FLOOR_IMPOSSIBLE


def test_floors_that_exclude_each_other_are_met_in_part():
    """One GPU cannot hold both; one of them is named, and the next plan keeps the choice."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    own = pool(floors={"7g.40gb": 1, "4g.20gb": 1})
    plan = plan_for(fleet, own)
    assert counts_after(fleet, plan) == Counts(WHOLE)
    assert [hold.reason for hold in plan.holds] == [Reason.FLOOR_IMPOSSIBLE]
    assert plan_for(snapshot(fleet_node("node-a", [WHOLE])), own).changes == ()


def test_a_floor_of_a_profile_that_no_gpu_has_is_impossible():
    """It changes nothing and is named."""
    plan = plan_for(snapshot(), pool(floors={"9g.90gb": 1}))
    assert plan.changes == ()
    assert plan.holds[0].reason is Reason.FLOOR_IMPOSSIBLE


@pytest.mark.parametrize(("offset_s", "expected"), [(-3600.0, {}), (0.0, {"1g.5gb": 3})])
def test_a_floor_may_hold_at_some_times_only(offset_s, expected):
    """NOW_S is a Tuesday, 22:13 UTC; an hour earlier the span has not begun."""
    own = pool(floors=({**NIGHT, "days": ("tue",), "profiles": {"1g.5gb": 3}},))
    assert active_floors(own, NOW_S + offset_s) == Counts(expected)


def test_the_larger_of_two_floors_holds():
    """Spans that overlap do not add up."""
    spans = tuple({**NIGHT, "days": ("tue",), "profiles": {"1g.5gb": n}} for n in (3, 5, 4))
    assert active_floors(pool(floors=spans), NOW_S) == Counts({"1g.5gb": 5})


def test_a_ceiling_limits_what_is_made():
    """Three pods wait for large instances, of which there may be two."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL] * 3))
    plan = plan_for(fleet, pool(ceilings={"7g.40gb": 2}), waiting("7g.40gb", 3))
    assert counts_after(fleet, plan)["7g.40gb"] == 2


def test_a_ceiling_may_need_a_layout_that_is_not_full():
    """Four small instances are allowed, and no other profile: three slices stay empty."""
    fleet = snapshot(fleet_node("node-a", [WHOLE]))
    own = pool(profiles=("1g.5gb",), ceilings={"1g.5gb": 4})
    plan = plan_for(fleet, own, waiting("1g.5gb", 6))
    assert counts_after(fleet, plan) == Counts({"1g.5gb": 4})


def test_slices_that_a_ceiling_frees_are_filled_with_what_is_allowed():
    """Nobody asks for them, and an empty GPU could serve nobody at all."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]), fleet_node("node-b", [SEVEN_SMALL]))
    after = counts_after(fleet, plan_for(fleet, pool(ceilings={"1g.5gb": 3})))
    slices = {"1g.5gb": 1, "2g.10gb": 2, "3g.20gb": 3, "4g.20gb": 4, "7g.40gb": 7}
    assert after["1g.5gb"] <= 3
    assert sum(slices[name] * number for name, number in after.items()) == 14


def test_a_ceiling_may_hold_at_some_times_only():
    """In the night two large instances are allowed, and one where two spans overlap."""
    spans = tuple({**NIGHT, "days": ("tue",), "profiles": {"7g.40gb": n}} for n in (2, 1, 2))
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL] * 3))
    asked = waiting("7g.40gb", 3)
    assert counts_after(fleet, plan_for(fleet, pool(ceilings=spans), asked))["7g.40gb"] == 1
    by_day = tuple({**span, "start": "08:00", "end": "20:00"} for span in spans)
    assert counts_after(fleet, plan_for(fleet, pool(ceilings=by_day), asked))["7g.40gb"] == 3


def test_a_ceiling_of_none_counts_where_it_holds():
    """Zero of a profile is a ceiling too, and not the lack of one."""
    spans = ({**NIGHT, "days": ("tue",), "profiles": {"7g.40gb": 0}},)
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    assert plan_for(fleet, pool(ceilings=spans), waiting("7g.40gb")).changes == ()


def test_running_instances_are_never_destroyed_for_a_ceiling():
    """There are more than allowed, and pods hold them."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 1}]))
    assert plan_for(fleet, pool(ceilings={"1g.5gb": 2})).changes == ()


def test_a_reserved_node_is_never_cut():
    """The reserve is kept, whatever waits; the other node is cut."""
    own = pool(reserve={"full_gpu_nodes": 1})
    fleet = reserved(
        snapshot(fleet_node("node-a", [WHOLE]), fleet_node("node-b", [WHOLE])), own
    )
    plan = plan_for(fleet, own, waiting("1g.5gb", 14, ["node-a", "node-b"], weight=50.0))
    assert [change.node for change in plan.changes] == ["node-b"]


def test_a_missing_reserved_node_is_made():
    """Of two cut nodes one becomes whole, the one that nobody uses."""
    own = pool(reserve={"full_gpu_nodes": 1})
    layout = [SEVEN_SMALL, WHOLE]
    fleet = reserved(
        snapshot(
            fleet_node("node-a", layout, [{"1g.5gb": 1}]),
            fleet_node("node-b", layout, [{}, WHOLE]),
        ),
        own,
    )
    plan = plan_for(fleet, own, waiting("1g.5gb", 7, ["node-b"]))
    (change,) = plan.changes
    assert (change.node, change.layout) == ("node-b", (Counts(WHOLE), Counts(WHOLE)))
    assert change.price.rule > 0
    assert change.config_name == "all-7g.40gb"


def test_a_node_that_people_reserved_is_made_whole_first():
    """Another node being whole already does not stand for it."""
    own = pool(reserve={"full_gpu_nodes": 1})
    chosen = replace(fleet_node("node-b"), reserved=True)
    plan = plan_for(snapshot(fleet_node("node-a"), chosen), own, waiting("3g.20gb", 1))
    after = {change.node: change.layout for change in plan.changes}
    assert after["node-b"] == (Counts(WHOLE),)
    assert after["node-a"] == (Counts({"3g.20gb": 1, "1g.5gb": 4}),)


def test_a_reserve_that_cannot_be_made_now_is_named():
    """Every node is in use."""
    own = pool(reserve={"full_gpu_nodes": 1})
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 1}]))
    (hold,) = plan_for(fleet, own).holds
    assert hold.reason is Reason.RESERVE_IMPOSSIBLE
    assert "lacks 1 full-GPU nodes for its reserve, 0 can be made now" in hold.message


def test_what_the_assessment_said_of_the_reserve_is_not_repeated():
    """One sentence for one trouble."""
    own = pool(reserve={"full_gpu_nodes": 2})
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 1}]))
    fleet = reserved(fleet, own)
    assert [hold.reason for hold in fleet.holds] == [Reason.RESERVE_IMPOSSIBLE]
    assert plan_for(fleet, own).holds == fleet.holds


def test_a_percentage_of_nodes_is_rounded_down():
    """Half of three nodes is one."""
    fleet = snapshot(*(fleet_node(f"node-{i}") for i in range(3)))
    (rule,) = rules_of(pool(reserve={"full_gpu_nodes": "50%"}), fleet, NOW_S)
    assert (rule.limit, rule.present) == (1, 0)


def test_a_pool_that_is_only_observed_has_no_rules():
    """With another strategy than mixed nothing is cut."""
    own = pool(floors={"1g.5gb": 4}, strategy=Strategy.NONE)
    assert rules_of(own, snapshot(), NOW_S) == ()


def test_rules_count_what_held_nodes_and_rollouts_bring():
    """A node on hold keeps its instances, one in a rollout has its target."""
    held = replace(fleet_node("node-a"), gpus=(), holds=(Hold(Reason.HELD, "x", "node-a"),))
    rolling = replace(fleet_node("node-b"), target_supply=Counts({resource_name("1g.5gb"): 3}))
    (rule,) = rules_of(pool(floors={"1g.5gb": 20}), snapshot(held, rolling), NOW_S)
    assert rule.present == 7 + 3


def test_the_agent_makes_whole_nodes_with_placements():
    """A node of the agent becomes whole with the instance at its place."""
    own = pool(reserve={"full_gpu_nodes": 1}, driver=Driver.AGENT)
    fleet = snapshot(replace(fleet_node("node-a"), driver=Driver.AGENT))
    (change,) = plan_for(fleet, own).changes
    assert str(change.gpus[0].placements_after) == "7g.40gb@0"


def test_making_a_node_whole_costs_what_waits_for_its_instances():
    """The closed node's free instances are in the price, though other nodes have some."""
    own = pool(reserve={"full_gpu_nodes": 1})
    fleet = snapshot(
        fleet_node("node-a", [SEVEN_SMALL, WHOLE]), fleet_node("node-b", [SEVEN_SMALL] * 3)
    )
    names = [node.name for node in fleet.nodes]
    plan = plan_for(reserved(fleet, own), own, waiting("7g.40gb", 1, names))
    (change,) = plan.changes
    assert (change.node, change.layout) == ("node-a", (Counts(WHOLE), Counts(WHOLE)))
    # One GPU of seven slices is cut; the pod that waits would use the other one.
    assert change.price.cost == (7 + 7) * 270.0
