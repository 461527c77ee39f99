"""Exclusion: why a pod that asks for GPUs is not demand.

What is bound, ended, held back by a queue, or being served by preemption must not pull
the fleet into another shape. The first reason that applies is told.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.marks import MIRROR
from autoscaler.domain.cluster.objects import Pod, PodRef
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.domain.reasons import PodNote, Reason

GPU_HINT = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Rules:
    """What excludes pods at one moment.

    Parameters
    ----------
    operator_namespace
        Pods in it are set aside everywhere.
    min_age_s
        Age from which a pending pod counts.
    nominated
        Pods that preemption makes room for.
    over_quota
        Pods beyond a quota of their namespace, with a sentence for each.
    """

    operator_namespace: str
    min_age_s: float
    now_s: float
    nominated: frozenset[PodRef] = frozenset()
    over_quota: Mapping[PodRef, str] = field(default_factory=dict)


def concerns_gpus(pod: Pod) -> bool:
    """Say whether a pod asks for GPUs in any way, or may do so unreadably."""
    if any(c.requests for c in pod.containers) and effective_request(pod):
        return True
    return any(GPU_HINT in fault for fault in pod.faults) or (
        pod.claims and pod.node is None and not pod.is_finished
    )


def exclude(pod: Pod, rules: Rules) -> PodNote | None:
    """Return why a pod is not demand, ``None`` when it is.

    Parameters
    ----------
    pod
        A pod that concerns GPUs.
    """
    for check in CHECKS:
        reason, message = check(pod, rules)
        if message:
            return PodNote(pod.ref, reason, message)
    return None


Answer = tuple[Reason, str]


def _set_aside(pod: Pod, rules: Rules) -> Answer:
    is_operators = pod.namespace == rules.operator_namespace
    text = f"pods of namespace {pod.namespace} are the GPU operator's own"
    return Reason.OPERATOR_POD, text if is_operators else ""


def _mirrored(pod: Pod, rules: Rules) -> Answer:
    del rules
    return Reason.MIRROR_POD, "a static pod of its node" if MIRROR in pod.annotations else ""


def _finished(pod: Pod, rules: Rules) -> Answer:
    del rules
    why = f" ({pod.reason})" if pod.reason else ""
    return Reason.FINISHED, f"it has {pod.phase.lower()}{why}" if pod.is_finished else ""


def _bound(pod: Pod, rules: Rules) -> Answer:
    del rules
    return Reason.BOUND, f"bound to node {pod.node}" if pod.node is not None else ""


def _terminating(pod: Pod, rules: Rules) -> Answer:
    del rules
    return Reason.TERMINATING, "it is being deleted" if pod.deletion_s is not None else ""


def _unreadable(pod: Pod, rules: Rules) -> Answer:
    del rules
    return Reason.UNREADABLE, "; ".join(pod.faults)


def _claiming(pod: Pod, rules: Rules) -> Answer:
    del rules
    asks = effective_request(pod)
    text = "it asks through ResourceClaims, which a claim driver serves"
    return Reason.CLAIMS, text if pod.claims and not asks else ""


def _gated(pod: Pod, rules: Rules) -> Answer:
    del rules
    return Reason.GATED, f"scheduling gates: {', '.join(pod.gates)}" if pod.gates else ""


def _nominated(pod: Pod, rules: Rules) -> Answer:
    text = f"preemption makes room for it on node {pod.nominated_node}"
    return Reason.NOMINATED, text if pod.ref in rules.nominated else ""


def _young(pod: Pod, rules: Rules) -> Answer:
    age_s = max(0.0, rules.now_s - pod.created_s)
    least = format_duration(rules.min_age_s)
    text = f"pending for {format_duration(round(age_s))}, counts from {least}"
    return Reason.TOO_YOUNG, text if age_s < rules.min_age_s else ""


def _beyond_quota(pod: Pod, rules: Rules) -> Answer:
    return Reason.OVER_QUOTA, rules.over_quota.get(pod.ref, "")


CHECKS: tuple[Callable[[Pod, Rules], Answer], ...] = (
    _set_aside,
    _mirrored,
    _finished,
    _bound,
    _terminating,
    _unreadable,
    _claiming,
    _gated,
    _nominated,
    _young,
    _beyond_quota,
)
