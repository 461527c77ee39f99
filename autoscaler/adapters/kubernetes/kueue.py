"""Kueue's queues: workloads that wait, and the quota they wait for."""

from collections.abc import Iterable, Iterator, Mapping

from autoscaler.adapters.kubernetes.announcements import requests_of_template
from autoscaler.adapters.kubernetes.quantities import whole_number
from autoscaler.adapters.kubernetes.reading import (
    GPU_PREFIX,
    amount_of,
    integer_at,
    mapping_at,
    sequence_at,
    strings_at,
    text_at,
    time_at,
)
from autoscaler.domain.cluster.queueing import ClusterQueue, Kueue, QueuedWorkload
from autoscaler.domain.counts import Counts

Raw = Mapping[str, object]


def kueue_from(
    workloads: Iterable[Raw],
    local_queues: Iterable[Raw],
    cluster_queues: Iterable[Raw],
    notices: list[str],
) -> Kueue:
    """Return what is queued; objects that cannot be read are left out and told."""
    queue_of = dict(map(_target_of, local_queues))
    waiting = (_workload_from(raw, queue_of, notices) for raw in workloads)
    queues = (cluster_queue_from(raw, notices) for raw in cluster_queues)
    return Kueue(
        workloads=tuple(sorted(filter(None, waiting), key=lambda w: (w.namespace, w.name))),
        queues=tuple(sorted(filter(None, queues), key=lambda q: q.name)),
    )


def _target_of(raw: Raw) -> tuple[tuple[str, str], str]:
    """Return a LocalQueue's namespace and name, and the ClusterQueue it stands for."""
    metadata = mapping_at(raw, "metadata", [])
    key = (text_at(metadata, "namespace") or "default", text_at(metadata, "name"))
    return key, text_at(mapping_at(raw, "spec", []), "clusterQueue")


def _workload_from(
    raw: Raw, queue_of: Mapping[tuple[str, str], str], notices: list[str]
) -> QueuedWorkload | None:
    """Return a workload that waits and asks for GPUs, else ``None``."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    conditions = _true_conditions(mapping_at(raw, "status", faults), faults)
    is_active = spec.get("active") is not False
    if not is_active or conditions & {"Admitted", "Finished"}:
        return None
    namespace = text_at(metadata, "namespace") or "default"
    requests = Counts()
    for pod_set in sequence_at(spec, "podSets", faults, "spec."):
        count = integer_at(pod_set, "count", faults, "spec.podSets.")
        template = mapping_at(pod_set, "template", faults, "spec.podSets.")
        requests = requests.plus(requests_of_template(template, []), max(0, count))
    name = text_at(metadata, "name")
    if faults:
        notices.append(f"Workload {namespace}/{name} is not counted: {faults[0]}")
        return None
    if not requests:
        return None
    return QueuedWorkload(
        namespace=namespace,
        name=name,
        queue=queue_of.get((namespace, text_at(spec, "queueName")), ""),
        requests=requests,
        priority=integer_at(spec, "priority", []),
        created_s=time_at(metadata, "creationTimestamp", []) or 0.0,
        has_quota="QuotaReserved" in conditions,
    )


def _true_conditions(status: Raw, faults: list[str]) -> set[str]:
    conditions = sequence_at(status, "conditions", faults, "status.")
    return {text_at(c, "type") for c in conditions if c.get("status") == "True"}


def cluster_queue_from(raw: Raw, notices: list[str]) -> ClusterQueue | None:
    """Return the GPU quota of a ClusterQueue, ``None`` when it cannot be read."""
    faults: list[str] = []
    name = text_at(mapping_at(raw, "metadata", faults), "name")
    spec, status = mapping_at(raw, "spec", faults), mapping_at(raw, "status", faults)
    covered: set[str] = set()
    nominal: dict[str, int] = {}
    for group in sequence_at(spec, "resourceGroups", faults, "spec."):
        covered |= set(strings_at(group, "coveredResources", faults, "spec.resourceGroups."))
        for resource, number in _amounts(group, "nominalQuota", faults):
            nominal[resource] = nominal.get(resource, 0) + number
    reserved: dict[str, int] = {}
    for resource, number in _amounts(_used(status), "total", faults):
        reserved[resource] = reserved.get(resource, 0) + number
    if faults:
        notices.append(f"ClusterQueue {name} is not counted: {faults[0]}")
        return None
    return ClusterQueue(
        name=name,
        covered=frozenset(own for own in covered if own.startswith(GPU_PREFIX)),
        nominal=Counts(nominal),
        reserved=Counts(reserved),
        is_strict=text_at(spec, "queueingStrategy") == "StrictFIFO",
        is_stopped=text_at(spec, "stopPolicy") in {"Hold", "HoldAndDrain"},
    )


def _used(status: Raw) -> Raw:
    """Return the flavors with what is reserved of them, in the form of a quota."""
    # What is reserved holds what is used, and what waits for checks beside it.
    key = "flavorsReservation" if status.get("flavorsReservation") else "flavorsUsage"
    return {"flavors": status.get(key)}


def _amounts(group: Raw, key: str, faults: list[str]) -> Iterator[tuple[str, int]]:
    """Yield the GPU resources of all flavors with the amount under a key."""
    for flavor in sequence_at(group, "flavors", faults):
        for resource in sequence_at(flavor, "resources", faults, "flavors."):
            name = text_at(resource, "name")
            if name.startswith(GPU_PREFIX) and resource.get(key) is not None:
                path = f"flavors.resources[{name}].{key}"
                number = amount_of(resource[key], whole_number, faults, path)
                if number is not None:
                    yield name, number
