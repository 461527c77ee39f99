"""Replays jobs on a mix that never changes, fast: for searches over many mixes.

A job may take an instance larger than it asked for. Two orders of service: an instance
that is free goes first to those who asked for just its profile, or to whoever waits
longest of all that fit.
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import inf

from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import StudyJob


class Order(StrEnum):
    """Who is served first."""

    OWNER_FIRST = "owner-first"
    FIRST_COME = "first-come"


@dataclass(frozen=True, slots=True)
class Queued:
    """A job, with its profile as a place in the order of sizes."""

    arrival_s: float
    run_s: float
    kind: int


def queued_of(jobs: Sequence[StudyJob], kinds: Mapping[str, int]) -> list[Queued]:
    """Return jobs in the form that is replayed, given the place of each profile."""
    return [Queued(job.arrival_s, job.run_s, kinds[job.profile]) for job in jobs]


@lru_cache(maxsize=64)
def kinds_of(model: GpuModel) -> dict[str, int]:
    """Return the place of each standard profile in the order of sizes."""
    plain = (profile for profile in model.profiles if profile.is_plain)
    ordered = sorted(plain, key=lambda p: (p.compute_slices, p.memory_slices))
    return {profile.name: place for place, profile in enumerate(ordered)}


class StaticReplay:
    """One replay of jobs on a mix.

    Parameters
    ----------
    jobs
        In order of arrival.
    instances
        Number of instances, one entry a kind.
    """

    def __init__(self, jobs: Sequence[Queued], instances: Sequence[int], order: Order) -> None:
        self._jobs = jobs
        self._free = list(instances)
        self._sizes = [kind for kind, number in enumerate(instances) if number]
        self._order = order
        self._waiting: list[deque[tuple[int, Queued]]] = [deque() for _ in instances]
        self._ends: list[tuple[float, int]] = []

    def mean_completion_s(self) -> float:
        """Return the mean time from arrival to end; infinite when some never run."""
        total = 0.0
        place = 0
        while place < len(self._jobs) or self._ends:
            is_end = place == len(self._jobs) or (
                bool(self._ends) and self._ends[0][0] <= self._jobs[place].arrival_s
            )
            if is_end:
                now_s, kind = heapq.heappop(self._ends)
                self._free[kind] += 1
            else:
                job = self._jobs[place]
                now_s = job.arrival_s
                self._waiting[job.kind].append((place, job))
                place += 1
            total += self._serve(now_s)
        if any(self._waiting):
            return inf
        return total / max(1, len(self._jobs))

    def _serve(self, now_s: float) -> float:
        """Start what can start; return the completion times of what did."""
        total = 0.0
        if self._order is Order.OWNER_FIRST:
            for kind in self._sizes:
                while self._free[kind] and self._waiting[kind]:
                    total += self._start(kind, kind, now_s)
        while True:
            able = [
                (queue[0][0], kind, size)
                for kind, queue in enumerate(self._waiting)
                if queue and (size := self._smallest_free(kind)) is not None
            ]
            if not able:
                return total
            _, kind, size = min(able)
            total += self._start(kind, size, now_s)

    def _smallest_free(self, kind: int) -> int | None:
        return next((s for s in self._sizes if s >= kind and self._free[s]), None)

    def _start(self, kind: int, size: int, now_s: float) -> float:
        _, job = self._waiting[kind].popleft()
        self._free[size] -= 1
        heapq.heappush(self._ends, (now_s + job.run_s, size))
        return now_s + job.run_s - job.arrival_s
