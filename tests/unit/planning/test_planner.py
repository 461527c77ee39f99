"""Plans for small fleets that can be checked by hand."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.resource import GPU, resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import Hold, PodNote, Reason
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.solving.answer import Answer, Status
from tests.builders import (
    NOW_S,
    SEVEN_SMALL,
    fleet_node,
    gpu,
    placed,
    snapshot,
    waiting,
)
from tests.fleets import policy, pool

TWO = ("node-a", "node-b")
LARGE, SMALL = resource_name("7g.40gb"), resource_name("1g.5gb")


def plan_for(fleet, *groups, own=None, **changes):
    """Return the plan for pods that wait."""
    demand = replace(Demand(tuple(groups)), **changes)
    return make_plan(fleet, demand, own or policy(), NOW_S)


def layouts(plan):
    """Return the layout of each changed node as plain values."""
    return {
        change.node: [None if counts is None else dict(counts) for counts in change.layout]
        for change in plan.changes
    }


def test_a_waiting_pod_gets_its_instance():
    """The change says what it makes, for whom, what it gains, costs and takes."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL]))
    (change,) = plan_for(fleet, waiting("7g.40gb", prefix="big")).changes
    assert (change.node, change.uid, change.pool) == ("node-a", "uid-node-a", "pool")
    assert [(g.index, dict(g.before), dict(g.after)) for g in change.gpus] == [
        (0, {"1g.5gb": 7}, {"7g.40gb": 1})
    ]
    assert change.layout == (Counts({"7g.40gb": 1}), Counts(SEVEN_SMALL))
    assert change.resources == Counts({LARGE: 1, SMALL: 7})
    assert change.config_name.startswith("as-")
    assert change.observed == observed_hash(fleet.nodes[0], [0])
    assert change.serves == (PodRef("default", "big-000"),)
    # Seven slices over the horizon, against seven slices for 120 + 120 + 30 seconds.
    assert (change.price.gain, change.price.cost) == (7 * 12000.0, 7 * 270.0)
    assert change.estimated_s == 270.0


def test_free_space_keeps_its_instances():
    """Of all layouts with what is asked for, the one nearest to the present is taken."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, waiting("3g.20gb"))
    assert layouts(plan) == {"node-a": [{"3g.20gb": 1, "1g.5gb": 4}]}


def test_pods_that_fit_today_lose_nothing():
    """The pods that free instances serve are part of what a plan must serve."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, waiting("1g.5gb", 7), waiting("4g.20gb"))
    assert plan.changes == ()
    (note,) = plan.unserved
    assert (note.pod.name, note.reason) == ("1x4g.20gb-000", Reason.NO_CAPACITY)


def test_a_heavier_pod_takes_the_place_of_lighter_ones():
    """Priority is a weight: ten times four slices outweigh seven."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, waiting("1g.5gb", 7), waiting("4g.20gb", weight=10.0))
    assert layouts(plan) == {"node-a": [{"4g.20gb": 1, "1g.5gb": 3}]}
    assert [note.pod.name for note in plan.unserved] == [
        "1x1g.5gb-003",
        "1x1g.5gb-004",
        "1x1g.5gb-005",
        "1x1g.5gb-006",
    ]


def test_the_oldest_pods_are_served_first():
    """A plan with room for one serves the first of a group."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, waiting("7g.40gb", 3))
    assert plan.changes[0].serves == (PodRef("default", "1x7g.40gb-000"),)
    assert len(plan.unserved) == 2


def test_as_few_nodes_as_possible_are_closed():
    """Two GPUs of one node are changed rather than one of each of two."""
    fleet = snapshot(*(fleet_node(name, [SEVEN_SMALL] * 2) for name in TWO))
    plan = plan_for(fleet, waiting("7g.40gb", 2, TWO), waiting("1g.5gb", 4, TWO))
    assert layouts(plan) == {"node-a": [{"7g.40gb": 1}, {"7g.40gb": 1}]}


def test_the_demand_lines_add_up():
    """Pending is what is asked for, lacking what is not free, served what changes bring."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL]))
    plan = plan_for(fleet, waiting("7g.40gb", 3), waiting("1g.5gb", 7))
    lines = {line.resource: line for line in plan.demand}
    assert [(n.pending, n.free, n.lacking, n.served_by_plan) for n in lines.values()] == [
        (7, 14, 0, 0),
        (3, 0, 3, 1),
    ]
    assert [line.pool for line in plan.demand] == ["pool", "pool"]


def test_a_gpu_in_use_is_left_alone():
    """MIG manager would destroy all instances of a GPU, so one in use is no candidate."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], held=[{"1g.5gb": 1}]))
    plan = plan_for(fleet, waiting("3g.20gb"))
    assert plan.changes == ()
    (note,) = plan.unserved
    assert note.reason is Reason.GPUS_BUSY
    assert "1 of 1 GPUs that may change are in use" in note.message


