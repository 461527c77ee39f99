"""Hashes that tell whether anything that matters has changed."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.demand.fingerprint import digest, observed_hash
from autoscaler.domain.reasons import Hold, Reason
from tests.builders import fleet_node, gpu, node, pod, snapshot

TWO = ({"1g.5gb": 7}, {"3g.20gb": 2})


def test_what_a_change_rests_on_is_in_the_hash():
    """Resources, configuration, and the instances and holders of its GPUs."""
    own = fleet_node(layout=TWO)
    before = observed_hash(own, [0])
    assert before == observed_hash(fleet_node(layout=TWO), (0,))
    relabelled = node(layout=TWO, labels={"nvidia.com/mig.config": "other"})
    advertised = node(layout=TWO, allocatable=Counts({"nvidia.com/mig-1g.5gb": 6}))
    held = fleet_node(layout=TWO, held=[{"1g.5gb": 1}])
    for changed in (replace(own, node=relabelled), replace(own, node=advertised), held):
        assert observed_hash(changed, [0]) != before


def test_other_gpus_and_other_labels_are_not_in_the_hash():
    """A pod that comes to another GPU does not spoil the plan."""
    before = observed_hash(fleet_node(layout=TWO), [0])
    other = fleet_node(layout=TWO, held=[{}, {"3g.20gb": 1}])
    assert observed_hash(other, [0]) == before
    labelled = replace(other, node=node(layout=TWO, labels={"team": "x"}))
    assert observed_hash(labelled, [0]) == before
    assert observed_hash(other, [1]) != observed_hash(fleet_node(layout=TWO), [1])


def waiting(*names):
    """Return the demand of these pods."""
    pods = tuple(PodRef("default", name, f"uid-{name}") for name in names)
    bundle = Counts({"nvidia.com/mig-1g.5gb": 1})
    return Demand(groups=(DemandGroup(bundle, frozenset({"node-a"}), pods=pods),))


def test_the_digest_changes_with_fleet_demand_and_policy():
    """Each input of a decision is in it."""
    fleet, demand = snapshot(), waiting("p")
    before = digest(fleet, demand, "policy-1")
    held = snapshot(fleet_node(held=[{"1g.5gb": 1}]))
    on_hold = snapshot(fleet_node(holds=(Hold(Reason.HELD, "held", "node-a"),)))
    assert digest(fleet, demand, "policy-1") == before
    assert digest(fleet, demand, "policy-2") != before
    assert digest(fleet, waiting("p", "q"), "policy-1") != before
    assert digest(held, demand, "policy-1") != before
    assert digest(on_hold, demand, "policy-1") != before
    again = replace(fleet_node(), node=node(uid="other"))
    assert digest(snapshot(again), demand, "policy-1") != before


def test_time_and_messages_are_not_in_the_digest():
    """A cycle in which only they differ has nothing new."""
    first = snapshot(fleet_node(holds=(Hold(Reason.WARMING_UP, "30 s left", "node-a"),)))
    later = snapshot(fleet_node(holds=(Hold(Reason.WARMING_UP, "10 s left", "node-a"),)))
    later = replace(later, observed_at_s=later.observed_at_s + 20.0)
    assert digest(first, Demand()) == digest(later, Demand())


def test_a_pod_made_anew_under_its_name_is_another():
    """The uid tells them apart."""
    one = fleet_node(holders=(pod("p", node="node-a"),), gpus=(gpu(),))
    other = fleet_node(holders=(pod("p", node="node-a", uid="new"),), gpus=(gpu(),))
    assert digest(snapshot(one), Demand()) != digest(snapshot(other), Demand())
