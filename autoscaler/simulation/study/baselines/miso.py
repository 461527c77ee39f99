"""A bound in the manner of MISO: jobs share a GPU in the partition that suits them best.

Whenever a job comes to a GPU or leaves it, the GPU is cut anew for the jobs on it, and
they go on where they were. What is charged is the time to measure the newcomer and to
save and restore its neighbors; that this could be done to pods unasked is why it is a
bound and not a policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

import numpy as np
from scipy.optimize import linear_sum_assignment

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.layouts import multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.static_mix import plain_sizes
from autoscaler.simulation.study.waiting import Waiting

PROFILE_S, RESTORE_S = 30.0, 30.0
# Instead of infinity, which the assignment does not take.
NEVER = 1e9


@dataclass(slots=True)
class _Stay:
    """A job on a GPU: what is left of it as a share, and since when it goes on."""

    job: StudyJob
    profile: str
    since_s: float
    left: float = 1.0

    def end_s(self) -> float:
        return self.since_s + self.left * self.job.run_time_s(self.profile)

    def pause(self, now_s: float, until_s: float) -> None:
        """Save what has been done by now; go on later."""
        done_s = max(0.0, now_s - self.since_s)
        self.left = max(0.0, self.left - done_s / self.job.run_time_s(self.profile))
        self.since_s = max(self.since_s, until_s)


@dataclass(slots=True)
class Miso:
    """Runs jobs on GPUs that are cut anew for whoever is on them."""

    model: GpuModel
    gpus: int
    _stays: list[list[_Stay]] = field(default_factory=list)
    _times: dict[int, JobTimes] = field(default_factory=dict)
    _cuts: int = 0

    def run(self, policy: str, jobs: Sequence[StudyJob]) -> Outcome:
        """Run jobs to the end."""
        self._stays = [[] for _ in range(self.gpus)]
        self._times, self._cuts = {}, 0
        waiting, now_s, place = Waiting(), 0.0, 0
        while place < len(jobs) or any(self._stays):
            end_s, gpu = (
                min((s.end_s(), g) for g, s in self._all()) if any(self._stays) else (inf, -1)
            )
            if place < len(jobs) and jobs[place].arrival_s < end_s:
                now_s = jobs[place].arrival_s
                waiting.add(jobs[place])
                place += 1
            else:
                now_s = end_s
                self._leave(gpu, now_s)
            self._admit(waiting, now_s)
        done = tuple(self._times.get(job.number, JobTimes(job)) for job in jobs)
        return Outcome(policy, done, now_s, changes=self._cuts, resizes=True)

    def _all(self) -> list[tuple[int, _Stay]]:
        return [(gpu, stay) for gpu, stays in enumerate(self._stays) for stay in stays]

    def _leave(self, gpu: int, now_s: float) -> None:
        """End the jobs of a GPU that are done, and cut it anew for the others."""
        over = [stay for stay in self._stays[gpu] if stay.end_s() <= now_s]
        if not over:
            raise InvariantError("a job was to end and did not")
        for stay in over:
            old = self._times[stay.job.number]
            self._times[stay.job.number] = JobTimes(
                stay.job, old.start_s, now_s, stay.profile, (str(gpu), "")
            )
        left = [stay for stay in self._stays[gpu] if stay not in over]
        self._stays[gpu] = left
        self._settle(gpu, left, now_s)

    def _admit(self, waiting: Waiting, now_s: float) -> None:
        """Let those who wait onto the GPU with the fewest jobs that can take them."""
        hopeless: set[str] = set()
        for job in list(waiting.in_order()):
            if job.profile in hopeless:
                continue
            gpu = self._gpu_for(job)
            if gpu is None:
                hopeless.add(job.profile)
                continue
            waiting.pop(job.profile)
            self._times[job.number] = JobTimes(job, now_s)
            newcomer = _Stay(job, job.profile, now_s + PROFILE_S)
            self._settle(gpu, [*self._stays[gpu], newcomer], now_s)

    def _gpu_for(self, job: StudyJob) -> int | None:
        able = [
            (len(stays), gpu)
            for gpu, stays in enumerate(self._stays)
            if best_partition(self.model, [*(s.job for s in stays), job]) is not None
        ]
        return min(able)[1] if able else None

    def _settle(self, gpu: int, stays: list[_Stay], now_s: float) -> None:
        """Cut a GPU for its jobs; those whose instance changes are saved and restored."""
        self._stays[gpu] = stays
        chosen = best_partition(self.model, [stay.job for stay in stays])
        if chosen is None:
            raise InvariantError("jobs that shared a GPU do not fit on it any more")
        is_new = False
        for stay, profile in zip(stays, chosen, strict=True):
            if stay.profile != profile:
                is_new = True
                stay.pause(now_s, now_s + RESTORE_S)
                stay.profile = profile
        self._cuts += is_new


def best_partition(model: GpuModel, jobs: Sequence[StudyJob]) -> tuple[str, ...] | None:
    """Return the profile of each job under which they run fastest together.

    A job runs on its own profile and on larger ones, and on others of which is known how
    fast it is there. ``None`` when the GPU cannot hold them all at once.
    """
    if not jobs:
        return ()
    names = plain_sizes(model).names
    return _fastest(model, tuple(_speeds(model, job, names) for job in jobs))


@lru_cache(maxsize=262_144)
def _fastest(model: GpuModel, speeds: tuple[tuple[float, ...], ...]) -> tuple[str, ...] | None:
    """Return the best partition for jobs given by their speed on each profile."""
    names = plain_sizes(model).names
    best: tuple[float, tuple[str, ...]] | None = None
    for counts in multisets(model, names):
        if counts.total() != len(speeds):
            continue
        kinds = [kind for kind, name in enumerate(names) for _ in range(counts[name])]
        own = np.array([[speed[kind] for kind in kinds] for speed in speeds])
        rows, columns = linear_sum_assignment(np.where(own > 0, -own, NEVER))
        chosen = own[rows, columns]
        total = float(chosen.sum())
        # Sums in another order differ by less than this and are the same.
        if chosen.all() and (best is None or total > best[0] + 1e-9):
            best = total, tuple(names[kinds[column]] for column in columns)
    return None if best is None else best[1]


def _speeds(model: GpuModel, job: StudyJob, names: Sequence[str]) -> tuple[float, ...]:
    return tuple(speed_of(model, job, name) for name in names)


def speed_of(model: GpuModel, job: StudyJob, profile: str) -> float:
    """Return how fast a job runs on a profile, 1 on the one it asked for; 0 for never."""
    if any(name == profile for name, _ in job.run_on_s):
        return job.run_s / job.run_time_s(profile)
    sizes = plain_sizes(model).names
    is_large = sizes.index(profile) >= sizes.index(job.profile) and not job.run_on_s
    return 1.0 if is_large else 0.0