def agent_node(held):
    """Return a node of the agent with one GPU: 1g at 0 to 2, 3g at 4."""
    geometry = placed({"1g.5gb": 3, "3g.20gb": 1})
    pinned = Geometry(tuple(geometry.instances[place] for place in held))
    own = gpu(0, dict(geometry.counts), dict(pinned.counts), geometry=geometry, pinned=pinned)
    node = fleet_node("node-a", [dict(geometry.counts)], [dict(pinned.counts)])
    return replace(node, driver=Driver.AGENT, gpus=(own,))


def test_the_agent_cuts_around_what_is_in_use():
    """The instance in use stays where it is, and the change says where the new ones go."""
    node = agent_node(held=[0])
    plan = plan_for(
        snapshot(node), waiting("2g.10gb", 3), own=policy(pool(driver=Driver.AGENT))
    )
    (change,) = plan.changes
    (cut,) = change.gpus
    assert node.gpus[0].pinned.instances[0] in cut.placements_after.instances
    assert cut.placements_before == node.gpus[0].geometry
    assert cut.after["2g.10gb"] >= 2
    assert cut.placements_after.counts == cut.after
    # The free six slices are out of service for 10 + 30 + 30 seconds.
    assert change.price.cost == 6 * 70.0


def test_without_placements_the_agent_cuts_nothing():
    """Where instances are is not guessed."""
    node = replace(fleet_node("node-a"), driver=Driver.AGENT)
    assert plan_for(snapshot(node), waiting("3g.20gb")).changes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"holds": (Hold(Reason.HELD, "held by people", "node-a"),)},
        {"model": None},
        {"strategy": Strategy.SINGLE},
        {"target_supply": Counts({SMALL: 7})},
    ],
)
def test_a_node_that_may_not_change_only_supplies(changes):
    """Its free instances count, its GPUs stay."""
    fleet = snapshot(replace(fleet_node("node-a"), **changes))
    plan = plan_for(fleet, waiting("1g.5gb", 2), waiting("7g.40gb"))
    assert plan.changes == ()
    assert [note.pod.name for note in plan.unserved] == ["1x7g.40gb-000"]


def test_a_node_in_an_open_rollout_counts_with_its_target():
    """What it is about to offer is not made a second time elsewhere."""
    rolling = replace(fleet_node("node-a"), target_supply=Counts({LARGE: 1}))
    fleet = snapshot(rolling, fleet_node("node-b"))
    assert plan_for(fleet, waiting("7g.40gb", 1, TWO)).changes == ()
    assert len(plan_for(fleet, waiting("7g.40gb", 2, TWO)).changes) == 1


def test_a_gpu_without_mig_stays_whole():
    """It serves whole GPUs, and none is made or unmade."""
    fleet = snapshot(fleet_node("node-a", [None, SEVEN_SMALL]))
    whole = replace(waiting("7g.40gb", 2), bundle=Counts({GPU: 1}))
    plan = plan_for(fleet, whole, waiting("3g.20gb", 2, prefix="cut"))
    assert layouts(plan) == {"node-a": [None, {"3g.20gb": 2}]}
    (note,) = plan.unserved
    assert (note.pod.name, note.reason) == ("1x7g.40gb-001", Reason.NO_CAPACITY)
    assert "2 x nvidia.com/gpu are asked for, 1 can be had" in note.message


def test_pods_of_another_node_gain_nothing():
    """A change is worth something only where the pod may run."""
    fleet = snapshot(fleet_node("node-a"), fleet_node("node-b", [SEVEN_SMALL], [{"1g.5gb": 1}]))
    plan = plan_for(fleet, waiting("7g.40gb", 1, ["node-b"]))
    assert plan.changes == ()
    assert plan.unserved[0].reason is Reason.GPUS_BUSY


def test_a_bundle_is_served_on_one_node():
    """Two 3g on one node are made by re-cutting one GPU, not one of each node."""
    fleet = snapshot(*(fleet_node(name, [SEVEN_SMALL]) for name in TWO))
    plan = plan_for(fleet, waiting({"3g.20gb": 2}, 1, TWO))
    assert layouts(plan) == {"node-a": [{"3g.20gb": 2}]}
    assert len(plan.changes[0].serves) == 1


def test_alike_nodes_serve_one_bundle_each():
    """Nodes of one kind are told apart where a pod needs one of them as a whole."""
    fleet = snapshot(*(fleet_node(f"node-{i}", [SEVEN_SMALL]) for i in range(4)))
    names = [node.name for node in fleet.nodes]
    plan = plan_for(fleet, waiting({"3g.20gb": 2}, 3, names))
    assert len(plan.changes) == 3
    assert [len(change.serves) for change in plan.changes] == [1, 1, 1]


