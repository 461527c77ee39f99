"""GPUs in use that are emptied: by waiting, and by evictions."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Disruption, Driver
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from tests.builders import NOW_S, fleet_node, gpu, holder, placed, snapshot, waiting
from tests.fleets import policy, pool

NOT_EVICTED = PodNote(PodRef("default", "serve-1"), Reason.EVICTION_DISABLED, "off")
SMALL = resource_name("1g.5gb")
# Seconds that a node is closed for an idle GPU.
CLOSED_S = 270.0
HORIZON_S = 12000.0


def one_held(name="node-a", profile="1g.5gb", **changes):
    """Return a node whose only GPU has seven small instances, one of them held."""
    return fleet_node(name, [{"1g.5gb": 7}], [{profile: 1}], **changes)


def planned(fleet, *groups, holders, room=None, service_s=None, own=None):
    """Return the plan for pods that wait where some may leave."""
    demand = Demand(groups, holders=tuple(holders), room=room or {})
    values = ValueHistory(service_s={SMALL: service_s} if service_s else {})
    settings = PlannerSettings(history=values)
    return make_plan(fleet, demand, own or policy(), NOW_S, settings)


def staying(**changes):
    """Return a holder who may not be evicted."""
    return holder(refusal=NOT_EVICTED, **changes)


def test_without_knowledge_of_holders_a_gpu_in_use_is_left_alone():
    """What nobody knows to leave stays."""
    plan = planned(snapshot(one_held()), waiting("7g.40gb"), holders=())
    assert plan.changes == ()


def test_a_pod_that_is_about_to_be_gone_is_waited_for():
    """A known end is part of the estimated time, and nobody is evicted."""
    leaving = staying(gone_in_s=200.0, ends=True)
    (change,) = planned(snapshot(one_held()), waiting("7g.40gb"), holders=[leaving]).changes
    assert change.evictions == ()
    assert dict(change.layout[0]) == {"7g.40gb": 1}
    assert change.estimated_s == pytest.approx(CLOSED_S + 200.0)
    # Six free slices are out of service while the pod ends, then all seven.
    assert change.price.out_of_service == pytest.approx(6 * 200.0 + 7 * CLOSED_S)
    assert (change.price.work_lost, change.price.restarts) == (0.0, 0.0)


def test_a_job_with_a_short_mean_stay_is_waited_for_at_the_price_of_all_tries():
    """With half a chance, two tries are paid for one success."""
    leaving = staying(ends=True)
    plan = planned(snapshot(one_held()), waiting("7g.40gb"), holders=[leaving], service_s=600.0)
    (change,) = plan.changes
    # Waiting for a memoryless stay costs its mean in the end, deadline or not.
    expected = 6 * 600.0 + 7 * CLOSED_S
    assert change.price.out_of_service == pytest.approx(expected, rel=1e-3)


def test_a_job_that_will_hardly_end_in_time_is_not_waited_for():
    """Below the least chance a node would be closed in vain."""
    leaving = staying(ends=True)
    fleet = snapshot(one_held())
    slow = planned(fleet, waiting("7g.40gb"), holders=[leaving], service_s=3000.0)
    assert slow.changes == ()
    off = policy(disruption=Disruption.model_validate({"draining": {"enabled": False}}))
    never = planned(fleet, waiting("7g.40gb"), holders=[leaving], service_s=600.0, own=off)
    assert never.changes == ()


def test_what_comes_free_anyway_is_no_gain():
    """A GPU is not emptied for an instance that its own holder is about to leave."""
    fleet = snapshot(fleet_node("node-a", [{"3g.20gb": 2}], [{"3g.20gb": 2}]))
    leaving = [
        staying(name=f"train-{i}", profile="3g.20gb", gone_in_s=60.0, ends=True)
        for i in range(2)
    ]
    plan = planned(fleet, waiting("3g.20gb"), holders=leaving)
    assert plan.changes == ()


def test_an_eviction_pays_when_much_more_is_served():
    """The plan names whom it evicts and for whom, and the terms of the price."""
    leaving = holder(lost_work_s=100.0, grace_s=30.0)
    fleet = snapshot(one_held(), one_held("node-b"))
    plan = planned(fleet, waiting("7g.40gb", prefix="big"), holders=[leaving])
    (change,) = plan.changes
    (eviction,) = change.evictions
    assert eviction.pod == leaving.pod
    assert "for default/big-000" in eviction.reason
    assert "1m40s of work" in eviction.reason
    # It works again elsewhere after its grace period and a minute; its place there was
    # free, so that nobody waits for it.
    assert (change.price.work_lost, change.price.restarts) == (100.0, 90.0)
    assert change.price.waiting_avoided == pytest.approx(7 * HORIZON_S)
    assert change.estimated_s == pytest.approx(CLOSED_S + 30.0)


def test_an_eviction_without_another_place_costs_the_wait():
    """The evicted pod waits instead: six slices more are served, not seven."""
    plan = planned(snapshot(one_held()), waiting("7g.40gb"), holders=[holder()])
    (change,) = plan.changes
    assert change.price.waiting_avoided == pytest.approx(6 * HORIZON_S)


def test_nobody_is_evicted_for_the_same():
    """A pod makes no room for another one like it."""
    fleet = snapshot(fleet_node("node-a", [{"7g.40gb": 1}], [{"7g.40gb": 1}]))
    own = holder(profile="7g.40gb")
    assert planned(fleet, waiting("7g.40gb"), holders=[own]).changes == ()


def test_much_work_is_not_thrown_away():
    """A pod that would lose more than is won stays."""
    fleet = snapshot(one_held(), one_held("node-b"))
    old = holder(lost_work_s=200000.0)
    assert planned(fleet, waiting("7g.40gb"), holders=[old]).changes == ()


def test_who_may_not_be_evicted_keeps_the_gpu():
    """One protected pod beside others is enough for MIG manager."""
    fleet = snapshot(fleet_node("node-a", [{"1g.5gb": 7}], [{"1g.5gb": 2}]))
    both = [holder(name="serve-0"), staying()]
    assert planned(fleet, waiting("7g.40gb"), holders=both).changes == ()


def test_one_is_evicted_while_another_ends():
    """Both must be gone; only one of them loses work."""
    fleet = snapshot(
        fleet_node("node-a", [{"1g.5gb": 7}], [{"1g.5gb": 2}]), fleet_node("node-b")
    )
    both = [holder(name="serve-0"), staying(gone_in_s=100.0, ends=True)]
    plan = planned(fleet, waiting("7g.40gb", nodes=("node-a",)), holders=both)
    (change,) = plan.changes
    assert [eviction.pod.name for eviction in change.evictions] == ["serve-0"]
    assert change.estimated_s == pytest.approx(CLOSED_S + 100.0)


def test_small_pods_move_together_so_that_a_whole_gpu_becomes_free():
    """Compaction: of two GPUs with one small pod each, one is emptied for a large job."""
    fleet = snapshot(one_held(), one_held("node-b"))
    pods = [holder("serve-a"), holder("serve-b", node="node-b", lost_work_s=900.0)]
    (change,) = planned(
        fleet, waiting("7g.40gb", nodes=("node-a", "node-b")), holders=pods
    ).changes
    assert change.node == "node-a"
    assert [eviction.pod.name for eviction in change.evictions] == ["serve-a"]
    # Without a large job nobody moves.
    assert planned(fleet, holders=pods).changes == ()
    assert (
        planned(fleet, waiting("1g.5gb", 12, ("node-a", "node-b")), holders=pods).changes == ()
    )


def test_a_budget_bounds_how_many_of_its_pods_a_plan_evicts():
    """Two large jobs wait, and one of the two small pods may go."""
    names = ("node-a", "node-b", "node-c")
    fleet = snapshot(*(one_held(name) for name in names[:2]), fleet_node("node-c"))
    pods = [
        holder(
            f"serve-{name}", node=name, budgets=("default/serve",), eligible=frozenset(names)
        )
        for name in names[:2]
    ]
    big = waiting("7g.40gb", 2, names[:2])
    held_back = planned(fleet, big, holders=pods, room={"default/serve": 1})
    assert [len(change.evictions) for change in held_back.changes] == [1]
    free = planned(fleet, big, holders=pods, room={"default/serve": 2})
    assert [len(change.evictions) for change in free.changes] == [1, 1]
    none = planned(fleet, big, holders=pods, room={"default/serve": 0})
    assert none.changes == ()


def agent_node(name, counts, held, pods):
    """Return a node of the agent whose report says who is where."""
    own = placed(counts)
    places = {p: [i for i in own.instances if i.profile == p] for p in counts}
    pinned = tuple(i for p, n in held.items() for i in places[p][:n])
    seats = tuple(zip(sorted(pinned), (PodRef("default", pod) for pod in pods), strict=True))
    cut = gpu(0, counts, held, geometry=own, pinned=Geometry(pinned), seats=seats)
    return fleet_node(name, [counts], [held], driver=Driver.AGENT, gpus=(cut,))


def test_the_agent_takes_the_place_of_those_only_who_are_in_the_way():
    """Of two small pods, only the one where a 3g must start leaves."""
    counts, held = {"1g.5gb": 7}, {"1g.5gb": 2}
    node = agent_node("node-a", counts, held, ["serve-0", "serve-1"])
    first, second = (GpuInstance(place, 1, "1g.5gb") for place in (0, 1))
    # Both sit in the first half, so a 4g needs both places and a 3g at 4 needs neither.
    pods = [
        holder("serve-0", places=Geometry((first,))),
        holder("serve-1", places=Geometry((second,))),
    ]
    own = policy(pool(driver=Driver.AGENT))
    fleet = snapshot(node)
    none = planned(fleet, waiting("3g.20gb"), holders=pods, own=own)
    assert [change.evictions for change in none.changes] == [()]
    both = planned(fleet, waiting("4g.20gb"), holders=pods, own=own)
    (change,) = both.changes
    assert [eviction.pod.name for eviction in change.evictions] == ["serve-0", "serve-1"]
    after = change.gpus[0].placements_after
    assert after is not None
    assert GpuInstance(0, 4, "4g.20gb") in after.instances


def test_the_agent_leaves_who_may_not_go_where_they_are():
    """A protected pod in the first half forbids a 4g, which starts there only."""
    counts, held = {"1g.5gb": 7}, {"1g.5gb": 1}
    node = agent_node("node-a", counts, held, ["serve-1"])
    place = Geometry((GpuInstance(0, 1, "1g.5gb"),))
    own = policy(pool(driver=Driver.AGENT))
    plan = planned(snapshot(node), waiting("4g.20gb"), holders=[staying(places=place)], own=own)
    assert plan.changes == ()


def test_alike_holders_make_alike_gpus():
    """GPUs whose holders have the same price are one kind, whatever the pods' names."""
    names = ("node-a", "node-b")
    pods = [holder(f"serve-{name}", node=name, eligible=frozenset(names)) for name in names]
    fleet = snapshot(*(one_held(name) for name in names))
    swapped = [replace(pods[0], node="node-b"), replace(pods[1], node="node-a")]
    for own in (pods, swapped):
        (change,) = planned(fleet, waiting("7g.40gb", nodes=names), holders=own).changes
        assert change.node == "node-a"
        assert change.evictions[0].pod == next(p.pod for p in own if p.node == "node-a")
    assert Counts({"1g.5gb": 1}) == pods[0].held


def test_a_floor_counts_instances_in_use_too():
    """A pod that leaves takes its instance with it, so a floor of seven forbids the cut."""
    own = policy(pool(floors={"1g.5gb": 7}))
    leaving = staying(gone_in_s=60.0, ends=True)
    fleet = snapshot(one_held())
    plan = planned(fleet, waiting("7g.40gb"), holders=[leaving], own=own)
    assert plan.changes == ()
    none = policy(pool(floors={"1g.5gb": 0}))
    assert planned(fleet, waiting("7g.40gb"), holders=[leaving], own=none).changes
