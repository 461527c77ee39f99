"""MIG manager's pods: how they are known, and whether they are where the policy says."""

from collections.abc import Iterable

from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.reasons import Hold, Reason

APP = "app"
COMPONENT = "app.kubernetes.io/component"
MANAGER = "nvidia-mig-manager"


def is_manager(pod: Pod) -> bool:
    """Say whether it is a pod of MIG manager."""
    return MANAGER in {pod.labels.get(APP), pod.labels.get(COMPONENT)}


def misplaced(pods: Iterable[Pod], namespace: str) -> tuple[Hold, ...]:
    """Return the hold of a fleet whose MIG managers all run where nobody looks.

    They read configurations in their own namespace only, and the operator's pods there
    would pass for those of users.

    Parameters
    ----------
    pods
        All pods; without one of MIG manager nothing is known.
    namespace
        Where the policy says that the operator is.
    """
    found = {pod.namespace for pod in pods if is_manager(pod) and not pod.is_finished}
    if not found or namespace in found:
        return ()
    names = " and ".join(sorted(found))
    text = (
        f"MIG manager runs in namespace {names} and the policy's migManager.namespace is"
        f" {namespace}: name its namespace there; until then no new layout can be applied"
    )
    return (Hold(Reason.OPERATOR_CONFIG, text),)
