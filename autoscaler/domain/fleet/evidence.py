"""Evidence: one observation with its metrics, sorted by node for quick reading."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from autoscaler.domain.cluster.objects import (
    InstanceSample,
    MetricsView,
    Node,
    Observation,
    Pod,
)
from autoscaler.domain.cluster.placeholder import Placeholder, placeholder_of
from autoscaler.domain.fleet.memory import NO_MEMORY, Memory
from autoscaler.domain.fleet.nomination import Nominations, nominations_of
from autoscaler.domain.fleet.promise import Promises
from autoscaler.domain.fleet.visibility import metrics_gap
from autoscaler.domain.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of nodes at one moment.

    Parameters
    ----------
    nodes
        Each name once, in name order; labels that are away for a while restored.
    bound, ended
        Pods on each node that have not, or have, ended; the operator's left out. By
        node name.
    samples
        Activity by node name.
    memory
        What earlier cycles knew.
    drivers
        Drivers that publish ResourceSlices, by node name.
    placeholders
        Placeholders by the name of the node that they are for.
    gap
        Why metrics prove nothing; empty where they may.
    """

    policy: Policy
    observation: Observation
    now_s: float
    promises: Promises
    nominations: Nominations
    memory: Memory = NO_MEMORY
    nodes: tuple[Node, ...] = ()
    bound: Mapping[str, list[Pod]] = field(default_factory=dict)
    ended: Mapping[str, list[Pod]] = field(default_factory=dict)
    samples: Mapping[str, list[InstanceSample]] = field(default_factory=dict)
    drivers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    placeholders: Mapping[str, list[Placeholder]] = field(default_factory=dict)
    gap: str = ""

    @property
    def managed(self) -> frozenset[str] | None:
        """Nodes with a ready MIG manager; ``None`` when that cannot be told."""
        known = self.observation.manager_nodes
        # A file without any pod of the operator says nothing about the operator.
        return None if self.observation.offline and not known else known


def gather(
    observation: Observation,
    policy: Policy,
    *,
    nodes: Iterable[Node],
    metrics: MetricsView | None = None,
    now_s: float,
) -> Evidence:
    """Return an observation sorted by node.

    Parameters
    ----------
    nodes
        The nodes to judge, each name once.
    metrics
        ``None`` when there are none: then nobody's seat is known from them.
    """
    bound: dict[str, list[Pod]] = {}
    ended: dict[str, list[Pod]] = {}
    for pod in observation.pods:
        if pod.node is not None and pod.namespace != policy.mig_manager.namespace:
            (ended if pod.is_finished else bound).setdefault(pod.node, []).append(pod)
    ordered = tuple(sorted(nodes, key=lambda n: n.name))
    samples: dict[str, list[InstanceSample]] = {}
    ours = {pod.ref for pod in observation.placeholders}
    for sample in metrics.instances if metrics is not None else ():
        # A placeholder uses nothing, and leaves as soon as it is told.
        own = replace(sample, busy=False, pod=None) if sample.pod in ours else sample
        samples.setdefault(sample.node, []).append(own)
    placeholders: dict[str, list[Placeholder]] = {}
    for kept in map(placeholder_of, observation.placeholders):
        placeholders.setdefault(kept.node, []).append(kept)
    drivers: dict[str, set[str]] = {}
    for published in observation.claim_drivers:
        # Devices that are not one node's own may be any node's.
        for name in [published.node] if published.node else [node.name for node in ordered]:
            drivers.setdefault(name, set()).add(published.driver)
    by_name = {node.name: node for node in ordered}
    return Evidence(
        policy=policy,
        observation=observation,
        now_s=now_s,
        promises=Promises(observation, policy.mig_manager),
        nominations=nominations_of(by_name, observation.pods, bound, now_s),
        nodes=ordered,
        bound=bound,
        ended=ended,
        samples=samples,
        drivers={node: frozenset(names) for node, names in drivers.items()},
        placeholders=placeholders,
        gap=metrics_gap(metrics),
    )