def test_pods_that_keep_apart_get_a_node_each():
    """Two instances on one node serve only one of them."""
    fleet = snapshot(*(fleet_node(name, [SEVEN_SMALL]) for name in TWO))
    plan = plan_for(fleet, waiting("3g.20gb", 2, TWO, one_per_node=True))
    assert sorted(layouts(plan)) == ["node-a", "node-b"]


def test_a_gang_too_large_says_what_it_could_get():
    """Three GPUs do not start a gang of four, and are not cut for it."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL] * 3))
    plan = plan_for(fleet, waiting("7g.40gb", 4, gang="default/team", gang_min=4))
    assert plan.changes == ()
    assert {note.reason for note in plan.unserved} == {Reason.GANG_TOO_LARGE}
    assert "needs 4 pods at once, best 3" in plan.unserved[0].message


def test_members_of_a_gang_may_ask_for_different_things():
    """A launcher and its workers start together."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL] * 2))
    gang = {"gang": "default/team", "gang_min": 3}
    plan = plan_for(fleet, waiting("1g.5gb", 1, **gang), waiting("7g.40gb", 2, **gang))
    assert plan.changes == ()
    plan = plan_for(
        snapshot(fleet_node("node-a", [SEVEN_SMALL] * 3)),
        waiting("1g.5gb", 1, **gang),
        waiting("7g.40gb", 2, **gang),
    )
    assert plan.unserved == ()


def test_what_is_not_worth_it_says_so():
    """A tiny weight does not pay for a change, and the numbers are there."""
    fleet = snapshot(fleet_node("node-a"))
    plan = plan_for(fleet, waiting("2g.10gb", weight=0.01))
    (note,) = plan.unserved
    assert note.reason is Reason.NOT_WORTH_IT
    assert "worth 240 slice-seconds and the cheapest change must gain 2835" in note.message


def test_pods_that_nothing_can_serve_keep_their_reason():
    """What the demand found impossible is unserved in the plan."""
    note = PodNote(PodRef("default", "odd"), Reason.IMPOSSIBLE_PROFILE, "no such profile")
    plan = plan_for(snapshot(), impossible=(note,))
    assert plan.unserved == (note,)


def test_queued_work_shapes_free_space_but_costs_no_pod():
    """Work without pods is worth a fifth of a pod that waits."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    plan = plan_for(fleet, queued=Counts({LARGE: 1}))
    assert layouts(plan) == {"node-a": [{"7g.40gb": 1}]}
    assert plan.changes[0].price.hedge == pytest.approx(0.2 * 7 * 12000.0)
    assert plan.changes[0].price.waiting_avoided == 0.0
    assert plan_for(fleet, waiting("1g.5gb", 3), queued=Counts({LARGE: 1})).changes == ()


def test_history_shapes_what_nobody_asks_for_yet():
    """Free space is cut for what the past makes likely, home shares first."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    history = ValueHistory(
        service_s={LARGE: 12000.0},
        home={("pool", LARGE): 1},
        reach={("pool", LARGE): (0.5, 0.9)},
    )
    settings = PlannerSettings(history=history)
    plan = make_plan(fleet, Demand((waiting("7g.40gb"),)), policy(), NOW_S, settings)
    price = plan.changes[0].price
    # Twice the square root of the usual service time halves the weight.
    assert price.waiting_avoided == pytest.approx(3.5 * 12000.0)
    assert price.home == pytest.approx(0.1 * 3.5 * 12000.0)
    plan = make_plan(fleet, Demand(), policy(), NOW_S, settings)
    assert plan.changes[0].price.hedge == pytest.approx(0.5 * 3.5 * 12000.0)


def test_an_empty_fleet_has_an_empty_plan():
    """Pods without any node are unserved, and nothing fails."""
    plan = plan_for(replace(snapshot(), nodes=(), pools_total={}), waiting("1g.5gb"))
    assert plan.changes == ()
    assert plan.unserved[0].reason is Reason.NO_ELIGIBLE_NODE
    assert plan.optimality.stopped_by is StoppedBy.NOTHING_TO_DO


def test_a_failing_solver_keeps_the_geometry():
    """The plan is empty, says so, and no exception is raised."""
    settings = PlannerSettings(solver=lambda *_: Answer(Status.FAILURE))
    plan = make_plan(snapshot(), Demand((waiting("3g.20gb"),)), policy(), NOW_S, settings)
    assert plan.changes == ()
    assert plan.optimality.stopped_by is StoppedBy.FAILURE
    assert plan.notices == ("the solver failed; the present geometry is kept",)


