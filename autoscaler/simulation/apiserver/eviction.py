"""``pods/eviction``: deletes a pod if its disruption budget allows it now."""

from autoscaler.ports import DISRUPTION_BUDGETS, PODS, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.deletion import delete_item
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.selectors import selector_matcher
from autoscaler.simulation.apiserver.status import (
    Cause,
    StatusError,
    bad_request,
    forbidden,
    too_many_requests,
)

_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
    " support."
)
_MAX_DISRUPTED = 2000


def evict(backend: Backend, request: Request) -> RawObject:
    """Evict the pod of a request; return the ``Status`` of success."""
    eviction = request.body or {}
    _check_body(eviction, request)
    resource = backend.registry.of(PODS)
    pod = backend.read(resource, request.namespace, request.name)
    budget = None if _is_past_disruption(pod) else _budget_of(backend, pod)
    if budget is not None and not _may_ignore(budget, pod):
        # The budget is charged before the preconditions are looked at: an eviction
        # with a wrong uid is refused and has used the budget up all the same.
        _charge(backend, budget, pod, dry_run=request.dry_run)
    options = eviction.get("deleteOptions") or {}
    if request.dry_run or _has_wrong_precondition(pod, options):
        delete_item(backend, resource, pod, options, dry_run=True)
    else:
        marked = backend.put(PODS, _with_disruption_target(backend, pod))
        options = {**options, "preconditions": {}}
        delete_item(backend, resource, marked, options)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def _check_body(eviction: RawObject, request: Request) -> None:
    version = eviction.get("apiVersion", "policy/v1")
    if version != "policy/v1" or eviction.get("kind", "Eviction") != "Eviction":
        raise bad_request(
            f"no kind {eviction.get('kind')!r} is registered for version {version!r} here; an"
            " eviction is policy/v1"
        )
    name = (eviction.get("metadata") or {}).get("name", request.name)
    if name != request.name:
        raise bad_request("name in URL does not match name in Eviction object")


def _is_past_disruption(pod: RawObject) -> bool:
    """Say whether a pod counts in no budget: never started, finished, or going anyway."""
    phase = (pod.get("status") or {}).get("phase")
    going = bool(pod["metadata"].get("deletionTimestamp"))
    return going or phase in {"Pending", "Succeeded", "Failed"}


def _budget_of(backend: Backend, pod: RawObject) -> RawObject | None:
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        budget
        for budget in backend.storage.of(DISRUPTION_BUDGETS).select(
            pod["metadata"]["namespace"]
        )
        if selector_matcher((budget.get("spec") or {}).get("selector"))(labels)
    ]
    if len(budgets) > 1:
        # The server gives no reason here, only a message.
        raise StatusError(500, "", _TWO_BUDGETS)
    return budgets[0] if budgets else None


def is_ready(pod: RawObject) -> bool:
    """Say whether a pod's condition ``Ready`` is true."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _may_ignore(budget: RawObject, pod: RawObject) -> bool:
    """Say whether a pod that is not ready may go without charging its budget."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def _charge(backend: Backend, budget: RawObject, pod: RawObject, *, dry_run: bool) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(_REFUSAL, [Cause("DisruptionBudget", text)])
    allowed = status.get("disruptionsAllowed", 0)
    disrupted = status.get("disruptedPods") or {}
    if allowed < 0:
        raise forbidden(DISRUPTION_BUDGETS, name, "pdb disruptions allowed is negative")
    if len(disrupted) > _MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(DISRUPTION_BUDGETS, name, why)
    if allowed == 0:
        text = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods"
            f" and has {status.get('currentHealthy', 0)} currently"
        )
        raise too_many_requests(_REFUSAL, [Cause("DisruptionBudget", text)])
    charged = {
        **status,
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {**disrupted, pod["metadata"]["name"]: backend.now_text()},
    }
    backend.put(DISRUPTION_BUDGETS, {**budget, "status": charged}, dry_run=dry_run)


def _has_wrong_precondition(pod: RawObject, options: RawObject) -> bool:
    wanted = options.get("preconditions") or {}
    metadata = pod["metadata"]
    return any(
        wanted.get(key, metadata[key]) != metadata[key] for key in ("uid", "resourceVersion")
    )


def _with_disruption_target(backend: Backend, pod: RawObject) -> RawObject:
    status = pod.get("status") or {}
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": backend.now_text(),
    }
    others = [c for c in status.get("conditions") or [] if c.get("type") != "DisruptionTarget"]
    return {**pod, "status": {**status, "conditions": [*others, condition]}}
