"""Status of a pod as kubelet writes it, as bodies of merge patches."""

from autoscaler.ports import RawObject


def with_condition(item: RawObject, wanted: RawObject) -> list[RawObject]:
    """Return all conditions of an object with one of them put in its place."""
    conditions = (item.get("status") or {}).get("conditions") or []
    kept = [c for c in conditions if c.get("type") != wanted["type"]]
    return [*kept, wanted]


def running(pod: RawObject, address: str, stamp: str) -> RawObject:
    """Return the status of a pod whose containers have just started."""
    state: RawObject = {"running": {"startedAt": stamp}}
    statuses = [_container(c, state, ready=True) for c in pod["spec"].get("containers") or []]
    status: RawObject = {
        "phase": "Running",
        "startTime": stamp,
        "conditions": _conditions(pod, "True", stamp),
        "containerStatuses": statuses,
    }
    if address:
        status |= {"hostIP": address, "hostIPs": [{"ip": address}]}
    return {"status": status}


def waiting(pod: RawObject, reason: str, message: str) -> RawObject:
    """Return the status of a pod whose containers cannot be created."""
    state: RawObject = {"waiting": {"reason": reason, "message": message}}
    containers = pod["spec"].get("containers") or []
    return {
        "status": {
            "phase": "Pending",
            "containerStatuses": [_container(c, state, ready=False) for c in containers],
        }
    }


def finished(pod: RawObject, *, succeeded: bool, stamp: str) -> RawObject:
    """Return the status of a pod whose containers have ended."""
    started = (pod.get("status") or {}).get("startTime", stamp)
    state: RawObject = {
        "terminated": {
            "exitCode": 0 if succeeded else 1,
            "reason": "Completed" if succeeded else "Error",
            "startedAt": started,
            "finishedAt": stamp,
        }
    }
    containers = pod["spec"].get("containers") or []
    return {
        "status": {
            "phase": "Succeeded" if succeeded else "Failed",
            "conditions": _conditions(pod, "False", stamp, reason="PodCompleted"),
            "containerStatuses": [_container(c, state, ready=False) for c in containers],
        }
    }


def failed(pod: RawObject, reason: str, message: str, stamp: str) -> RawObject:
    """Return the status of a pod that kubelet did not admit."""
    status = {"phase": "Failed", "reason": reason, "message": message, "startTime": stamp}
    return {"status": status}


def _container(container: RawObject, state: RawObject, *, ready: bool) -> RawObject:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", ""),
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _conditions(pod: RawObject, ready: str, stamp: str, reason: str = "") -> list[RawObject]:
    old = (pod.get("status") or {}).get("conditions") or []
    kinds = {"Initialized": "True", "Ready": ready, "ContainersReady": ready}
    kept = [condition for condition in old if condition.get("type") not in kinds]
    made = []
    for kind, status in kinds.items():
        condition: RawObject = {"type": kind, "status": status, "lastTransitionTime": stamp}
        made.append(condition | ({"reason": reason} if reason and status == "False" else {}))
    return [*kept, *made]
