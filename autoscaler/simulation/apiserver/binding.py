"""``pods/binding``: gives a pod its node. Nobody checks the node here."""

from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.status import Cause, conflict, invalid


def bind(backend: Backend, request: Request) -> RawObject:
    """Bind the pod of a request; a cordoned node is no obstacle, as on a real server."""
    binding = request.body or {}
    pod = backend.read(backend.registry.of(PODS), request.namespace, request.name)
    target = binding.get("target") or {}
    node = target.get("name", "")
    if not node or target.get("kind", "Node") != "Node":
        cause = Cause("FieldValueRequired", "Required value: must name a Node", "target.name")
        raise invalid(PODS, request.name, [cause])
    _check_pod(pod, binding, node)
    metadata = pod["metadata"]
    extra = (binding.get("metadata") or {}).get("annotations") or {}
    if extra:
        annotations = {**(metadata.get("annotations") or {}), **extra}
        metadata = {**metadata, "annotations": annotations}
    spec = {**pod["spec"], "nodeName": node}
    status = _with_scheduled(pod.get("status") or {}, backend.now_text())
    bound = {**pod, "metadata": metadata, "spec": spec, "status": status}
    backend.put(PODS, bound, dry_run=request.dry_run)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def _check_pod(pod: RawObject, binding: RawObject, node: str) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    name = metadata["name"]
    uid = (binding.get("metadata") or {}).get("uid")
    if uid and uid != metadata["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
        raise conflict(PODS, name, why + str(metadata["uid"]))
    if metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise _refused(name, why)
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")


def _refused(name: str, why: str) -> Exception:
    refusal = conflict(PODS, name, why)
    refusal.details = type(refusal.details)(name=name, kind="pods/binding")
    return refusal


def _with_scheduled(status: RawObject, now: str) -> RawObject:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    others = [c for c in status.get("conditions") or [] if c.get("type") != "PodScheduled"]
    return {**status, "conditions": [*others, condition]}
