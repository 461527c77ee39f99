"""What is remembered from one cycle to the next, only to read labels that went away.

While MIG manager works, feature discovery is stopped and its labels disappear, and
failed pods may be collected before the trouble is over. Everything here is keyed by
the uid of the node: a node that comes back under its old name is another node.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autoscaler.domain.cluster.marks import DEPLOY_PREFIX
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.reasons import Hold, Reason

PRODUCT = "nvidia.com/gpu.product"
GPU_COUNT = "nvidia.com/gpu.count"
GPU_MEMORY = "nvidia.com/gpu.memory"
STRATEGY = "nvidia.com/mig.strategy"
CAPABLE = "nvidia.com/mig.capable"
# Pods that failed on a node keep it out of plans this long after they were seen.
FAILURE_MEMORY_S = 600.0
LASTING = frozenset({Reason.ADMISSION_FAILURES, Reason.START_FAILURES})


@dataclass(frozen=True, slots=True)
class KnownNode:
    """What is known of a node.

    Parameters
    ----------
    model
        Key of its GPU model.
    labels
        Labels of feature discovery that do not depend on the layout.
    """

    model: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A hold for failed pods and when they were last seen (epoch seconds)."""

    hold: Hold
    seen_at_s: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier cycles knew, by uid of the node."""

    nodes: Mapping[str, KnownNode] = field(default_factory=dict)
    failures: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict)

    def with_labels(self, node: Node) -> Node:
        """Return the node with labels of feature discovery that went missing.

        Parameters
        ----------
        node
            Unchanged while it carries a product label, or when it is not known.
        """
        known = self.nodes.get(node.uid) if node.uid else None
        if known is None or PRODUCT in node.labels:
            return node
        return replace(node, labels={**known.labels, **node.labels})

    def lasting_holds(self, node: Node, now_s: float) -> tuple[Hold, ...]:
        """Return the holds for failures that were seen not long ago."""
        return tuple(
            failure.hold
            for failure in self.failures.get(node.uid, ())
            if node.uid and now_s - failure.seen_at_s < FAILURE_MEMORY_S
        )


NO_MEMORY = Memory()


def remember(snapshot: Snapshot, memory: Memory) -> Memory:
    """Return the memory after a snapshot; nodes that are gone are forgotten.

    Parameters
    ----------
    snapshot
        Complete: a node that is not in it does not exist any more.
    memory
        What was remembered before.
    """
    nodes: dict[str, KnownNode] = {}
    failures: dict[str, tuple[Failure, ...]] = {}
    for fleet_node in (*snapshot.nodes, *snapshot.outsiders):
        node = fleet_node.node
        if not node.uid:
            continue
        if fleet_node.model is not None and PRODUCT in node.labels:
            labels = {k: v for k, v in node.labels.items() if is_lasting(k)}
            nodes[node.uid] = KnownNode(fleet_node.model.key, labels)
        elif node.uid in memory.nodes:
            nodes[node.uid] = memory.nodes[node.uid]
        found = _failures(fleet_node.holds, snapshot.observed_at_s, memory, node.uid)
        if found:
            failures[node.uid] = found
    return Memory(nodes=nodes, failures=failures)


def is_lasting(label: str) -> bool:
    """Say whether a label is feature discovery's and the same under every layout."""
    if label in {STRATEGY, CAPABLE}:
        return True
    is_feature = label.startswith(("nvidia.com/gpu.", "nvidia.com/cuda."))
    return is_feature and not label.startswith((DEPLOY_PREFIX, "nvidia.com/gpu.present"))


def _failures(
    holds: tuple[Hold, ...], now_s: float, memory: Memory, uid: str
) -> tuple[Failure, ...]:
    # A hold that only memory keeps up must not renew itself; one that outlives its
    # memory was seen afresh.
    kept = {
        failure.hold: failure
        for failure in memory.failures.get(uid, ())
        if now_s - failure.seen_at_s < FAILURE_MEMORY_S
    }
    return tuple(
        kept.get(hold, Failure(hold, now_s)) for hold in holds if hold.reason in LASTING
    )
