"""Events: what people should see on nodes and on owners of waiting pods.

The same thing is said once and again only after a while: a budget that blocks a drain
would otherwise say so every few seconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from autoscaler.control.rollouts import Progress
from autoscaler.domain.cluster.bundle import several_instances
from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.ports import ClusterEvent

# After this long the same event is sent again; the API server forgets them in an hour.
REPEAT_S = 900.0
POD_REPEAT_S = 3600.0
EVENTS_A_CYCLE = 60

# Events on pods or their owners.
OF_PODS = frozenset({"MigCapacityPlanned", "MigDemandUnserved", "MigSeveralInstances"})
# Blocks whose message stays the same from cycle to cycle.
STEADY = frozenset({Reason.OUTSIDE_WINDOW, Reason.FROZEN, Reason.PAUSED})

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Due:
    """Events to send now, and what was said when, afterwards."""

    events: tuple[ClusterEvent, ...]
    said: Mapping[Key, float]


def key_of(event: ClusterEvent) -> Key:
    """Return what makes an event the same as one before: object, reason and values."""
    about = event.uid or f"{event.kind}/{event.namespace}/{event.name}"
    return about, event.reason, event.message


def due(events: Iterable[ClusterEvent], said: Mapping[Key, float], now_s: float) -> Due:
    """Return the events that were not said lately; what is too old is forgotten."""
    kept = {key: time_s for key, time_s in said.items() if now_s - time_s < repeat_s(key)}
    fresh: dict[Key, ClusterEvent] = {}
    for event in events:
        if key_of(event) not in kept:
            fresh.setdefault(key_of(event), event)
    sent = dict(list(fresh.items())[:EVENTS_A_CYCLE])
    return Due(tuple(sent.values()), {**kept, **dict.fromkeys(sent, now_s)})


def repeat_s(key: Key) -> float:
    """Return after how long an event is repeated."""
    return POD_REPEAT_S if key[1] in OF_PODS else REPEAT_S


def node_events(progress: Iterable[Progress]) -> tuple[ClusterEvent, ...]:
    """Return what rollouts had to say about their nodes."""
    return tuple(
        ClusterEvent(
            kind="Node",
            namespace="",
            name=p.name,
            uid="" if p.node is None else p.node.uid,
            reason=notice.reason,
            message=notice.message,
            warning=notice.warning,
        )
        for p in progress
        for notice in p.notices
    )


def plan_events(
    plan: Plan, nodes: Mapping[str, Node], pods: Mapping[PodRef, Pod]
) -> tuple[ClusterEvent, ...]:
    """Return proposals on nodes, and what becomes of waiting pods on their owners."""
    found = [
        _proposal(change, nodes[change.node]) for change in plan.changes if change.node in nodes
    ]
    for change in plan.changes:
        served = (pods[ref] for ref in change.serves if ref in pods)
        found.extend(
            _on_owner(pod, "MigCapacityPlanned", planned_text(change)) for pod in served
        )
    for note in plan.unserved:
        if note.pod in pods:
            found.append(_on_owner(pods[note.pod], "MigDemandUnserved", unserved_text(note)))
    told = [ref for change in plan.changes for ref in change.serves]
    told += [note.pod for note in plan.unserved]
    found.extend(_advice(pods[ref] for ref in told if ref in pods))
    return tuple(found)


def _advice(pods: Iterable[Pod]) -> Iterator[ClusterEvent]:
    """Yield warnings on owners whose pods will get less than they think."""
    for pod in pods:
        text = several_instances(pod)
        if text:
            yield replace(_on_owner(pod, "MigSeveralInstances", text), warning=True)


def planned_text(change: NodeChange) -> str:
    """Say what is planned for a pod, and what still holds it up.

    Messages with running numbers would make every cycle's event a new one.
    """
    text = f"{change.node} is to be re-cut into {change.config_name} for it"
    if not change.blocked_by:
        return text
    block = change.blocked_by[0]
    why = block.message if block.reason in STEADY else block.reason.value
    return f"{text}; not yet: {why}"


def unserved_text(note: PodNote) -> str:
    """Say why a pod stays unserved."""
    return f"{note.reason}: {note.message}"


def _proposal(change: NodeChange, node: Node) -> ClusterEvent:
    cuts = "; ".join(f"GPU {g.index} {g.before} -> {g.after}" for g in change.gpus)
    blocks = ", ".join(sorted({block.reason.value for block in change.blocked_by}))
    state = f"blocked: {blocks}" if blocks else "may start"
    return ClusterEvent(
        kind="Node",
        namespace="",
        name=node.name,
        uid=node.uid,
        reason="MigChangeProposed",
        message=f"{cuts}; for {len(change.serves)} waiting pods; {state}",
    )


def _on_owner(pod: Pod, reason: str, message: str) -> ClusterEvent:
    """Return an event on the pod's owner, so that a hundred pods are one event."""
    owner = pod.owner
    return ClusterEvent(
        kind="Pod" if owner is None else owner.kind,
        namespace=pod.namespace,
        name=pod.name if owner is None else owner.name,
        uid=pod.uid if owner is None else owner.uid,
        reason=reason,
        message=message,
    )
