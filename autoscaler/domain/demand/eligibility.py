"""Eligibility: which nodes may take a pod, whatever they offer at the moment.

It follows the scheduler's filters that do not depend on other pods: node selector,
required affinity, taints, and CPU and memory against the size of the node, less what
pods without GPUs take. What only our own rollout did to a node is looked through,
because it is undone at its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.bundle import effective_compute
from autoscaler.domain.cluster.objects import Node, Pod, SelectorTerm, Taint, Toleration
from autoscaler.domain.cluster.selector import any_term_matches
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.rollout import State

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
# Taints that come and go with a change: a stopped kubelet is part of some of them.
PASSING = frozenset(
    {UNSCHEDULABLE.key, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)
FORBIDDING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class Needs:
    """All of a pod that decides where it may run."""

    selector: tuple[tuple[str, str], ...]
    affinity: tuple[SelectorTerm, ...]
    tolerations: tuple[Toleration, ...]
    cpu_milli: int
    memory_bytes: int


def needs_of(pod: Pod) -> Needs:
    """Return what decides where a pod may run; pods alike share one value."""
    cpu_milli, memory_bytes = effective_compute(pod)
    return Needs(
        selector=tuple(sorted(pod.node_selector.items())),
        affinity=pod.affinity,
        tolerations=pod.tolerations,
        cpu_milli=cpu_milli,
        memory_bytes=memory_bytes,
    )


class Eligibility:
    """The nodes of one moment, indexed by label.

    Parameters
    ----------
    nodes
        Nodes that pods may be bound to now or after an open rollout.
    taken
        CPU and memory on each node that stay taken whatever becomes of its GPUs.
    """

    def __init__(
        self, nodes: Iterable[FleetNode], taken: Mapping[str, tuple[int, int]] | None = None
    ) -> None:
        self._taken = taken or {}
        self._nodes = {node.name: node.node for node in nodes}
        self._by_label: dict[tuple[str, str], set[str]] = {}
        for name, node in self._nodes.items():
            for label in node.labels.items():
                self._by_label.setdefault(label, set()).add(name)
        self._taints = {node.name: standing_taints(node) for node in nodes}
        self._tolerated: dict[tuple[tuple[Taint, ...], tuple[Toleration, ...]], bool] = {}
        self._found: dict[Needs, frozenset[str]] = {}

    def nodes_for(self, needs: Needs) -> frozenset[str]:
        """Return the names of the nodes that may take such a pod."""
        if needs not in self._found:
            self._found[needs] = frozenset(self._search(needs))
        return self._found[needs]

    def admits(self, needs: Needs, name: str, labels: Mapping[str, str]) -> bool:
        """Say whether a node would take such a pod if it carried other labels."""
        node = replace(self._nodes[name], labels=labels)
        return not self._objection(needs, node, name)

    def explain(self, needs: Needs) -> str:
        """Return how many nodes each filter turns down, for people."""
        turned_down: dict[str, int] = {}
        for name, node in sorted(self._nodes.items()):
            why = self._objection(needs, node, name)
            turned_down[why] = turned_down.get(why, 0) + 1
        turned_down.pop("", None)
        parts = [f"{number} {why}" for why, number in sorted(turned_down.items())]
        return f"of {len(self._nodes)} GPU nodes " + (", ".join(parts) or "none is left")

    def _search(self, needs: Needs) -> Iterable[str]:
        names: Iterable[str] = self._nodes
        if needs.selector:
            sets = [self._by_label.get(label, set()) for label in needs.selector]
            names = set.intersection(*sets)
        return (n for n in names if not self._objection(needs, self._nodes[n], n))

    def _objection(self, needs: Needs, node: Node, name: str) -> str:
        if any(node.labels.get(key) != value for key, value in needs.selector):
            return "without the labels of its node selector"
        if needs.affinity and not any_term_matches(needs.affinity, node.labels, name):
            return "outside its node affinity"
        if not self._tolerates(self._taints[name], needs.tolerations):
            others = tuple(t for t in self._taints[name] if t.key != UNSCHEDULABLE.key)
            is_only_closed = self._tolerates(others, needs.tolerations)
            return "cordoned" if is_only_closed else "with a taint it does not tolerate"
        return self._shortage(needs, node)

    def _shortage(self, needs: Needs, node: Node) -> str:
        cpu_milli, memory_bytes = self._taken.get(node.name, (0, 0))
        for asked, there, taken, what in (
            (needs.cpu_milli, node.cpu_milli, cpu_milli, "with too few CPUs"),
            (needs.memory_bytes, node.memory_bytes, memory_bytes, "with too little memory"),
        ):
            if there is not None and asked > there:
                return what
            if there is not None and asked and asked > there - taken:
                return f"{what} beside pods without GPUs"
        return ""

    def _tolerates(
        self, taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
    ) -> bool:
        if not taints:
            return True
        key = (taints, tolerations)
        if key not in self._tolerated:
            self._tolerated[key] = all(
                any(tolerates(toleration, taint) for toleration in tolerations)
                for taint in taints
            )
        return self._tolerated[key]


def standing_taints(node: FleetNode) -> tuple[Taint, ...]:
    """Return the taints that keep pods away and stay when our rollout is over.

    Parameters
    ----------
    node
        A node that someone else cordoned keeps the taint of that, stated or not.
    """
    taints = [t for t in node.node.taints if t.effect in FORBIDDING]
    if is_closed_by_us(node):
        return tuple(t for t in taints if t.key not in PASSING)
    if node.node.unschedulable and all(t.key != UNSCHEDULABLE.key for t in taints):
        taints.append(UNSCHEDULABLE)
    return tuple(taints)


def is_closed_by_us(node: FleetNode) -> bool:
    """Say whether our open rollout closed the node and will open it again."""
    journal = node.journal
    return node.has_waited or (
        journal is not None
        and journal.state is not State.QUARANTINED
        and not journal.was_unschedulable
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether a toleration covers a taint.

    References
    ----------
    Kubernetes, "Taints and Tolerations": no effect matches all effects; ``Exists``
    without a key matches every taint.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in {"", taint.key}
    return toleration.key == taint.key and toleration.value == taint.value


def by_name(nodes: Iterable[FleetNode]) -> Mapping[str, FleetNode]:
    """Return nodes by name."""
    return {node.name: node for node in nodes}
