"""Failures: pods that a node took and could not run.

A pod that kubelet rejected is not pending and its owner makes the next one, so the
copies count as a sign of a sick node and never as demand.
"""

from collections.abc import Iterable, Iterator

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.reasons import Hold, Reason

OUT_OF = "OutOf"
UNEXPECTED = "UnexpectedAdmissionError"
# A wrong reference to a Secret or ConfigMap is the pod's own fault, so its reason,
# CreateContainerConfigError, is not among these.
START_ERRORS = frozenset({"CreateContainerError", "RunContainerError"})
SEVERAL = 2
RECENT_S = 600.0


def failure_holds(node: str, pods: Iterable[Pod], now_s: float) -> Iterator[Hold]:
    """Yield holds of a node that rejects or cannot start its pods.

    Parameters
    ----------
    pods
        Pods bound to the node, finished ones included, the operator's left out.
    now_s
        Rejections count for 10 minutes: failed pods lie around long after the trouble is
        over. One without a time counts.
    """
    rejected, stuck = [], []
    for pod in pods:
        if is_rejected(pod) and _is_recent(pod, now_s):
            rejected.append(pod)
        elif cannot_start(pod):
            stuck.append(pod)
    for reason, what, found in (
        (Reason.ADMISSION_FAILURES, "were rejected at admission lately", rejected),
        (Reason.START_FAILURES, "hold devices and cannot start", stuck),
    ):
        if len(found) >= SEVERAL:
            names = sorted(str(pod.ref) for pod in found)
            more = f" and {len(names) - SEVERAL} more" if len(names) > SEVERAL else ""
            text = f"node {node}: {len(names)} pods {what} ({', '.join(names[:SEVERAL])}{more})"
            yield Hold(reason, text, node)


def _is_recent(pod: Pod, now_s: float) -> bool:
    # Kubelet notes when it took the pod, also where it rejects it at once.
    taken_s = pod.created_s if pod.started_s is None else pod.started_s
    return not taken_s or now_s - taken_s < RECENT_S


def is_rejected(pod: Pod) -> bool:
    """Say whether kubelet rejected a pod for want of a device."""
    if pod.phase != "Failed":
        return False
    return pod.reason == UNEXPECTED or pod.reason.startswith(f"{OUT_OF}nvidia.com/")


def cannot_start(pod: Pod) -> bool:
    """Say whether a bound pod holds devices and its containers cannot be made."""
    return (
        not pod.is_finished
        and any(reason in START_ERRORS for reason in pod.waiting)
        and bool(effective_request(pod))
    )
