"""What ``kubectl get pods`` says of a pod's state, condensed from its containers."""

from collections.abc import Sequence

from autoscaler.ports import RawObject


def _statuses(pod: RawObject, field: str) -> Sequence[RawObject]:
    return (pod.get("status") or {}).get(field) or []


def pod_ready(pod: RawObject, now_s: float) -> str:
    """Return ``1/2``: ready containers of all."""
    ready = sum(bool(status.get("ready")) for status in _statuses(pod, "containerStatuses"))
    return f"{ready}/{len(pod['spec'].get('containers') or [])}"


def pod_restarts(pod: RawObject, now_s: float) -> str:
    """Return how often containers were started again."""
    statuses = _statuses(pod, "containerStatuses")
    return str(sum(int(status.get("restartCount", 0)) for status in statuses))


def pod_status(pod: RawObject, now_s: float) -> str:
    """Return the phase, or what is more telling: why it waits, or that it ends."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    conditions = status.get("conditions") or []
    if any(c.get("reason") == "SchedulingGated" for c in conditions):
        return "SchedulingGated"
    shown = str(status.get("reason") or status.get("phase", "Unknown"))
    for container in _statuses(pod, "containerStatuses"):
        shown = _container_state(container) or shown
    return _init_state(pod) or shown


def _container_state(container: RawObject) -> str:
    state = container.get("state") or {}
    if reason := (state.get("waiting") or {}).get("reason"):
        return str(reason)
    ended = state.get("terminated")
    if ended is None:
        return ""
    return str(ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}")


def _init_state(pod: RawObject) -> str:
    """Return ``Init:1/2`` while the steps before the containers are not through."""
    steps = pod["spec"].get("initContainers") or []
    statuses = _statuses(pod, "initContainerStatuses")
    if not statuses:
        return ""
    for done, container in enumerate(statuses):
        state = container.get("state") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0 or container.get("started"):
            continue
        reason = _container_state(container)
        return f"Init:{reason}" if reason else f"Init:{done}/{len(steps)}"
    return ""
