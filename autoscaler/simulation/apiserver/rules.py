"""What is peculiar to each kind when an object is created or updated."""

import re
from collections.abc import Callable, Mapping

from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    Kind,
    RawObject,
)
from autoscaler.simulation.apiserver.pods import (
    pod_causes,
    pod_update_causes,
    with_pod_defaults,
)
from autoscaler.simulation.apiserver.quantities import as_texts
from autoscaler.simulation.apiserver.resources import DEFINITIONS, Resource
from autoscaler.simulation.apiserver.status import Cause
from autoscaler.simulation.apiserver.validation import (
    duplicate,
    key_causes,
    quantity_causes,
    required,
    wrong,
)

_MAX_DATA_BYTES = 1024 * 1024
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_AMOUNTS = ("capacity", "allocatable")
# Fields that are left out when they say nothing: setting them so is then no change.
_SILENT: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    NODES: (("spec", "unschedulable"), ("spec", "taints")),
}

Default = Callable[[RawObject], RawObject]
Check = Callable[[RawObject], list[Cause]]


def _with_node_defaults(node: RawObject) -> RawObject:
    # The status in the body of a new node is kept, unlike that of other kinds.
    status = with_text_amounts(node.get("status") or {})
    if status.get("capacity") and "allocatable" not in status:
        status = {**status, "allocatable": status["capacity"]}
    return {**node, "spec": node.get("spec") or {}, "status": status}


def with_text_amounts(status: RawObject) -> RawObject:
    """Return a node's status with its quantities as the API gives them out."""
    parts = {part: as_texts(status[part]) for part in _AMOUNTS if status.get(part)}
    return {**status, **parts}


def tidied(resource: Resource, item: RawObject) -> RawObject:
    """Return an object without fields that only repeat their absence."""
    for part, field in _SILENT.get(resource.stored, ()):
        inside = item.get(part) or {}
        if field in inside and not inside[field]:
            rest = {key: value for key, value in inside.items() if key != field}
            item = {**item, part: rest}
    return item


def _with_namespace_defaults(namespace: RawObject) -> RawObject:
    metadata = namespace["metadata"]
    labels = {"kubernetes.io/metadata.name": metadata["name"], **(metadata.get("labels") or {})}
    return {
        **namespace,
        "metadata": {**metadata, "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _with_budget_defaults(budget: RawObject) -> RawObject:
    # No controller has looked at it yet: nothing may be disrupted.
    status = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0}
    return {**budget, "status": {**status, "expectedPods": 0}}


def _with_definition_defaults(definition: RawObject) -> RawObject:
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": message}
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    names = (definition.get("spec") or {}).get("names") or {}
    return {**definition, "status": {"conditions": conditions, "acceptedNames": names}}


_DEFAULTS: Mapping[Kind, Default] = {
    NODES: _with_node_defaults,
    PODS: with_pod_defaults,
    NAMESPACES: _with_namespace_defaults,
    DISRUPTION_BUDGETS: _with_budget_defaults,
    DEFINITIONS: _with_definition_defaults,
}


def with_defaults(resource: Resource, item: RawObject) -> RawObject:
    """Return a new object as the server fills it in."""
    special = _DEFAULTS.get(resource.stored)
    if special:
        return tidied(resource, special(item))
    if resource.has_status:
        return {**item, "status": {}}
    return item


def _node_causes(node: RawObject) -> list[Cause]:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    causes: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or []):
        at = f"spec.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        causes.extend(key_causes(key, f"{at}.key"))
        if effect not in _TAINT_EFFECTS:
            rule = f"supported values: {', '.join(_TAINT_EFFECTS)}"
            causes.append(wrong(f"{at}.effect", effect, rule))
        if (key, effect) in seen:
            causes.append(duplicate(at, f"{key}:{effect}"))
        seen.add((key, effect))
    for part in _AMOUNTS:
        causes.extend(quantity_causes(status.get(part) or {}, f"status.{part}"))
    return causes


def _config_map_causes(config_map: RawObject) -> list[Cause]:
    data = config_map.get("data") or {}
    causes = []
    for key, value in data.items():
        if not _DATA_KEY.fullmatch(key):
            rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
            causes.append(wrong(f"data[{key}]", key, rule))
        if not isinstance(value, str):
            causes.append(wrong(f"data[{key}]", value, "must be a string"))
    if sum(len(str(value).encode()) for value in data.values()) > _MAX_DATA_BYTES:
        text = f"Too long: may not be more than {_MAX_DATA_BYTES} bytes"
        causes.append(Cause("FieldValueTooLong", text, ""))
    return causes


def _event_causes(event: RawObject) -> list[Cause]:
    about = (event.get("involvedObject") or {}).get("namespace", "")
    namespace = event["metadata"]["namespace"]
    if about and about != namespace:
        rule = "does not match event.namespace"
        return [wrong("involvedObject.namespace", about, rule)]
    if not about and namespace not in {"default", "kube-system"}:
        rule = "not allowed in namespace other than default or kube-system"
        return [wrong("involvedObject.namespace", about, rule)]
    return []


def _lease_causes(lease: RawObject) -> list[Cause]:
    spec = lease.get("spec") or {}
    causes = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        causes.append(wrong("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        rule = "must be greater than or equal to 0"
        causes.append(wrong("spec.leaseTransitions", transitions, rule))
    return causes


def _budget_causes(budget: RawObject) -> list[Cause]:
    spec = budget.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        rule = "minAvailable and maxUnavailable cannot be both set"
        return [wrong("spec", "", rule)]
    return []


def _quota_causes(quota: RawObject) -> list[Cause]:
    return quantity_causes((quota.get("spec") or {}).get("hard") or {}, "spec.hard")


def _priority_class_causes(priority_class: RawObject) -> list[Cause]:
    if "value" not in priority_class:
        return [required("value")]
    return []


_CHECKS: Mapping[Kind, Check] = {
    NODES: _node_causes,
    PODS: pod_causes,
    CONFIG_MAPS: _config_map_causes,
    EVENTS: _event_causes,
    LEASES: _lease_causes,
    DISRUPTION_BUDGETS: _budget_causes,
    QUOTAS: _quota_causes,
    PRIORITY_CLASSES: _priority_class_causes,
}


def causes(resource: Resource, item: RawObject) -> list[Cause]:
    """Return what is wrong with an object, beyond its metadata."""
    check = _CHECKS.get(resource.stored)
    return check(item) if check else []


def update_causes(resource: Resource, new: RawObject, old: RawObject) -> list[Cause]:
    """Return what an update changes although it may not."""
    if resource.stored == PODS:
        return pod_update_causes(new, old)
    if resource.stored == CONFIG_MAPS and old.get("immutable") and _data(new) != _data(old):
        return [
            Cause(
                "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"
            )
        ]
    return []


def _data(config_map: RawObject) -> tuple[object, object]:
    return config_map.get("data"), config_map.get("binaryData")
