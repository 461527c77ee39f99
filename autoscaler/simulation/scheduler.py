"""A scheduler with the filters that matter for GPUs, preemption and real messages.

Pods alike are judged once in a pass, and a pod that did not fit is looked at again only
when something it lacked was given back or a node changed.
"""

from dataclasses import dataclass, field
from enum import Enum

from autoscaler.domain.errors import Conflict, NotFound
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.informer import Key, Notice
from autoscaler.simulation.platform import Platform
from autoscaler.simulation.pod_status import with_condition
from autoscaler.simulation.pods import (
    condition,
    is_finished,
    is_terminating,
    node_of,
    uid_of,
)
from autoscaler.simulation.scheduling.filters import (
    ExtraFilter,
    hard_reason,
    lacking_resource,
    reasons_against,
)
from autoscaler.simulation.scheduling.preemption import find_preemption
from autoscaler.simulation.scheduling.room import Room, room_of
from autoscaler.simulation.scheduling.shape import Shape, shape_of
from autoscaler.simulation.timers import Timers

MAX_DOUBLINGS = 20
MAX_BACKOFF_S = 10.0
# The message of a pod that still waits is written again no more often than this.
REFRESH_S = 300.0
ANYTHING = "*"


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


@dataclass(slots=True)
class Waiting:
    """One pod in the queue; ``lacks`` says what would make a new attempt worthwhile."""

    key: Key
    shape: Shape
    serial: int
    attempts: int = 0
    retry_s: float = 0.0
    written_s: float | None = None
    lacks: frozenset[str] = frozenset({ANYTHING})
    nominated: str = ""

    @property
    def rank(self) -> tuple[int, int]:
        """Order in the queue: priority, then arrival."""
        return -self.shape.priority, self.serial


@dataclass(slots=True)
class Refusals:
    """How many nodes refused a pod for which reason."""

    number: dict[str, int] = field(default_factory=dict)
    helpless: int = 0
    text: str = ""
    lacks: frozenset[str] = frozenset()

    def conclude(self, num_nodes: int) -> "Refusals":
        """Work out the text and what was lacking, once for all pods alike."""
        self.text = self.message(num_nodes)
        lacks = {lacking_resource(reason) or ANYTHING for reason in self.number}
        self.lacks = frozenset(lacks or {ANYTHING})
        return self

    def message(self, num_nodes: int) -> str:
        """Return the text of the condition, as the scheduler writes it."""
        if not num_nodes:
            return "no nodes available to schedule pods"
        parts = ", ".join(sorted(f"{n} {reason}" for reason, n in self.number.items()))
        hopeful = num_nodes - self.helpless
        tries = []
        if hopeful:
            tries.append(f"{hopeful} No preemption victims found for incoming pod")
        if self.helpless:
            tries.append(f"{self.helpless} Preemption is not helpful for scheduling")
        head = f"0/{num_nodes} nodes are available"
        return f"{head}: {parts}. preemption: {head}: {', '.join(tries)}."


