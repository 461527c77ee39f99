"""What is remembered of nodes while their labels are away."""

from dataclasses import replace

from autoscaler.domain.fleet.memory import FAILURE_MEMORY_S, Memory, remember
from autoscaler.domain.reasons import Hold, Reason
from tests.builders import NOW_S, fleet_node, node, snapshot

GONE = {"nvidia.com/mig.config": "all-1g.5gb", "nvidia.com/mig.config.state": "pending"}


def without_features(own):
    """Return a node during a change: feature discovery is stopped."""
    return replace(own, labels=GONE)


def test_labels_of_feature_discovery_come_back_for_the_same_uid():
    """What depends on the layout does not: it would be of the old one."""
    own = node(labels={"nvidia.com/mig-1g.5gb.count": "7"})
    memory = remember(snapshot(fleet_node(node=own)), Memory())
    labels = memory.with_labels(without_features(own)).labels
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB"
    assert labels["nvidia.com/gpu.count"] == "1"
    assert labels["nvidia.com/mig.config.state"] == "pending"
    assert "nvidia.com/mig-1g.5gb.count" not in labels


def test_a_node_with_another_uid_is_not_known():
    """It may be other hardware under an old name."""
    memory = remember(snapshot(), Memory())
    other = replace(without_features(node()), uid="other")
    assert memory.with_labels(other) == other


def test_a_node_that_shows_its_product_is_believed():
    """Memory never overrides what is there."""
    memory = remember(snapshot(), Memory())
    own = node(labels={"nvidia.com/gpu.product": "NVIDIA-A30"})
    assert memory.with_labels(own) == own


def test_memory_outlasts_cycles_without_labels_and_forgets_deleted_nodes():
    """A long change is many cycles."""
    memory = remember(snapshot(), Memory())
    unknown = fleet_node(node=without_features(node()), model=None)
    assert remember(snapshot(unknown), memory).nodes == memory.nodes
    assert remember(snapshot(fleet_node("node-b")), memory).nodes.keys() == {"uid-node-b"}


def test_failures_last_for_a_while_after_their_pods_are_gone():
    """And no longer, although the hold itself is seen in between."""
    hold = Hold(Reason.START_FAILURES, "two pods cannot start", "node-a")
    failing = snapshot(fleet_node(holds=(hold,)))
    memory = remember(failing, Memory())
    later_s = NOW_S + FAILURE_MEMORY_S - 1.0
    assert memory.lasting_holds(node(), later_s) == (hold,)
    again = remember(replace(failing, observed_at_s=later_s), memory)
    assert again.lasting_holds(node(), later_s + 2.0) == ()


def test_a_failure_seen_after_its_memory_ended_starts_anew():
    """It is not kept up by memory, so it is fresh."""
    hold = Hold(Reason.START_FAILURES, "two pods cannot start", "node-a")
    failing = snapshot(fleet_node(holds=(hold,)))
    later_s = NOW_S + FAILURE_MEMORY_S + 1.0
    again = remember(replace(failing, observed_at_s=later_s), remember(failing, Memory()))
    assert again.lasting_holds(node(), later_s + 1.0) == (hold,)
