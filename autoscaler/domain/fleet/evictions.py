"""Who may be evicted, and who may not and why.

A change of GPUs is voluntary: whoever marked a pod, and whatever nothing would bring
back, is left alone. Nobody is ever deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.cluster.marks import (
    DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_EVICT,
    LOST_WORK,
    MIRROR,
    SAFE_TO_EVICT,
)
from autoscaler.domain.cluster.objects import Pod, PodDisruptionBudget, PodRef
from autoscaler.domain.cluster.selector import selects
from autoscaler.domain.mig.resource import is_gpu_resource
from autoscaler.domain.policy.policy import EvictionRules, parse_duration
from autoscaler.domain.reasons import PodNote, Reason


@dataclass(frozen=True, slots=True)
class Evictions:
    """Pods that may be evicted, in the order to do it, and the others with reasons."""

    allowed: tuple[PodRef, ...] = ()
    refused: tuple[PodNote, ...] = ()


def is_job(pod: Pod) -> bool:
    """Say whether a pod works towards an end of its own, so that an eviction undoes work.

    Training operators and workflow engines own pods themselves, under many names; what
    they have in common is that the pods do not restart for ever.
    """
    return pod.owner is not None and (pod.owner.kind.endswith("Job") or not pod.restarts)


def holds_device(pod: Pod) -> bool:
    """Say whether a bound pod holds, or will hold, a device that it asked for.

    From the binding on and until the pod has ended; also while it crashes or
    terminates, and also what only an init container asked for.
    """
    asks = any(is_gpu_resource(name) for c in pod.containers for name in c.requests)
    return asks and not pod.is_finished


def uses_gpu(pod: Pod, operator_namespace: str) -> bool:
    """Say whether a pod must be gone before the GPUs it may use are changed.

    Pods with NVIDIA's runtime class or a mounted device count, though they asked for
    nothing. The operator's own pods are MIG manager's business: it stops them.
    """
    if pod.namespace == operator_namespace or pod.is_finished:
        return False
    return holds_device(pod) or pod.gpu_runtime


def protected_until_s(pod: Pod) -> float | None:
    """Return until when a mark protects a pod: infinity for ever, ``None`` not at all.

    A duration counts from the start of the pod; what cannot be read protects for
    ever. A pod with opposite marks is protected.
    """
    if pod.annotations.get(SAFE_TO_EVICT, "true").strip().lower() != "true":
        return float("inf")
    ends = [
        _mark_ends_s(pod, pod.annotations[name])
        for name in (DO_NOT_DISRUPT, KARPENTER_DO_NOT_DISRUPT, KARPENTER_DO_NOT_EVICT)
        if pod.annotations.get(name, "false").strip().lower() != "false"
    ]
    return max(ends, default=None)


def _mark_ends_s(pod: Pod, value: str) -> float:
    """Return when a mark ends: never, or a duration after the pod's start."""
    try:
        duration_s = parse_duration(value.strip())
    except ValueError:
        return float("inf")
    return (pod.created_s if pod.started_s is None else pod.started_s) + duration_s


def lost_work_s(pod: Pod, now_s: float) -> float:
    """Return seconds of work that an eviction destroys.

    What the owner declared, at most the time since the start; else all of it.
    """
    began_s = pod.created_s if pod.started_s is None else pod.started_s
    ran_s = max(0.0, now_s - began_s)
    try:
        return min(ran_s, parse_duration(pod.annotations.get(LOST_WORK, "")))
    except ValueError:
        return ran_s


def budgets_of(
    pod: Pod, budgets: Iterable[PodDisruptionBudget]
) -> tuple[PodDisruptionBudget, ...]:
    """Return the disruption budgets that select a pod, by name."""
    mine = (
        b for b in budgets if b.namespace == pod.namespace and selects(b.selector, pod.labels)
    )
    return tuple(sorted(mine, key=lambda b: b.name))


