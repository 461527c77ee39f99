"""Jobs that wait: one queue a profile, those of higher priority first, then by arrival."""

import heapq
from collections.abc import Iterator

from autoscaler.simulation.study.jobs import StudyJob

Rank = tuple[int, int]


class Waiting:
    """All jobs that have arrived and not started."""

    def __init__(self) -> None:
        self._queues: dict[str, list[tuple[Rank, StudyJob]]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, job: StudyJob) -> None:
        """Let a job wait."""
        heapq.heappush(self._queues.setdefault(job.profile, []), (rank_of(job), job))
        self._size += 1

    def first(self, profile: str) -> StudyJob | None:
        """Return who is first in the queue of a profile."""
        queue = self._queues.get(profile)
        return queue[0][1] if queue else None

    def pop(self, profile: str) -> StudyJob:
        """Take who is first in the queue of a profile."""
        self._size -= 1
        return heapq.heappop(self._queues[profile])[1]

    def number(self, profile: str) -> int:
        """Return how many jobs of a profile wait."""
        return len(self._queues.get(profile, ()))

    @property
    def profiles(self) -> list[str]:
        """Profiles that jobs wait for, sorted."""
        return sorted(profile for profile, queue in self._queues.items() if queue)

    def in_order(self) -> Iterator[StudyJob]:
        """Yield all waiting jobs, whoever is first of all first."""
        entries = sorted(entry for queue in self._queues.values() for entry in queue)
        return (job for _, job in entries)


def rank_of(job: StudyJob) -> Rank:
    """Return the order of a job among those that wait."""
    return -job.priority, job.number