def test_the_same_proposal_keeps_its_id():
    """The time at which it is made is not part of it; what it does is."""
    fleet, pods = snapshot(), Demand((waiting("3g.20gb"),))
    first = make_plan(fleet, pods, policy(), NOW_S)
    later = make_plan(replace(fleet, observed_at_s=NOW_S + 30), pods, policy(), NOW_S + 30)
    assert first.id == later.id
    assert first.id != make_plan(fleet, Demand(), policy(), NOW_S).id


def test_models_of_one_fleet_are_planned_together():
    """The same pod may run on either of two boards, each with its own layouts."""
    fleet = snapshot(
        fleet_node("node-a", [{"1g.10gb": 7}], key="a100-80gb", pool="a"),
        fleet_node("node-b", [{"1g.10gb": 7}], key="h100-80gb", pool="b"),
    )
    own = policy(pool("a"), pool("b"))
    plan = plan_for(fleet, waiting("7g.80gb", 2, TWO), own=own)
    assert sorted(layouts(plan)) == ["node-a", "node-b"]
    assert [(line.pool, line.pending) for line in plan.demand] == [("a", 1), ("b", 1)]


def test_only_allowed_profiles_are_made():
    """A pool of 1g and 3g cuts nothing else, also where it would fit."""
    fleet = snapshot(fleet_node("node-a", [{"7g.40gb": 1}]))
    own = policy(pool(profiles=("1g.5gb", "3g.20gb")))
    plan = plan_for(fleet, waiting("3g.20gb"), waiting("2g.10gb", 3), own=own)
    assert layouts(plan) == {"node-a": [{"3g.20gb": 1, "1g.5gb": 4}]} or layouts(plan) == {
        "node-a": [{"3g.20gb": 2}]
    }
    assert {note.pod.name for note in plan.unserved} == {f"1x2g.10gb-00{i}" for i in range(3)}


def test_a_variant_is_made_only_where_someone_asks():
    """Instances with media engines are cut for the pod that wants one."""
    fleet = snapshot(fleet_node("node-a", [{"7g.40gb": 1}]))
    plan = plan_for(fleet, waiting("1g.5gb+me"), waiting("1g.5gb", 6))
    assert layouts(plan) == {"node-a": [{"1g.5gb": 6, "1g.5gb+me": 1}]}
    assert plan.changes[0].resources["nvidia.com/mig-1g.5gb.me"] == 1


def test_a_change_serves_only_who_was_not_served_before():
    """Of two alike pods the first fits today; the change is for the second."""
    fleet = snapshot(fleet_node("node-a"), fleet_node("node-b", [{"7g.40gb": 1}]))
    (change,) = plan_for(fleet, waiting("7g.40gb", 2, TWO)).changes
    assert [pod.name for pod in change.serves] == ["1x7g.40gb-001"]
    assert change.price.gain == 7 * 12000.0


def test_who_brings_back_what_another_change_takes_gets_the_credit():
    """Node a takes a large instance away, node c makes one; in between pods shift.

    The pod of node a moves to node b, whose pod moves to node c.
    """
    held = (Hold(Reason.HELD, "held by people", "node-b"),)
    fleet = snapshot(
        fleet_node("node-a", [{"7g.40gb": 1}]),
        replace(fleet_node("node-b", [{"7g.40gb": 1}]), holds=held),
        fleet_node("node-c", [SEVEN_SMALL]),
    )
    plan = plan_for(
        fleet,
        waiting("7g.40gb", 1, ["node-a", "node-b"], prefix="first"),
        waiting("7g.40gb", 1, ["node-b", "node-c"], prefix="second"),
        waiting("1g.5gb", 7, ["node-a"], weight=10.0),
    )
    assert plan.unserved == ()
    gains = {change.node: change.price.gain for change in plan.changes}
    assert gains == {"node-a": 7 * 12000.0 * (10 - 1), "node-c": 7 * 12000.0}


@pytest.mark.parametrize("weight", [0.0, 1e-300, 1e6, 1e300])
def test_extreme_weights_are_planned_all_the_same(weight):
    """Light pods are served beside a pod of whatever weight."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL, SEVEN_SMALL]))
    own = policy(pool(floors={"2g.10gb": 1}))
    plan = plan_for(fleet, waiting("4g.20gb", weight=weight), waiting("3g.20gb"), own=own)
    assert plan.optimality.stopped_by is StoppedBy.OPTIMAL
    unserved = {note.pod.name for note in plan.unserved}
    assert "1x3g.20gb-000" not in unserved
    assert ("1x4g.20gb-000" in unserved) == (weight < 1.0)
