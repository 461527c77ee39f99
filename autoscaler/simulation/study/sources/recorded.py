"""What a cluster's own metrics tell of past requests, as jobs of a study.

Metrics tell how many instances were wanted and held at once; single requests are read out
of that. What changed between two points of the grid is not seen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import floor

import numpy as np

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.domain.mig.resource import GPU, parse_resource, resource_name
from autoscaler.domain.policy.policy import PlanningRules
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.planning.past.demand_history import DemandHistory, Grid, Service
from autoscaler.planning.past.past_jobs import jobs_seen, mean_service_s
from autoscaler.ports import PastDemand
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.sources.source import hash_of
from autoscaler.simulation.study.trace_file import Trace, TraceRow, in_order

# The pace of most scrapes; who asks for less time than that is hardly seen anyway.
STEP_S = 60.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """Jobs that were read out of metrics already.

    Parameters
    ----------
    rows
        By arrival.
    zero_s
        Epoch second from which arrivals count.
    """

    name: str
    rows: tuple[TraceRow, ...]
    notices: tuple[str, ...] = ()
    zero_s: float | None = None

    @property
    def column(self) -> str:
        """What says which profile a job asks for."""
        return "requests"

    def seeded(self, seed: int) -> "Recorded":
        """Return itself: nothing of it is drawn."""
        return self

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs."""
        return Trace(self.name, self.rows, notices=self.notices, zero_s=self.zero_s)

    def fingerprint(self) -> str:
        """Return a hash of the jobs."""
        return hash_of(self.rows, self.zero_s)


@dataclass(frozen=True, slots=True)
class Reach:
    """Which past is asked for.

    Parameters
    ----------
    until_s
        Its end, epoch seconds.
    history_s
        How far it reaches back; from the start of that day on.
    pool
        Pool of our own metrics; empty where only those of the cluster count.
    """

    until_s: float
    history_s: float
    pool: str = ""

    def grid(self) -> Grid:
        """Return the points that are asked for; the first is a midnight of UTC."""
        start_s = DAY_S * floor((self.until_s - self.history_s) / DAY_S)
        return Grid(start_s, STEP_S, max(0, floor((self.until_s - start_s) / STEP_S)))


def recorded(past: PastDemand, name: str, model: GpuModel, reach: Reach) -> Recorded:
    """Return the requests for instances of a model, or for whole GPUs, that are known.

    Raises
    ------
    ConfigError
        When none is known.
    Unavailable
        When nobody answers.
    """
    grid = reach.grid()
    resources = (GPU, *(resource_name(profile.name) for profile in model.profiles))
    history = past.demand(reach.pool, grid, resources)
    rows = list(_rows(history, reach.pool, model))
    if not rows:
        span = format_duration(grid.end_s - grid.start_s)
        raise ConfigError(f"{name}: no request for a GPU is known in the last {span}")
    told = history.notices if reach.pool else ()
    notices = (*told, *_missing(history, reach.pool))
    return Recorded(name, in_order(rows), notices, grid.start_s)


def _rows(history: DemandHistory, pool: str, model: GpuModel) -> Iterator[TraceRow]:
    samples = history.of_pool(pool)
    services = {name: history.services.get((pool, name), Service()) for name in samples}
    means_s = mean_service_s(services, PlanningRules().prior_jobs)
    unknown = np.full(history.grid.number, np.nan)
    for resource, wanted in samples.items():
        profile = _profile_of(model, resource)
        if profile is None:
            continue
        held = history.held.get((pool, resource), unknown)
        known = history.jobs.get((pool, resource))
        jobs = jobs_seen(wanted, held, history.grid, means_s.get(resource, 0.0))
        for job in known or jobs:
            arrival_s = job.arrival_s - history.grid.start_s
            yield TraceRow(arrival_s, job.service_s, profile.name, 1)


def _profile_of(model: GpuModel, resource: str) -> Profile | None:
    """Return the standard profile that serves requests for a resource of the model.

    A variant becomes the smallest profile with all that it has.
    """
    if resource == GPU:
        return model.whole_gpu
    name = parse_resource(model, resource)
    asked = None if name is None else model.profile(name)
    if asked is None:
        return None
    able = (
        p
        for p in model.profiles
        if p.is_plain
        and p.compute_slices >= asked.compute_slices
        and p.memory_slices >= asked.memory_slices
    )
    return min(able, key=lambda p: (p.compute_slices, p.memory_slices))


def _missing(history: DemandHistory, pool: str) -> Iterable[str]:
    known_s = history.known_s(pool)
    span_s = history.grid.number * history.grid.step_s
    if known_s < span_s:
        known, span = (format_duration(round(own)) for own in (known_s, span_s))
        yield f"{known} of the last {span} are known; the rest counts as if nobody had asked"
