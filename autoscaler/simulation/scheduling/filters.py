"""Whether a pod fits on a node, and if not, why, in the scheduler's own words."""

from collections.abc import Callable, Iterable

from autoscaler.ports import RawObject
from autoscaler.simulation.scheduling.room import Room
from autoscaler.simulation.scheduling.shape import Shape

UNSCHEDULABLE = "node(s) were unschedulable"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
TOO_MANY = "Too many pods"
NODE_TAINT = "node.kubernetes.io/unschedulable"

# Another filter, e.g. one that keeps free instances for a change that is coming.
# Returns a reason against the node, empty when there is none.
ExtraFilter = Callable[[Shape, Room], str]


def reasons_against(
    shape: Shape, room: Room, uid: str = "", extra: Iterable[ExtraFilter] = ()
) -> tuple[str, ...]:
    """Return why a pod does not fit on a node; the first filter that fails counts."""
    if reason := hard_reason(shape, room):
        return (reason,)
    if lacking := _lacking(shape, room, uid):
        return lacking
    if _is_repelled(shape, room):
        return (ANTI_AFFINITY,)
    return tuple(filter(None, (check(shape, room) for check in extra)))


def hard_reason(shape: Shape, room: Room) -> str:
    """Return a reason that removing pods would not change; empty when there is none."""
    if room.unschedulable and not _tolerates(
        shape, {"key": NODE_TAINT, "effect": "NoSchedule"}
    ):
        return UNSCHEDULABLE
    for taint in room.taints:
        is_hard = taint["effect"] in {"NoSchedule", "NoExecute"}
        if is_hard and taint["key"] != NODE_TAINT and not _tolerates(shape, taint):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    return "" if _is_selected(shape, room) else SELECTOR


def lacking_resource(reason: str) -> str:
    """Return what must be given back to end a reason; empty where no pod's end does."""
    if reason == TOO_MANY:
        return "pods"
    if reason == ANTI_AFFINITY:
        return ANTI_AFFINITY
    head, _, resource = reason.partition(" ")
    return resource if head == "Insufficient" else ""


def _tolerates(shape: Shape, taint: RawObject) -> bool:
    for toleration in shape.tolerations:
        if toleration.get("effect") not in {None, "", taint["effect"]}:
            continue
        exists = toleration.get("operator", "Equal") == "Exists"
        if not toleration.get("key"):
            if exists:
                return True
            continue
        if toleration["key"] != taint["key"]:
            continue
        if exists or toleration.get("value", "") == taint.get("value", ""):
            return True
    return False


def _is_selected(shape: Shape, room: Room) -> bool:
    labels = room.labels
    if any(labels.get(key) != value for key, value in shape.node_selector.items()):
        return False
    return not shape.terms or any(_term_matches(term, room) for term in shape.terms)


def _term_matches(term: RawObject, room: Room) -> bool:
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not expressions and not fields:
        return False
    names = {"metadata.name": room.name}
    return all(_expression_matches(e, room.labels) for e in expressions) and all(
        _expression_matches(e, names) for e in fields
    )


def _expression_matches(expression: RawObject, labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    present = labels.get(key)
    match expression["operator"]:
        case "In":
            return present in values
        case "NotIn":
            return present not in values
        case "Exists":
            return present is not None
        case "DoesNotExist":
            return present is None
        case "Gt" | "Lt" as operator:
            return _compares(present, operator, values)
    return False


def _compares(present: str | None, operator: str, values: list[str]) -> bool:
    try:
        left, right = int(present or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right


def _lacking(shape: Shape, room: Room, uid: str) -> tuple[str, ...]:
    kept = room.reserved(shape.priority, uid) if room.nominated else []
    needs, has = shape.needs, room.allocatable
    lacking = []
    if len(room.pods) + len(kept) + 1 > has.pods:
        lacking.append(TOO_MANY)
    cpu_milli = room.cpu_milli + sum(k.cpu_milli for k in kept)
    if needs.cpu_milli and needs.cpu_milli + cpu_milli > has.cpu_milli:
        lacking.append("Insufficient cpu")
    memory_bytes = room.memory_bytes + sum(k.memory_bytes for k in kept)
    if needs.memory_bytes and needs.memory_bytes + memory_bytes > has.memory_bytes:
        lacking.append("Insufficient memory")
    for resource, number in needs.devices:
        taken = room.devices.get(resource, 0)
        taken += sum(dict(k.devices).get(resource, 0) for k in kept)
        if number + taken > has.devices.get(resource, 0):
            lacking.append(f"Insufficient {resource}")
    return tuple(lacking)


def _is_repelled(shape: Shape, room: Room) -> bool:
    """Check anti-affinity both ways: of this pod, and of those that are there."""
    if not shape.anti_affinity and not room.num_repelling:
        return False
    for other in room.pods.values():
        if any(_repels(term.namespaces, term.selects, other) for term in shape.anti_affinity):
            return True
        if any(_repels(term.namespaces, term.selects, shape) for term in other.anti_affinity):
            return True
    return False


def _repels(
    namespaces: frozenset[str], selects: Callable[[dict[str, str]], bool], other: Shape
) -> bool:
    return other.namespace in namespaces and selects(other.labels)