def hopeless_budget(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> str:
    """Return why a budget will not let the pod go by waiting, empty when it may.

    A budget that allows nothing though all its pods are healthy never clears by
    itself; neither do two budgets on one pod, nor a pod that never gets ready and is
    counted all the same.

    References
    ----------
    Kubernetes, Disruptions: unhealthy pod eviction policy.
    """
    mine = budgets_of(pod, budgets)
    if len(mine) > 1:
        names = ", ".join(b.name for b in mine)
        return f"several disruption budgets select it ({names}), which no eviction passes"
    for budget in mine:
        if not budget.observed or budget.disruptions_allowed > 0:
            continue
        if not pod.ready and _lets_unhealthy_go(budget):
            continue
        where = f"disruption budget {budget.namespace}/{budget.name}"
        if not pod.ready:
            return f"{where} counts it though it is not ready, so it never allows it"
        if budget.current_healthy >= budget.expected_pods:
            return f"{where} allows none with all {budget.expected_pods} pods healthy"
    return ""


def _lets_unhealthy_go(budget: PodDisruptionBudget) -> bool:
    """Say whether an unready pod may be evicted whatever the count."""
    enough = budget.current_healthy >= budget.desired_healthy > 0
    return budget.always_allow_unhealthy or enough


def refusal(
    pod: Pod, rules: EvictionRules, budgets: Iterable[PodDisruptionBudget], now_s: float
) -> PodNote | None:
    """Return why a pod may not be evicted, ``None`` when it may be tried."""
    for check in (_by_kind, _by_mark, _by_policy):
        note = check(pod, rules, now_s)
        if note is not None:
            return note
    budget = hopeless_budget(pod, budgets)
    return PodNote(pod.ref, Reason.BUDGET_EXHAUSTED, budget) if budget else None


def _by_kind(pod: Pod, rules: EvictionRules, now_s: float) -> PodNote | None:
    """Refuse what comes back at once or cannot be evicted at all."""
    del rules, now_s
    if MIRROR in pod.annotations or (pod.owner is not None and pod.owner.kind == "Node"):
        return PodNote(pod.ref, Reason.MIRROR_POD, "it is a static pod of its node")
    if pod.owner is not None and pod.owner.kind == "DaemonSet":
        message = f"DaemonSet {pod.owner.name} would bring it back at once, cordoned or not"
        return PodNote(pod.ref, Reason.DAEMON_SET_POD, message)
    return None


def _by_mark(pod: Pod, rules: EvictionRules, now_s: float) -> PodNote | None:
    """Refuse what somebody marked."""
    del rules
    until_s = protected_until_s(pod)
    if until_s is None or now_s >= until_s:
        return None
    if until_s == float("inf"):
        return PodNote(pod.ref, Reason.PROTECTED, "an annotation forbids its disruption")
    left = f"an annotation forbids its disruption for {until_s - now_s:.0f} s more"
    return PodNote(pod.ref, Reason.PROTECTED, left)


def _by_policy(pod: Pod, rules: EvictionRules, now_s: float) -> PodNote | None:
    """Refuse what the policy does not allow."""
    del now_s
    if not rules.enabled:
        return PodNote(pod.ref, Reason.EVICTION_DISABLED, "disruption.eviction is off")
    if pod.owner is None and not rules.unowned:
        return PodNote(pod.ref, Reason.UNOWNED_POD, "nothing would create it again")
    if is_job(pod) and not rules.jobs:
        return PodNote(pod.ref, Reason.JOB_POD, "disruption.eviction.jobs is off")
    return None


def evictions(
    pods: Iterable[Pod],
    rules: EvictionRules,
    budgets: tuple[PodDisruptionBudget, ...],
    now_s: float,
) -> Evictions:
    """Sort pods into those that may be evicted and those that may not.

    Returns
    -------
    Evictions
        Allowed pods with the lowest priority first, then the youngest: what is worth
        least goes first. Refused ones by name.
    """
    allowed: list[Pod] = []
    refused: list[PodNote] = []
    for pod in pods:
        note = refusal(pod, rules, budgets, now_s)
        if note is None:
            allowed.append(pod)
        else:
            refused.append(note)
    allowed.sort(key=lambda p: (p.priority, -p.created_s, p.namespace, p.name))
    return Evictions(tuple(p.ref for p in allowed), tuple(sorted(refused)))
