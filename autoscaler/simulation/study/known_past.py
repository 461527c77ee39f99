"""The past as the loop would read it: jobs that came before, and those of the run so far."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from autoscaler.domain.mig.resource import resource_name
from autoscaler.planning.past.demand_history import DemandHistory, Grid, history_of_jobs
from autoscaler.planning.past.queue_model import Job
from autoscaler.simulation.study.jobs import StudyJob


@dataclass(slots=True)
class KnownPast:
    """Implements the loop's port of past demand.

    Parameters
    ----------
    start_s
        Epoch second at which the run begins.
    past
        Jobs from before it, all of them over; their arrivals are below 0.
    present
        Jobs of the run in order of arrival. Of what is not over yet only the arrival is
        read: nobody knows how long it will run, and it is taken to run as long as others.
    ends_s
        Returns the end of each job of the run that is over, by number, in its seconds.
    """

    start_s: float
    past: Sequence[StudyJob]
    present: Sequence[StudyJob]
    ends_s: Callable[[], Mapping[int, float]]

    def demand(self, pool: str, grid: Grid, alone: Collection[str]) -> DemandHistory:
        """Return what is known of a pool on a grid of epoch seconds."""
        first_s, now_s = grid.start_s - self.start_s, grid.end_s - self.start_s
        jobs: dict[str, list[Job]] = {}
        come = self.present[: bisect_right(self.present, now_s, key=lambda j: j.arrival_s)]
        ends_s = self.ends_s()
        for job in (*self.past, *(job for job in come if job.number in ends_s)):
            if job.arrival_s + job.run_s > first_s:
                own = jobs.setdefault(job.profile, [])
                own.append(Job(job.arrival_s + self.start_s, job.run_s))
        means_s = {name: fmean(job.service_s for job in own) for name, own in jobs.items()}
        for job in come:
            # Without them a profile that starves would seem to be wanted by nobody.
            if job.number not in ends_s and job.profile in means_s:
                mean_s = means_s[job.profile]
                jobs[job.profile].append(Job(job.arrival_s + self.start_s, mean_s))
        named = {(pool, resource_name(name)): own for name, own in jobs.items()}
        return history_of_jobs(named, grid)
