"""The disruption controller: keeps the status of PodDisruptionBudgets true."""

from math import ceil

from autoscaler.ports import DISRUPTION_BUDGETS, PODS, RawObject
from autoscaler.simulation.apiserver.selectors import selector_matcher
from autoscaler.simulation.apiserver.timestamps import epoch_s
from autoscaler.simulation.controllers.informer import Key, Notice
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    is_finished,
    is_ready,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
)
from autoscaler.simulation.controllers.timers import Timers

# A pod whose eviction was granted and that is still there after this was not evicted.
EVICTION_GRACE_S = 120.0


class DisruptionController:
    """Counts healthy pods and writes how many may be disrupted."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._budgets = platform.informers.of(DISRUPTION_BUDGETS)
        self._pods = platform.informers.of(PODS)
        self._budget_feed = self._budgets.subscribe()
        self._pod_feed = self._pods.subscribe()
        self._timers: Timers[Key] = Timers()

    def step(self) -> float | None:
        """Bring the budgets up to date that a change concerns."""
        dirty = set(self._timers.pop_due(self._platform.now_s()))
        for notice in self._budget_feed.take():
            if notice.new is not None:
                dirty.add(notice.key)
        changed = [notice for notice in self._pod_feed.take() if self._budgets.objects]
        for key, budget in self._budgets.objects.items():
            if any(_concerns(budget, notice) for notice in changed):
                dirty.add(key)
        for key in sorted(dirty & self._budgets.objects.keys()):
            self._reconcile(key, self._budgets.objects[key])
        return self._timers.next_s()

    def _reconcile(self, key: Key, budget: RawObject) -> None:
        pods = [
            pod
            for pod in self._pods.objects.values()
            if namespace_of(pod) == namespace_of(budget)
            and not is_finished(pod)
            and _selects(budget, pod)
        ]
        granted = (budget.get("status") or {}).get("disruptedPods") or {}
        pending = self._still_pending(granted, pods)
        healthy = sum(
            1
            for pod in pods
            if is_ready(pod) and not is_terminating(pod) and name_of(pod) not in pending
        )
        desired = desired_healthy(budget["spec"], len(pods))
        status: RawObject = {
            "expectedPods": len(pods),
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": max(0, healthy - desired) if pods else 0,
            "observedGeneration": budget["metadata"].get("generation", 1),
        }
        present = budget.get("status") or {}
        if granted != pending:
            # In a merge patch a key goes away by being set to nothing.
            status["disruptedPods"] = {name: pending.get(name) for name in granted}
        if any(present.get(name) != value for name, value in status.items()):
            self._platform.try_patch(DISRUPTION_BUDGETS, budget, {"status": status}, "status")
        if pending:
            stale_s = [(epoch_s(text) or 0.0) + EVICTION_GRACE_S for text in pending.values()]
            self._timers.set(key, min(stale_s))

    def _still_pending(self, granted: dict[str, str], pods: list[RawObject]) -> dict[str, str]:
        present = {name_of(pod) for pod in pods if not is_terminating(pod)}
        now_s = self._platform.now_s()
        return {
            name: text
            for name, text in granted.items()
            if name in present and (epoch_s(text) or 0.0) + EVICTION_GRACE_S > now_s
        }


def desired_healthy(spec: RawObject, expected: int) -> int:
    """Return how many of the expected pods must be healthy."""
    if "maxUnavailable" in spec:
        return max(0, expected - _share(spec["maxUnavailable"], expected))
    return _share(spec.get("minAvailable", 1), expected)


def _share(amount: int | str, total: int) -> int:
    if isinstance(amount, str) and amount.endswith("%"):
        return ceil(int(amount[:-1]) * total / 100)
    return int(amount)


def _selects(budget: RawObject, pod: RawObject) -> bool:
    return selector_matcher(budget["spec"].get("selector"))(labels_of(pod))


def _concerns(budget: RawObject, notice: Notice) -> bool:
    if notice.key[0] != namespace_of(budget):
        return False
    return any(_selects(budget, pod) for pod in (notice.old, notice.new) if pod is not None)
