"""Single requests read out of how many instances were wanted and held at once.

Metrics tell numbers, not requests. What rises in what is held has started, what falls
has ended, and what is wanted beyond that has arrived; arrivals, starts and ends are
matched in their order. So where nothing waited the requests add up to exactly what was
held, and where something did, each counts from its arrival, as if it had not.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from autoscaler.planning.past.demand_history import (
    DemandHistory,
    FloatArray,
    Grid,
    Key,
    Service,
    concurrency,
)
from autoscaler.planning.past.queue_model import Job

# No request has run for longer on average than there have been such clusters.
MOST_MEAN_S = 1e9


@dataclass(slots=True)
class _Queue:
    """Requests of one kind, first come first served."""

    waiting: deque[float] = field(default_factory=deque)
    served: deque[tuple[float, float]] = field(default_factory=deque)
    jobs: list[Job] = field(default_factory=list)

    def step(self, at_s: float, wanted: int, held: int) -> None:
        """Take the numbers of one moment."""
        served, total = len(self.served), len(self.served) + len(self.waiting)
        # What is no longer wanted has ended, and whoever waited took its place: that is
        # far more usual than giving up.
        ended = max(served - held, min(served, total - wanted), 0)
        arrived = wanted - total + ended
        for _ in range(ended):
            arrival_s, start_s = self.served.popleft()
            self.jobs.append(Job(arrival_s, at_s - start_s))
        self.waiting.extend([at_s] * max(0, arrived))
        # Who gave up is not known; the last that came are the likeliest.
        for _ in range(min(len(self.waiting), max(0, -arrived))):
            self.waiting.pop()
        while len(self.served) < held and self.waiting:
            self.served.append((self.waiting.popleft(), at_s))

    def close(self, at_s: float, mean_s: float) -> tuple[Job, ...]:
        """Return all requests; those that have not ended are taken to run on."""
        for arrival_s, start_s in self.served:
            self.jobs.append(Job(arrival_s, max(mean_s, at_s - start_s)))
        self.jobs += [Job(arrival_s, mean_s) for arrival_s in self.waiting]
        return tuple(sorted(self.jobs))


def jobs_seen(
    wanted: FloatArray, held: FloatArray, grid: Grid, mean_s: float
) -> tuple[Job, ...]:
    """Return the requests that numbers of instances tell of, in order of arrival.

    Parameters
    ----------
    wanted
        Instances asked for, waiting and held; NaN where not known. What changed over a
        hole counts at its end.
    held
        Those that were held; where not known, all that was wanted.
    grid
        Points in time.
    mean_s
        Service time of requests that were never seen to end, in seconds.
    """
    queue = _Queue()
    for at_s, asked, own in zip(grid.times_s().tolist(), wanted, held, strict=True):
        if not np.isnan(asked):
            number = round(float(asked))
            queue.step(
                at_s, number, number if np.isnan(own) else min(number, round(float(own)))
            )
    return queue.close(grid.end_s, mean_s)


def without_waits(history: DemandHistory, mean_s: Mapping[str, float]) -> DemandHistory:
    """Return the history as it would have been if nothing had ever waited.

    Parameters
    ----------
    history
        The past; requests that are known one by one stay as they are.
    mean_s
        Mean service time by resource, in seconds.
    """
    jobs: dict[Key, tuple[Job, ...]] = dict(history.jobs)
    wanted: dict[Key, FloatArray] = {}
    for key, samples in sorted(history.wanted.items()):
        if key not in jobs:
            held = history.held.get(key, samples)
            jobs[key] = jobs_seen(samples, held, history.grid, mean_s.get(key[1], 0.0))
        served = concurrency(jobs[key], history.grid)
        wanted[key] = np.where(np.isnan(samples), np.nan, served)
    return replace(history, wanted=wanted, held={}, jobs=jobs)


def mean_service_s(services: Mapping[str, Service], prior_jobs: float) -> dict[str, float]:
    """Return the mean service time of each resource in seconds.

    Parameters
    ----------
    services
        What is known of each; sums that are no amounts count as nothing known.
    prior_jobs
        How many requests of the mean of all are added to each, so that few do not
        count for much.

    Returns
    -------
    dict
        Empty when no request of any is known.
    """
    services = {name: own if _is_amount(own) else Service() for name, own in services.items()}
    together = Service()
    for own in services.values():
        together = together.plus(own)
    if not (together.number > 0 and together.total_s > 0):
        return {}
    mean_s = together.total_s / together.number
    return {
        name: (own.total_s + prior_jobs * mean_s) / (own.number + prior_jobs)
        if own.number + prior_jobs > 0
        else mean_s
        for name, own in sorted(services.items())
    }


def _is_amount(own: Service) -> bool:
    return 0 <= own.number < inf and 0 <= own.total_s <= own.number * MOST_MEAN_S
