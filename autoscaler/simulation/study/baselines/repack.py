"""A bound on packing: jobs may move between GPUs at no cost and in no time.

Jobs start in order of arrival, those that do not fit are passed over. Another order may
do better by the mean, so this bounds what packing can win and not what is possible.
"""

import heapq
from collections.abc import Sequence

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.capacity import fewest_gpus
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.waiting import Waiting, rank_of


class FreeRepack:
    """Serves whatever set of instances fits the fleet in some placement."""

    def __init__(self, model: GpuModel, gpus: int) -> None:
        self._model = model
        self._gpus = gpus
        self._fits: dict[Counts, bool] = {}

    def fits(self, counts: Counts) -> bool:
        """Say whether some placement of the fleet holds these instances."""
        if counts not in self._fits:
            self._fits[counts] = fewest_gpus(self._model, counts).gpus <= self._gpus
        return self._fits[counts]

    def run(self, policy: str, jobs: Sequence[StudyJob]) -> Outcome:
        """Run jobs to the end."""
        waiting, held = Waiting(), Counts()
        times: dict[int, JobTimes] = {}
        ends: list[tuple[float, int]] = []
        place, now_s = 0, 0.0
        while place < len(jobs) or ends:
            if place == len(jobs) or (ends and ends[0][0] <= jobs[place].arrival_s):
                now_s, number = heapq.heappop(ends)
                held = held.minus(Counts({jobs[number].profile: 1}))
            else:
                now_s = jobs[place].arrival_s
                waiting.add(jobs[place])
                place += 1
            for job in self._startable(waiting, held):
                held = held.plus(Counts({job.profile: 1}))
                end_s = now_s + job.run_s
                times[job.number] = JobTimes(job, now_s, end_s, job.profile)
                heapq.heappush(ends, (end_s, job.number))
        done = tuple(times.get(job.number, JobTimes(job)) for job in jobs)
        return Outcome(policy, done, now_s)

    def _startable(self, waiting: Waiting, held: Counts) -> list[StudyJob]:
        """Take those who wait and fit out of their queues, in order."""
        found: list[StudyJob] = []
        full: set[str] = set()
        while True:
            heads = [(waiting.first(p), p) for p in waiting.profiles if p not in full]
            able = [(rank_of(job), p) for job, p in heads if job is not None]
            if not able:
                return found
            _, profile = min(able)
            more = held.plus(Counts({profile: 1}))
            if self.fits(more):
                held = more
                found.append(waiting.pop(profile))
            else:
                full.add(profile)
