"""The ReplicaSet controller: keeps a number of pods, as services have them."""

from autoscaler.domain.errors import NotFound, Refused
from autoscaler.ports import PODS, REPLICA_SETS, RawObject
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.ownership import Ownership, pod_from_template
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    is_finished,
    is_ready,
    is_terminating,
    namespace_of,
    node_of,
    uid_of,
)


class ReplicaSetController:
    """Replaces pods that ended or were evicted, and removes those too many."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sets = platform.informers.of(REPLICA_SETS)
        self._feed = self._sets.subscribe()
        self._ownership = Ownership(platform, "ReplicaSet")
        self._keys: dict[str, Key] = {}

    def step(self) -> None:
        """Act on changed sets and on their pods."""
        changed: dict[str, None] = {}
        for notice in self._feed.take():
            if notice.new is not None:
                uid = uid_of(notice.new)
                self._keys[uid] = notice.key
                changed[uid] = None
            elif notice.old is not None:
                self._keys.pop(uid_of(notice.old), None)
        changed |= dict.fromkeys(self._ownership.take_changed())
        for uid in changed:
            item = self._sets.objects.get(self._keys.get(uid, ("", "")))
            if item is not None and uid_of(item) == uid:
                self._reconcile(item)

    def _reconcile(self, item: RawObject) -> None:
        pods = self._ownership.pods_of(uid_of(item))
        active = [pod for pod in pods if not is_finished(pod) and not is_terminating(pod)]
        wanted = int(item["spec"].get("replicas", 1))
        for _ in range(wanted - len(active)):
            body = pod_from_template(item, "apps/v1", "ReplicaSet")
            try:
                self._platform.client.create(PODS, namespace_of(item), body)
            except (NotFound, Refused):
                break
        # Those that serve least go first: unbound, not ready, youngest.
        surplus = sorted(
            enumerate(active),
            key=lambda entry: (bool(node_of(entry[1])), is_ready(entry[1]), -entry[0]),
        )
        for _, pod in surplus[: max(0, len(active) - wanted)]:
            self._platform.try_delete(PODS, pod)
        ready = sum(map(is_ready, active))
        status = {
            "replicas": len(active),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": item["metadata"].get("generation", 1),
        }
        present = item.get("status") or {}
        if any(present.get(key) != value for key, value in status.items()):
            self._platform.try_patch(REPLICA_SETS, item, {"status": status}, "status")
