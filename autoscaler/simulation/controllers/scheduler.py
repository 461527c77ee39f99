"""A scheduler with the filters that matter for GPUs, preemption and real messages.

Pods alike are judged once in a pass, and a pod that did not fit is looked at again only
when something it lacked was given back or a node changed.
"""

from dataclasses import dataclass
from enum import Enum

from autoscaler.domain.errors import Conflict, NotFound
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.informer import Key, Notice
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pod_status import with_condition
from autoscaler.simulation.controllers.pods import (
    condition,
    is_finished,
    is_terminating,
    node_of,
    uid_of,
)
from autoscaler.simulation.controllers.timers import Timers, earliest
from autoscaler.simulation.scheduling.cluster import Cluster
from autoscaler.simulation.scheduling.filters import ExtraFilter, hard_reason, reasons_against
from autoscaler.simulation.scheduling.preemption import find_preemption
from autoscaler.simulation.scheduling.queue import ANYTHING, Refusals, Waiting
from autoscaler.simulation.scheduling.room import Room
from autoscaler.simulation.scheduling.shape import Shape, shape_of

# The message of a pod that still waits is written again no more often than this.
REFRESH_S = 300.0


class Scoring(Enum):
    """Which of the nodes that fit is taken."""

    LEAST_ALLOCATED = "least-allocated"
    MOST_ALLOCATED = "most-allocated"


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """How the scheduler is set up.

    Parameters
    ----------
    name
        Pods of other schedulers are left alone.
    extra_filters
        Asked after the usual ones.
    """

    name: str = "default-scheduler"
    scoring: Scoring = Scoring.LEAST_ALLOCATED
    extra_filters: tuple[ExtraFilter, ...] = ()


