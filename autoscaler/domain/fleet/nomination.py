"""Nomination: pods for which the scheduler is already making room on a node.

Preemption has chosen victims that terminate with their grace. A change now would
evict more pods for a need that is being met, so the node stays as it is and what the
pod will get is counted as taken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.reasons import Hold, Reason

# Devices come free a little after the grace period: kubelet has to tell it.
MARGIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Nomination:
    """A pod that waits for a node it was promised.

    Parameters
    ----------
    pod, node
        The pod and the name of the node.
    request
        What it will take there.
    until_s
        Epoch seconds by which its victims must be gone.
    """

    pod: PodRef
    node: str
    request: Counts
    until_s: float


@dataclass(frozen=True, slots=True)
class Nominations:
    """All nominations that still hold, by node name."""

    by_node: Mapping[str, tuple[Nomination, ...]] = field(default_factory=dict)

    def pods(self) -> frozenset[PodRef]:
        """Return the nominated pods."""
        return frozenset(n.pod for found in self.by_node.values() for n in found)

    def requests(self, node: str) -> Counts:
        """Return all that nominated pods will take on a node."""
        return sum_of(nomination.request for nomination in self.by_node.get(node, ()))

    def hold(self, node: str) -> tuple[Hold, ...]:
        """Return the hold of a node that pods are nominated for."""
        return tuple(
            Hold(
                Reason.PREEMPTION,
                f"node {node}: preemption makes room for {nomination.pod} there",
                node,
            )
            for nomination in self.by_node.get(node, ())
        )


def nominations_of(
    nodes: Mapping[str, Node], pods: Iterable[Pod], bound: Mapping[str, list[Pod]], now_s: float
) -> Nominations:
    """Return the nominations that will be fulfilled.

    Parameters
    ----------
    nodes
        By name.
    pods
        All pods.
    bound
        Pods that are bound and have not ended, by node name.
    now_s
        A nomination whose victims should be gone, and that the node cannot fulfil, is
        a leftover: the pod counts as demand again.
    """
    found: dict[str, tuple[Nomination, ...]] = {}
    for pod in sorted(pods, key=lambda p: p.ref):
        node = nodes.get(pod.nominated_node) if pod.nominated_node else None
        if node is None or pod.node is not None or pod.is_finished or pod.deletion_s:
            continue
        nomination = _nominate(pod, node, bound.get(node.name, []), now_s)
        if nomination is not None:
            found[node.name] = (*found.get(node.name, ()), nomination)
    return Nominations(found)


def _nominate(pod: Pod, node: Node, bound: list[Pod], now_s: float) -> Nomination | None:
    request = effective_request(pod)
    if not request:
        return None
    victims = [p for p in bound if p.deletion_s is not None and effective_request(p)]
    until_s = max((p.deletion_s or 0.0) + MARGIN_S for p in victims) if victims else 0.0
    taken = sum_of(effective_request(other) for other in bound)
    # Victims that are gone leave room that only this pod may take.
    if now_s < until_s or node.allocatable.minus(taken).covers(request):
        return Nomination(pod.ref, node.name, request, until_s)
    return None
