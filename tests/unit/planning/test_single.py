"""Plans for nodes of strategy single: one profile a node, all its devices alike."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Reason
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, fleet_node, snapshot
from tests.fleets import policy, pool

SMALL, MEDIUM, WHOLE = {"1g.5gb": 7}, {"3g.20gb": 2}, {"7g.40gb": 1}
TWO = ("node-a", "node-b")


def single_node(name="node-a", counts=SMALL, number=2, held=0, **changes):
    """Return a node of two GPUs cut alike, of whose devices some are held."""
    (profile,) = counts
    own = [{profile: held}] if held else []
    return fleet_node(name, [counts] * number, own, strategy=Strategy.SINGLE, **changes)


def asking(number, unit="", nodes=TWO, each=1, prefix="pod"):
    """Return pods that ask for devices, of any profile or of one."""
    pods = tuple(PodRef("default", f"{prefix}-{i:02d}") for i in range(number))
    return DemandGroup(Counts({GPU: each}), frozenset(nodes), pods=pods, unit=unit)


def planned(*nodes, groups, **changes):
    """Return the plan for a pool of strategy single."""
    own = policy(pool(strategy=Strategy.SINGLE, **changes))
    return make_plan(snapshot(*nodes), Demand(groups), own, NOW_S)


def layouts(plan):
    """Return the configuration and the resources of each changed node."""
    return {c.node: (c.config_name, dict(c.resources)) for c in plan.changes}


def test_a_node_gets_the_profile_that_pods_select():
    """All its GPUs change alike, under the standard name of a uniform layout."""
    plan = planned(single_node(), groups=(asking(3, "3g.20gb", ("node-a",)),))
    assert layouts(plan) == {"node-a": ("all-3g.20gb", {GPU: 4})}
    (change,) = plan.changes
    assert [dict(counts) for counts in change.layout] == [MEDIUM, MEDIUM]
    assert len(change.serves) == 3
    # Three slices each, and all fourteen of the node while it is closed.
    assert change.price.gain == 3 * 3 * 12000.0
    assert change.price.cost == 14 * 270.0


def test_one_node_changes_and_the_other_keeps_its_pods():
    """Seven small pods need what one node has; the other becomes the larger kind."""
    nodes = (single_node("node-a"), single_node("node-b"))
    groups = (asking(7, "1g.5gb", prefix="small"), asking(4, "3g.20gb", prefix="medium"))
    plan = planned(*nodes, groups=groups)
    assert layouts(plan) == {"node-a": ("all-3g.20gb", {GPU: 4})}


def test_pods_that_take_any_device_are_served_by_small_ones():
    """Five pods wait and there are two devices: small ones are as good as any."""
    plan = planned(single_node(counts=WHOLE), groups=(asking(5, nodes=("node-a",)),))
    ((config, resources),) = layouts(plan).values()
    assert resources[GPU] >= 5
    assert config in {"all-1g.5gb", "all-2g.10gb"}
    assert len(plan.changes[0].serves) == 3


def test_a_device_serves_one_pod_whichever_name_it_asked_by():
    """Two devices of the right kind are there: one pod that selects, one that does not."""
    groups = (asking(1, "7g.40gb", ("node-a",)), asking(1, nodes=("node-a",), prefix="any"))
    assert planned(single_node(counts=WHOLE), groups=groups).changes == ()


def test_a_node_with_a_pod_on_it_stays_as_it_is():
    """Its plugin would refuse two kinds, so nothing changes before all is free."""
    plan = planned(single_node(held=1), groups=(asking(1, "3g.20gb", ("node-a",)),))
    assert plan.changes == ()
    (note,) = plan.unserved
    assert note.reason is Reason.GPUS_BUSY


def test_whole_gpus_with_mig_off_stay_whole():
    """MIG mode is for people to change, also where the strategy is single."""
    off = fleet_node("node-a", [None, None], strategy=Strategy.SINGLE)
    plan = planned(off, groups=(asking(3, "3g.20gb", ("node-a",)),))
    assert plan.changes == ()


def test_several_devices_for_a_pod_are_on_one_node():
    """A pod that wants three of four devices cannot have two here and one there."""
    nodes = (single_node("node-a", MEDIUM), single_node("node-b", MEDIUM, held=2))
    groups = (asking(2, "3g.20gb", each=3),)
    plan = planned(*nodes, groups=groups)
    assert plan.changes == ()
    assert [note.pod.name for note in plan.unserved] == ["pod-01"]


def test_floors_and_reserves_hold_for_whole_nodes():
    """A floor of one profile changes a node; a reserve makes a node one of whole GPUs."""
    nodes = (single_node("node-a"), single_node("node-b"))
    floored = planned(*nodes, groups=(), floors={"3g.20gb": 2})
    assert layouts(floored) == {"node-a": ("all-3g.20gb", {GPU: 4})}
    reserved = planned(*nodes, groups=(), reserve={"full_gpu_nodes": 1})
    assert layouts(reserved) == {"node-a": ("all-7g.40gb", {GPU: 2})}


def test_an_open_rollout_counts_as_what_it_is_about_to_offer():
    """Nothing more changes for pods that the coming devices will serve."""
    coming = single_node("node-a")
    moving = replace(coming, target_supply=Counts({GPU: 4}))
    plan = planned(moving, groups=(asking(4, nodes=("node-a",)),))
    assert plan.changes == ()
    assert plan.unserved == ()