class Scheduler:
    """Binds pending pods to nodes."""

    def __init__(self, platform: Platform, settings: SchedulerSettings | None = None) -> None:
        self._platform = platform
        self._settings = settings or SchedulerSettings()
        self._pods = platform.informers.of(PODS)
        self._node_feed = platform.informers.of(NODES).subscribe()
        self._pod_feed = self._pods.subscribe()
        self._cluster = Cluster()
        self._queue: dict[str, Waiting] = {}
        self._awake: dict[str, None] = {}
        self._bindings: dict[str, tuple[Key, str]] = {}
        self._retries: Timers[str] = Timers()
        self._due_bindings: Timers[str] = Timers()
        self._serial = 0

    def step(self) -> float | None:
        """Take in what changed, then place what may fit now."""
        for notice in self._node_feed.take():
            if notice.new is not None:
                self._cluster.put_node(notice.new)
            else:
                self._cluster.drop_node(notice.key[1])
        for notice in self._pod_feed.take():
            self._observe_pod(notice)
        now_s = self._platform.now_s()
        for uid in self._due_bindings.pop_due(now_s):
            self._bind(uid)
        for uid in self._retries.pop_due(now_s):
            self._awake[uid] = None
        self._wake()
        self._place()
        return earliest(self._retries.next_s(), self._due_bindings.next_s())

    def reconsider(self) -> None:
        """Try all pods that wait again: an extra filter may judge otherwise now."""
        self._cluster.given_back.add(ANYTHING)

    def _observe_pod(self, notice: Notice) -> None:
        pod = notice.new
        if pod is None or is_finished(pod):
            old = pod or notice.old
            if old is not None:
                self._forget(uid_of(old))
            return
        uid, home = uid_of(pod), node_of(pod)
        if home:
            waiting = self._leave_queue(uid)
            if not self._cluster.has(uid):
                self._cluster.put_pod(uid, home, waiting.shape if waiting else shape_of(pod))
        elif uid not in self._bindings:
            self._consider(notice.key, uid, pod)

    def _consider(self, key: Key, uid: str, pod: RawObject) -> None:
        """Put a pod in the queue if it is ours to place."""
        spec = pod["spec"]
        name = spec.get("schedulerName", "default-scheduler")
        is_ours = name == self._settings.name and not spec.get("schedulingGates")
        if not is_ours or is_terminating(pod):
            self._leave_queue(uid)
        elif uid not in self._queue:
            self._serial += 1
            waiting = self._queue[uid] = Waiting(key, shape_of(pod), self._serial)
            self._awake[uid] = None
            nominated = (pod.get("status") or {}).get("nominatedNodeName", "")
            if nominated:
                self._nominate(uid, waiting, nominated)

    def _leave_queue(self, uid: str) -> Waiting | None:
        waiting = self._queue.pop(uid, None)
        self._retries.cancel(uid)
        if waiting is not None and waiting.nominated:
            self._cluster.withdraw(uid, waiting.nominated)
        return waiting

    def _forget(self, uid: str) -> None:
        self._leave_queue(uid)
        self._bindings.pop(uid, None)
        self._due_bindings.cancel(uid)
        self._cluster.drop_pod(uid)

    def _wake(self) -> None:
        """Let those try again that lacked what was given back, after their pause."""
        given_back = self._cluster.given_back
        if not given_back:
            return
        now_s = self._platform.now_s()
        for uid, waiting in self._queue.items():
            concerns = ANYTHING in given_back or not waiting.lacks.isdisjoint(given_back)
            if uid in self._awake or not concerns:
                continue
            if waiting.retry_s <= now_s:
                self._awake[uid] = None
            elif uid not in self._retries:
                self._retries.set(uid, waiting.retry_s)
        given_back.clear()

    def _place(self) -> None:
        awake = [(uid, self._queue[uid]) for uid in self._awake if uid in self._queue]
        self._awake.clear()
        failed: dict[str, Refusals] = {}
        for uid, waiting in sorted(awake, key=lambda item: item[1].rank):
            refusals = failed.get(waiting.shape.key)
            if refusals is None:
                home = self._find_home(uid, waiting.shape)
                if isinstance(home, str):
                    self._assume(uid, waiting, home)
                    continue
                refusals = failed[waiting.shape.key] = home
                if self._preempt(uid, waiting):
                    # Room is being made: pods alike must be judged anew.
                    del failed[waiting.shape.key]
            self._refuse(waiting, refusals)

    def _find_home(self, uid: str, shape: Shape) -> str | Refusals:
        refusals = Refusals()
        best: tuple[float, str] | None = None
        rooms = self._cluster.rooms
        for name in sorted(rooms):
            room = rooms[name]
            reasons = reasons_against(shape, room, uid, self._settings.extra_filters)
            if reasons:
                refusals.add(reasons, is_helpless=bool(hard_reason(shape, room)))
                continue
            rank = (-self._score(shape, room), name)
            if best is None or rank < best:
                best = rank
        return best[1] if best else refusals.conclude(len(rooms))

    def _score(self, shape: Shape, room: Room) -> float:
        """Return the score of a node that fits: mean free, or mean taken, share."""
        has, needs = room.allocatable, shape.needs
        shares = [
            (room.cpu_milli + needs.cpu_milli) / max(1, has.cpu_milli),
            (room.memory_bytes + needs.memory_bytes) / max(1, has.memory_bytes),
        ]
        for resource, number in needs.devices:
            taken = room.devices.get(resource, 0) + number
            shares.append(taken / max(1, has.devices.get(resource, 0)))
        mean = sum(shares) / len(shares)
        return 1.0 - mean if self._settings.scoring is Scoring.LEAST_ALLOCATED else mean

    def _assume(self, uid: str, waiting: Waiting, home: str) -> None:
        """Take a node for a pod; it is bound a little later."""
        self._leave_queue(uid)
        self._cluster.put_pod(uid, home, waiting.shape)
        self._bindings[uid] = (waiting.key, home)
        at_s = self._platform.after(self._platform.timing.binding, "bind", uid)
        if at_s > self._platform.now_s():
            self._due_bindings.set(uid, at_s)
        else:
            self._bind(uid)

    def _bind(self, uid: str) -> None:
        (namespace, name), home = self._bindings.pop(uid)
        target = {"apiVersion": "v1", "kind": "Node", "name": home}
        body = {"metadata": {"name": name, "uid": uid}, "target": target}
        try:
            self._platform.client.post(PODS, namespace, name, "binding", body)
        except (Conflict, NotFound):
            # It is going or gone; the watch will say.
            self._cluster.drop_pod(uid)

    def _preempt(self, uid: str, waiting: Waiting) -> bool:
        if waiting.nominated and self._is_clearing(waiting.nominated):
            return False
        rooms = self._cluster.rooms
        found = find_preemption(waiting.shape, uid, (rooms[name] for name in sorted(rooms)))
        if found is None:
            return False
        pod = self._pods.objects[waiting.key]
        status = {"status": {"nominatedNodeName": found.node}}
        if not self._platform.try_patch(PODS, pod, status, "status"):
            return False
        self._nominate(uid, waiting, found.node)
        victims = set(found.victims)
        for item in list(self._pods.objects.values()):
            if uid_of(item) in victims and not is_terminating(item):
                self._platform.try_delete(PODS, item)
        return True

    def _is_clearing(self, node: str) -> bool:
        """Say whether pods on a node are on their way out already."""
        return any(
            node_of(pod) == node and is_terminating(pod) for pod in self._pods.objects.values()
        )

    def _nominate(self, uid: str, waiting: Waiting, node: str) -> None:
        if waiting.nominated:
            self._cluster.withdraw(uid, waiting.nominated)
        waiting.nominated = node
        self._cluster.nominate(uid, waiting.shape, node)

    def _refuse(self, waiting: Waiting, refusals: Refusals) -> None:
        now_s = self._platform.now_s()
        waiting.refuse(refusals.lacks, now_s, self._platform.timing.scheduler_backoff_s)
        if waiting.written_s is None or now_s - waiting.written_s >= REFRESH_S:
            waiting.written_s = now_s
            self._write(waiting, refusals.text)

    def _write(self, waiting: Waiting, message: str) -> None:
        pod = self._pods.objects[waiting.key]
        old = condition(pod, "PodScheduled") or {}
        since = old.get("lastTransitionTime") if old.get("status") == "False" else None
        wanted = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": since or self._platform.stamp(),
        }
        body = {"status": {"conditions": with_condition(pod, wanted)}}
        self._platform.try_patch(PODS, pod, body, "status")
