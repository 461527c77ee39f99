"""The light simulator: arrivals, ends and re-cuts of GPUs, and nothing of Kubernetes.

A player is asked after each moment at which anything happened, and may start jobs on
free instances and re-cut idle space. It is the quick instrument for policies, the one
measure for what others do, and an oracle for the embedded cluster.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.cells import Cells, Place
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.outcome import Cut, JobTimes, Outcome
from autoscaler.simulation.study.waiting import Waiting

# Order of what happens at one moment: what ends makes room for what arrives.
END, READY, WAKE, ARRIVE = range(4)
MAX_ACTS = 10_000_000
SHORTEST_S = 0.001


class Player(Protocol):
    """A policy under test."""

    def act(self, scene: "Scene") -> float | None:
        """Do what can be done now; return when to be asked at the latest, if ever."""
        ...


@dataclass(frozen=True, slots=True)
class LightFleet:
    """Equal GPUs, so many to a node, with the instances they start with."""

    model: GpuModel
    layouts: tuple[Geometry, ...]
    gpus_per_node: int = 1

    def mates(self, gpu: int) -> range:
        """Return the GPUs of the node of a GPU."""
        first = gpu - gpu % self.gpus_per_node
        return range(first, min(first + self.gpus_per_node, len(self.layouts)))


class Scene:
    """What a player sees, and what it may do."""

    def __init__(self, fleet: LightFleet) -> None:
        self.fleet = fleet
        self.cells = Cells(fleet.model, fleet.layouts)
        self.waiting = Waiting()
        self.now_s = 0.0
        self.arrived: list[StudyJob] = []
        self.left: list[Place] = []
        self.times: dict[int, JobTimes] = {}
        self.cuts = [
            Cut(0.0, str(gpu), str(layout), layout) for gpu, layout in enumerate(fleet.layouts)
        ]
        self.evictions = 0
        self._events: list[tuple[float, int, int]] = []
        self._ends: dict[int, tuple[float, Place]] = {}

    @property
    def model(self) -> GpuModel:
        """Model of all GPUs."""
        return self.fleet.model

    def start(self, profile: str, place: Place, delay_s: float = 0.0) -> None:
        """Start the first job that waits for a profile; it runs after a delay."""
        job = self.waiting.pop(profile)
        self.cells.take(place, job, self.now_s)
        start_s = self.now_s + delay_s
        end_s = start_s + job.run_time_s(place[1].profile)
        old = self.times.get(job.number, JobTimes(job))
        self.times[job.number] = JobTimes(
            job,
            start_s,
            end_s,
            place[1].profile,
            (str(place[0]), str(place[1])),
            old.restarts,
            old.lost_s,
        )
        self._ends[job.number] = (end_s, place)
        self._push(end_s, END, job.number)

    def cut(self, gpu: int, target: Geometry, ready_s: float) -> bool:
        """Re-cut the idle space of a GPU; what is new is usable later."""
        if not self.cells.cut(gpu, target, self.now_s, ready_s):
            return False
        self.cuts.append(Cut(self.now_s, str(gpu), str(target), target))
        self._push(ready_s, READY, gpu)
        return True

    def close(self, gpus: Iterable[int], until_s: float) -> None:
        """Let nothing start on some GPUs until a moment."""
        for gpu in gpus:
            self.cells.close(gpu, self.now_s, until_s)
            self._push(until_s, READY, gpu)

    def evict(self, place: Place) -> None:
        """Make a job give way; it waits again and will start from its beginning."""
        job = self.cells.holders(place[0])[place[1]]
        old = self.times[job.number]
        start_s = self.now_s if old.start_s is None else old.start_s
        ran_s = max(0.0, self.now_s - start_s)
        self.times[job.number] = JobTimes(
            job, restarts=old.restarts + 1, lost_s=old.lost_s + ran_s
        )
        del self._ends[job.number]
        self.cells.give(place, self.now_s)
        self.waiting.add(job)
        self.evictions += 1

    def wake_at(self, time_s: float) -> None:
        """Ask the player at a moment, whatever happens until then."""
        self._push(time_s, WAKE, -1)

    def expect(self, jobs: Sequence[StudyJob]) -> None:
        """Let jobs arrive when their time comes."""
        for job in jobs:
            self._push(job.arrival_s, ARRIVE, job.number)

    def next_moment(self, jobs: Sequence[StudyJob]) -> bool:
        """Go to the next moment at which something happens; say whether there is one."""
        if not self._events:
            return False
        self.now_s = self._events[0][0]
        self.arrived, self.left = [], []
        ready: set[int] = set()
        while self._events and self._events[0][0] == self.now_s:
            _, kind, number = heapq.heappop(self._events)
            if kind == END:
                self._end(number)
            elif kind == ARRIVE:
                self.arrived.append(jobs[number])
                self.waiting.add(jobs[number])
            elif kind == READY:
                ready.add(number)
        for gpu in sorted(ready):
            self.cells.open(gpu, self.now_s)
        return True

    @property
    def running(self) -> int:
        """How many jobs hold an instance."""
        return len(self._ends)

    def _end(self, number: int) -> None:
        end_s, place = self._ends.get(number, (None, None))
        # An end that an eviction has made void.
        if place is None or end_s != self.now_s:
            return
        del self._ends[number]
        self.cells.give(place, self.now_s)
        self.left.append(place)

    def _push(self, time_s: float, kind: int, number: int) -> None:
        heapq.heappush(self._events, (time_s, kind, number))


def play(policy: str, fleet: LightFleet, jobs: Sequence[StudyJob], player: Player) -> Outcome:
    """Run jobs on a fleet under a player until nothing happens any more.

    Parameters
    ----------
    policy
        Name of the policy, for reports.
    jobs
        By number, which is their place.
    """
    scene = Scene(fleet)
    scene.expect(jobs)
    ended_s, asked_s = 0.0, inf
    for _ in range(MAX_ACTS):
        if not scene.next_moment(jobs):
            break
        if scene.left or scene.arrived:
            ended_s = scene.now_s
        if asked_s <= scene.now_s:
            asked_s = inf
        wish_s = player.act(scene)
        if wish_s is not None and wish_s < asked_s:
            asked_s = max(wish_s, scene.now_s + SHORTEST_S)
            scene.wake_at(asked_s)
    else:
        raise InvariantError(f"{policy} never comes to an end")
    return Outcome(
        policy=policy,
        jobs=tuple(scene.times.get(job.number, JobTimes(job)) for job in jobs),
        ended_s=ended_s,
        changes=len(scene.cuts) - len(fleet.layouts),
        cuts=tuple(scene.cuts),
        evictions=scene.evictions,
    )
