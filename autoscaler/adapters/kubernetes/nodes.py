"""Nodes: raw API objects become slim values."""

from collections.abc import Mapping
from sys import intern

from autoscaler.adapters.kubernetes.quantities import milli_units, whole_number, whole_units
from autoscaler.adapters.kubernetes.reading import (
    amount_of,
    amounts_at,
    mapping_at,
    sequence_at,
    text_at,
    texts_at,
    time_at,
)
from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.cluster.objects import Node, Taint

# Long, and never read by anyone but kubectl.
DROPPED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def node_from(raw: Mapping[str, object]) -> Node:
    """Return a node; what cannot be read of it is named in its faults."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    status = mapping_at(raw, "status", faults)
    allocatable = mapping_at(status, "allocatable", faults, "status.")
    capacity = mapping_at(status, "capacity", faults, "status.")
    annotations = texts_at(metadata, "annotations", faults, "metadata.")
    annotations.pop(DROPPED_ANNOTATION, None)
    ready, ready_since_s = _readiness(status, faults)
    return Node(
        name=intern(text_at(metadata, "name")),
        uid=intern(text_at(metadata, "uid")),
        resource_version=text_at(metadata, "resourceVersion"),
        created_s=time_at(metadata, "creationTimestamp", faults, "metadata.") or 0.0,
        labels=texts_at(metadata, "labels", faults, "metadata."),
        annotations=annotations,
        taints=_taints(spec, faults),
        unschedulable=_is_unschedulable(spec, faults),
        ready=ready,
        ready_since_s=ready_since_s,
        allocatable=amounts_at(allocatable, whole_number, faults, "status.allocatable"),
        capacity=amounts_at(capacity, whole_number, faults, "status.capacity"),
        cpu_milli=_cpu(allocatable, faults),
        memory_bytes=_memory(allocatable, faults),
        config_writer=_config_writer(metadata),
        deletion_s=time_at(metadata, "deletionTimestamp", faults, "metadata."),
        faults=tuple(dict.fromkeys(faults)),
    )


def _taints(spec: Mapping[str, object], faults: list[str]) -> tuple[Taint, ...]:
    return tuple(
        Taint(
            intern(text_at(taint, "key")),
            intern(text_at(taint, "effect")),
            text_at(taint, "value"),
        )
        for taint in sequence_at(spec, "taints", faults, "spec.")
    )


def _is_unschedulable(spec: Mapping[str, object], faults: list[str]) -> bool:
    value = spec.get("unschedulable")
    if value is not None and not isinstance(value, bool):
        faults.append(f"spec.unschedulable = {value!r}: neither true nor false")
    return value is True


def _readiness(
    status: Mapping[str, object], faults: list[str]
) -> tuple[bool | None, float | None]:
    for condition in sequence_at(status, "conditions", faults, "status."):
        if condition.get("type") == "Ready":
            since_s = time_at(
                condition, "lastTransitionTime", faults, "status.conditions[Ready]."
            )
            return {"True": True, "False": False}.get(text_at(condition, "status")), since_s
    return None, None


def _cpu(allocatable: Mapping[str, object], faults: list[str]) -> int | None:
    if allocatable.get("cpu") is None:
        return None
    return amount_of(allocatable["cpu"], milli_units, faults, "status.allocatable[cpu]")


def _memory(allocatable: Mapping[str, object], faults: list[str]) -> int | None:
    if allocatable.get("memory") is None:
        return None
    return amount_of(allocatable["memory"], whole_units, faults, "status.allocatable[memory]")


def _config_writer(metadata: Mapping[str, object]) -> str:
    """Return the field manager that last set the configuration label."""
    last, writer = "", ""
    # Only a hint for a message, so an odd entry is passed over and is no fault.
    for entry in sequence_at(metadata, "managedFields", []):
        fields = mapping_at(entry, "fieldsV1", [])
        labels = mapping_at(mapping_at(fields, "f:metadata", []), "f:labels", [])
        if f"f:{MIG_CONFIG}" in labels and text_at(entry, "time") >= last:
            last, writer = text_at(entry, "time"), text_at(entry, "manager")
    return writer
