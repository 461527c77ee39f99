"""Removes pods that nobody needs: finished ones after a while, and those of lost nodes."""

from autoscaler.ports import NODES, PODS
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    TTL_SECONDS,
    is_finished,
    node_of,
    seconds_annotation,
)
from autoscaler.simulation.controllers.timers import Timers


class PodCleaner:
    """Pod garbage collection.

    Parameters
    ----------
    ttl_s
        How long finished pods stay, unless their annotation says otherwise.
    """

    def __init__(self, platform: Platform, ttl_s: float = 300.0) -> None:
        self._platform = platform
        self._ttl_s = ttl_s
        self._nodes = platform.informers.of(NODES)
        self._pods = platform.informers.of(PODS)
        self._node_feed = self._nodes.subscribe()
        self._feed = self._pods.subscribe()
        self._timers: Timers[Key] = Timers()

    def step(self) -> float | None:
        """Delete what is due."""
        for notice in self._feed.take():
            pod = notice.new
            if pod is None:
                self._timers.cancel(notice.key)
            elif is_finished(pod) and notice.key not in self._timers:
                ttl_s = seconds_annotation(pod, TTL_SECONDS)
                wait_s = self._ttl_s if ttl_s is None else ttl_s
                self._timers.set(notice.key, self._platform.now_s() + wait_s)
        for notice in self._node_feed.take():
            if notice.new is None:
                self._remove_pods_of(notice.key[1])
        for key in self._timers.pop_due(self._platform.now_s()):
            pod = self._pods.objects.get(key)
            if pod is not None and is_finished(pod):
                self._platform.try_delete(PODS, pod)
        return self._timers.next_s()

    def _remove_pods_of(self, node: str) -> None:
        for pod in list(self._pods.objects.values()):
            if node_of(pod) == node:
                self._platform.try_delete(PODS, pod, grace_s=0)
