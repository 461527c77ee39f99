"""ResourceQuota: what a namespace may ask for, counted from its pods.

A key without ``requests.`` for an extended resource is accepted and never
enforced, as on a real server: its status shows no use.
"""

from collections.abc import Mapping, Sequence
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


def _is_counted(key: str) -> bool:
    return key.startswith(_PREFIX) or key in {"pods", "count/pods", *_NATIVE}


class QuotaKeeper:
    """Admits pods under quotas and keeps their status right, as their controller would.

    What the pods of each namespace use is kept as a running total: counting them
    anew for every pod would be slow with thousands.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._used: dict[str, dict[str, Decimal]] = {}

    def admit(self, pod: RawObject) -> None:
        """Refuse a pod that would exceed a quota of its namespace: 403."""
        namespace = pod["metadata"]["namespace"]
        quotas = self._backend.storage.of(QUOTAS).select(namespace)
        if not quotas:
            return
        wanted, used = _usage(pod), self._used.get(namespace, {})
        for quota in quotas:
            hard = _hard(quota)
            over = [
                key
                for key in sorted(hard)
                if key in wanted and used.get(key, 0) + wanted[key] > amount(hard[key])
            ]
            if over:
                limits = {key: amount(hard[key]) for key in over}
                asked, had, limited = (_listed(over, v) for v in (wanted, used, limits))
                why = (
                    f"exceeded quota: {quota['metadata']['name']}, requested: {asked},"
                    f" used: {had}, limited: {limited}"
                )
                raise forbidden(PODS, pod["metadata"]["name"], why)

    def react(self, kind: Kind, new: RawObject | None, old: RawObject | None) -> None:
        """Follow a write that may change what is used or allowed."""
        item = new or old
        if item is None or kind not in {PODS, QUOTAS}:
            return
        namespace = item["metadata"]["namespace"]
        if kind == PODS:
            if new and old and _is_finished(new) == _is_finished(old):
                return
            self._count(namespace, new, 1)
            self._count(namespace, old, -1)
        for quota in self._backend.storage.of(QUOTAS).select(namespace):
            self._refresh(quota)

    def _count(self, namespace: str, pod: RawObject | None, sign: int) -> None:
        total = self._used.setdefault(namespace, {})
        for key, value in (_usage(pod) if pod else {}).items():
            total[key] = total.get(key, Decimal(0)) + sign * value

    def _refresh(self, quota: RawObject) -> None:
        hard, used = _hard(quota), self._used.get(quota["metadata"]["namespace"], {})
        counted = sorted(key for key in hard if _is_counted(key))
        status = {
            "hard": hard,
            "used": {key: text(used.get(key, Decimal(0))) for key in counted},
        }
        if quota.get("status") != status:
            self._backend.put(QUOTAS, {**quota, "status": status})


def _hard(quota: RawObject) -> RawObject:
    hard: RawObject = (quota.get("spec") or {}).get("hard") or {}
    return hard


def _listed(keys: Sequence[str], amounts: Mapping[str, Decimal]) -> str:
    return ",".join(f"{key}={text(amounts.get(key, Decimal(0)))}" for key in keys)


def _is_finished(pod: RawObject) -> bool:
    return (pod.get("status") or {}).get("phase") in _FINISHED
