"""Pod priority: the class named by a pod, or the default one, becomes a number."""

from autoscaler.ports import PODS, PRIORITY_CLASSES, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.status import StatusError, forbidden

# Present on every server from its start.
SYSTEM_CLASSES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


def with_priority(backend: Backend, pod: RawObject) -> RawObject:
    """Return a pod with its priority; 403 when its class does not exist."""
    spec = pod["spec"]
    name = spec.get("priorityClassName") or ""
    priority_class = _class_named(backend, pod, name) if name else _default_class(backend)
    resolved: RawObject = {"priority": 0}
    if priority_class:
        resolved = {
            "priorityClassName": priority_class["metadata"]["name"],
            "priority": int(priority_class["value"]),
            "preemptionPolicy": priority_class.get("preemptionPolicy", "PreemptLowerPriority"),
        }
    if spec.get("priority", resolved["priority"]) != resolved["priority"]:
        raise _refused(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod"
            f" spec; priority admission controller computed {resolved['priority']} from the"
            " given PriorityClass name",
        )
    return {**pod, "spec": {**spec, **resolved}}


def _class_named(backend: Backend, pod: RawObject, name: str) -> RawObject:
    found = backend.find(PRIORITY_CLASSES, ("", name))
    if found is None:
        raise _refused(pod, f"no PriorityClass with name {name} was found")
    return found


def _default_class(backend: Backend) -> RawObject | None:
    for item in backend.storage.of(PRIORITY_CLASSES).select():
        if item.get("globalDefault"):
            return item
    return None


def _refused(pod: RawObject, why: str) -> StatusError:
    return forbidden(PODS, pod["metadata"].get("name", ""), why)