class Scheduler:
    """Binds pending pods to nodes."""

    def __init__(self, platform: Platform, settings: SchedulerSettings | None = None) -> None:
        self._platform = platform
        self._settings = settings or SchedulerSettings()
        self._pods = platform.informers.of(PODS)
        self._node_feed = platform.informers.of(NODES).subscribe()
        self._pod_feed = self._pods.subscribe()
        self._rooms: dict[str, Room] = {}
        self._homes: dict[str, str] = {}
        self._shapes: dict[str, Shape] = {}
        self._queue: dict[str, Waiting] = {}
        self._awake: dict[str, None] = {}
        self._given_back: set[str] = set()
        self._timers: Timers[str] = Timers()
        self._serial = 0

    def step(self) -> float | None:
        """Take in what changed, then place what may fit now."""
        for notice in self._node_feed.take():
            self._observe_node(notice)
        for notice in self._pod_feed.take():
            self._observe_pod(notice)
        for uid in self._timers.pop_due(self._platform.now_s()):
            if uid in self._queue:
                self._awake[uid] = None
        self._wake()
        self._place()
        return self._timers.next_s()

    def _observe_node(self, notice: Notice) -> None:
        name = notice.key[1]
        if notice.new is None:
            self._rooms.pop(name, None)
        elif name in self._rooms:
            if not self._rooms[name].update(notice.new):
                return
        else:
            self._rooms[name] = room_of(notice.new)
            for uid, home in self._homes.items():
                if home == name:
                    self._rooms[name].add(uid, self._shapes[uid])
        self._given_back.add(ANYTHING)

    def _observe_pod(self, notice: Notice) -> None:
        pod = notice.new
        if pod is None or is_finished(pod):
            old = pod or notice.old
            if old is not None:
                self._forget(uid_of(old))
            return
        uid, home = uid_of(pod), node_of(pod)
        if home:
            self._settle(uid, home, pod)
        elif self._is_mine(pod):
            self._enqueue(notice.key, pod)
        else:
            self._queue.pop(uid, None)

    def _is_mine(self, pod: RawObject) -> bool:
        spec = pod["spec"]
        name = spec.get("schedulerName", "default-scheduler")
        return (
            name == self._settings.name
            and not spec.get("schedulingGates")
            and not is_terminating(pod)
        )

    def _enqueue(self, key: Key, pod: RawObject) -> None:
        uid = uid_of(pod)
        if uid in self._queue:
            return
        self._serial += 1
        shape = self._shapes[uid] = shape_of(pod)
        waiting = self._queue[uid] = Waiting(key, shape, self._serial)
        self._awake[uid] = None
        nominated = (pod.get("status") or {}).get("nominatedNodeName", "")
        if nominated in self._rooms:
            self._nominate(uid, waiting, nominated)

    def _settle(self, uid: str, home: str, pod: RawObject) -> None:
        """Note a pod that is bound."""
        waiting = self._queue.pop(uid, None)
        if waiting is not None and waiting.nominated:
            self._rooms[waiting.nominated].nominated.pop(uid, None)
        if self._homes.get(uid) == home:
            return
        shape = self._shapes.get(uid) or shape_of(pod)
        self._shapes[uid] = shape
        self._homes[uid] = home
        if home in self._rooms:
            self._rooms[home].add(uid, shape)

    def _forget(self, uid: str) -> None:
        waiting = self._queue.pop(uid, None)
        if waiting is not None and waiting.nominated in self._rooms:
            self._rooms[waiting.nominated].nominated.pop(uid, None)
            self._given_back.add(ANYTHING)
        shape = self._shapes.pop(uid, None)
        home = self._homes.pop(uid, "")
        if shape is not None and home in self._rooms and self._rooms[home].remove(uid):
            self._given_back.update(resource for resource, _ in shape.needs.devices)
            self._given_back.update({"cpu", "memory", "pods"})
            if shape.anti_affinity or any(w.shape.anti_affinity for w in self._queue.values()):
                self._given_back.add(ANYTHING)

    def _wake(self) -> None:
        """Let those try again that lacked what was given back, after their pause."""
        if not self._given_back:
            return
        now_s = self._platform.now_s()
        for uid, waiting in self._queue.items():
            if uid in self._awake or not self._concerns(waiting):
                continue
            if waiting.retry_s <= now_s:
                self._awake[uid] = None
            elif uid not in self._timers:
                self._timers.set(uid, waiting.retry_s)
        self._given_back.clear()

    def _concerns(self, waiting: Waiting) -> bool:
        return ANYTHING in self._given_back or not waiting.lacks.isdisjoint(self._given_back)

    def _place(self) -> None:
        awake = [(uid, self._queue[uid]) for uid in self._awake if uid in self._queue]
        self._awake.clear()
        failed: dict[str, Refusals] = {}
        for uid, waiting in sorted(awake, key=lambda item: item[1].rank):
            refusals = failed.get(waiting.shape.key)
            if refusals is None:
                home = self._find_home(uid, waiting.shape)
                if isinstance(home, str):
                    self._bind(uid, waiting, home)
                    continue
                refusals = failed[waiting.shape.key] = home
                if self._preempt(uid, waiting):
                    # Room is being made: pods alike must be judged anew.
                    del failed[waiting.shape.key]
            self._refuse(uid, waiting, refusals)

    def _find_home(self, uid: str, shape: Shape) -> str | Refusals:
        refusals = Refusals()
        best: tuple[float, str] | None = None
        for name in sorted(self._rooms):
            room = self._rooms[name]
            reasons = reasons_against(shape, room, uid, self._settings.extra_filters)
            if reasons:
                for reason in reasons:
                    refusals.number[reason] = refusals.number.get(reason, 0) + 1
                refusals.helpless += bool(hard_reason(shape, room))
                continue
            rank = (-self._score(shape, room), name)
            if best is None or rank < best:
                best = rank
        return best[1] if best else refusals.conclude(len(self._rooms))

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

    def _bind(self, uid: str, waiting: Waiting, home: str) -> None:
        namespace, name = waiting.key
        target = {"apiVersion": "v1", "kind": "Node", "name": home}
        body = {"metadata": {"name": name, "uid": uid}, "target": target}
        try:
            self._platform.client.post(PODS, namespace, name, "binding", body)
        except (Conflict, NotFound):
            # It is going or gone; the watch will say.
            return
        self._settle(uid, home, self._pods.objects[waiting.key])

    def _preempt(self, uid: str, waiting: Waiting) -> bool:
        if waiting.nominated and self._is_clearing(waiting.nominated):
            return False
        rooms = (self._rooms[name] for name in sorted(self._rooms))
        found = find_preemption(waiting.shape, uid, rooms)
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
        if waiting.nominated in self._rooms:
            self._rooms[waiting.nominated].nominated.pop(uid, None)
        waiting.nominated = node
        self._rooms[node].nominated[uid] = waiting.shape

    def _refuse(self, uid: str, waiting: Waiting, refusals: Refusals) -> None:
        now_s = self._platform.now_s()
        first_s = self._platform.timing.scheduler_backoff_s
        waiting.attempts += 1
        # Doubling is capped before it is computed: pods wait for thousands of attempts.
        doubled = 2.0 ** min(waiting.attempts - 1, MAX_DOUBLINGS)
        waiting.retry_s = now_s + min(MAX_BACKOFF_S, first_s * doubled)
        waiting.lacks = refusals.lacks
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
