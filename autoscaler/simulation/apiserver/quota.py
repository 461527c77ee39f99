"""ResourceQuota: what a namespace may ask for, counted from its pods.

A key without ``requests.`` for an extended resource is accepted and never
enforced, as on a real server: its status shows no use.
"""

from decimal import Decimal

from autoscaler.ports import PODS, QUOTAS, Kind, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.pods import containers
from autoscaler.simulation.apiserver.quantities import amount, text
from autoscaler.simulation.apiserver.status import forbidden

_FINISHED = ("Succeeded", "Failed")
_PREFIX = "requests."
_NATIVE = ("cpu", "memory")


def _usage(pod: RawObject) -> dict[str, Decimal]:
    """Return what a pod counts for, by quota key."""
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return {}
    spec = pod["spec"]
    names = {
        name
        for container in containers(spec)
        for name in (container.get("resources") or {}).get("requests") or {}
    }
    used = {_PREFIX + name: _request(spec, name) for name in names}
    used |= {name: used[_PREFIX + name] for name in _NATIVE if _PREFIX + name in used}
    return {**used, "pods": Decimal(1), "count/pods": Decimal(1)}


def _request(spec: RawObject, name: str) -> Decimal:
    """Return a pod's effective request: containers and sidecars, or the largest step before."""
    running, largest = Decimal(0), Decimal(0)
    for container in spec.get("initContainers") or []:
        asked = _asked(container, name)
        if container.get("restartPolicy") == "Always":
            running += asked
            largest = max(largest, running)
        else:
            largest = max(largest, running + asked)
    running += sum((_asked(c, name) for c in spec.get("containers") or []), Decimal(0))
    return max(running, largest)


def _asked(container: RawObject, name: str) -> Decimal:
    return amount(((container.get("resources") or {}).get("requests") or {}).get(name, 0))


def _used(backend: Backend, namespace: str, keys: set[str]) -> dict[str, Decimal]:
    total = dict.fromkeys(keys, Decimal(0))
    for pod in backend.storage.of(PODS).select(namespace):
        for key, value in _usage(pod).items():
            if key in total:
                total[key] += value
    return total


def _is_counted(key: str) -> bool:
    return key.startswith(_PREFIX) or key in {"pods", "count/pods", *_NATIVE}


def admit(backend: Backend, pod: RawObject) -> None:
    """Refuse a pod that would exceed a quota of its namespace: 403."""
    namespace = pod["metadata"]["namespace"]
    wanted = _usage(pod)
    for quota in backend.storage.of(QUOTAS).select(namespace):
        hard = (quota.get("spec") or {}).get("hard") or {}
        keys = sorted(key for key in hard if key in wanted)
        used = _used(backend, namespace, set(keys))
        over = [key for key in keys if used[key] + wanted[key] > amount(hard[key])]
        if over:
            shown = [
                ",".join(f"{key}={text(values[key])}" for key in over)
                for values in (wanted, used, {key: amount(hard[key]) for key in over})
            ]
            why = (
                f"exceeded quota: {quota['metadata']['name']}, requested: {shown[0]},"
                f" used: {shown[1]}, limited: {shown[2]}"
            )
            raise forbidden(PODS, pod["metadata"]["name"], why)


class QuotaStatus:
    """Keeps ``status.used`` of all quotas right, in the place of their controller."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def react(self, kind: Kind, new: RawObject | None, old: RawObject | None) -> None:
        """Recount the quotas of a namespace after a write that may matter."""
        item = new or old
        if item is None or kind not in {PODS, QUOTAS}:
            return
        if kind == PODS and new and old and _phase(new) == _phase(old):
            return
        for quota in self._backend.storage.of(QUOTAS).select(item["metadata"]["namespace"]):
            self._refresh(quota)

    def _refresh(self, quota: RawObject) -> None:
        hard = (quota.get("spec") or {}).get("hard") or {}
        counted = {key for key in hard if _is_counted(key)}
        used = _used(self._backend, quota["metadata"]["namespace"], counted)
        status = {"hard": hard, "used": {key: text(used[key]) for key in sorted(used)}}
        if quota.get("status") != status:
            self._backend.put(QUOTAS, {**quota, "status": status})


def _phase(pod: RawObject) -> bool:
    return (pod.get("status") or {}).get("phase") in _FINISHED
