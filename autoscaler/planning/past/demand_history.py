"""Demand of the past: how many instances were wanted at once, on an even grid of time.

What is not known is NaN and never zero. Where the samples come from, and how they are
asked for, is the business of adapters.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.past.queue_model import Job

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Key = tuple[str, str]
"""Pool and resource name."""

HASH_DIGITS = 12
# More than ten thousand GPUs hold in their smallest instances. Beyond it a sample is a
# fault of whoever took it.
MOST_INSTANCES = 100_000


class Source(StrEnum):
    """Where history comes from."""

    OWN_METRICS = "mig-autoscaler"
    KUBE_STATE_METRICS = "kube-state-metrics"
    JOB_LOG = "job-log"


@dataclass(frozen=True, slots=True)
class Grid:
    """Even points in time.

    Parameters
    ----------
    start_s
        The first, epoch seconds.
    step_s
        From one to the next, above 0.
    number
        How many, at least 0.
    """

    start_s: float
    step_s: float
    number: int

    def __post_init__(self) -> None:
        if not self.step_s > 0 or self.number < 0:
            raise ValueError(f"not a grid: {self}")

    @property
    def end_s(self) -> float:
        """The end of the last step."""
        return self.start_s + self.number * self.step_s

    def times_s(self) -> FloatArray:
        """Return all points."""
        return self.start_s + self.step_s * np.arange(self.number, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Service:
    """Service times of past requests: how many, and their sum in seconds."""

    number: float = 0.0
    total_s: float = 0.0

    def plus(self, other: "Service") -> "Service":
        """Return both together."""
        return Service(self.number + other.number, self.total_s + other.total_s)


@dataclass(frozen=True, slots=True, eq=False)
class DemandHistory:
    """The past of some pools.

    Parameters
    ----------
    grid
        Points in time of all samples.
    wanted
        Instances asked for at once, waiting and held, by pool and resource; NaN where
        not known, as are samples that cannot be. A resource that is not there is not
        known at all.
    held
        Those of ``wanted`` that were held, where that is known.
    services
        Service times of requests that ended.
    jobs
        Single requests in order of arrival, where they are known.
    sources
        Where it comes from, in the order of preference.
    notices
        What is missing or odd, one sentence each.
    """

    grid: Grid
    wanted: Mapping[Key, FloatArray] = field(default_factory=dict)
    held: Mapping[Key, FloatArray] = field(default_factory=dict)
    services: Mapping[Key, Service] = field(default_factory=dict)
    jobs: Mapping[Key, tuple[Job, ...]] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key, samples in chain(self.wanted.items(), self.held.items()):
            if samples.shape != (self.grid.number,):
                raise ValueError(f"{key}: {samples.shape} samples for {self.grid.number}")
            samples.setflags(write=False)
        for name, part in (("wanted", self.wanted), ("held", self.held)):
            likely = {key: _plausible(samples) for key, samples in part.items()}
            object.__setattr__(self, name, likely)

    @property
    def pools(self) -> tuple[str, ...]:
        """Names of the pools, sorted."""
        return tuple(sorted({pool for pool, _ in self.wanted}))

    def of_pool(self, pool: str) -> dict[str, FloatArray]:
        """Return the samples of a pool by resource, sorted; those of which any is known."""
        return {
            resource: samples
            for (own, resource), samples in sorted(self.wanted.items())
            if own == pool and not np.isnan(samples).all()
        }

    def known(self, pool: str) -> BoolArray:
        """Say of each point whether all resources of a pool that are ever known are."""
        samples = list(self.of_pool(pool).values())
        known = np.full(self.grid.number, bool(samples))
        for own in samples:
            known &= ~np.isnan(own)
        return known

    def known_s(self, pool: str) -> float:
        """Return the time of which a pool's demand is known, in seconds."""
        return float(self.known(pool).sum()) * self.grid.step_s

    def filled_with(self, other: "DemandHistory") -> "DemandHistory":
        """Return this history with what another of the same grid knows beyond it."""
        if other.grid != self.grid:
            raise ValueError(f"{other.grid} is not {self.grid}")
        sources = dict.fromkeys((*self.sources, *other.sources))
        return replace(
            self,
            wanted=_filled(self.wanted, other.wanted),
            held=_filled(self.held, other.held),
            services={**other.services, **self.services},
            jobs={**other.jobs, **self.jobs},
            sources=tuple(sources),
            notices=(*self.notices, *other.notices),
        )

    def fingerprint(self, pool: str) -> str:
        """Return a short hash of all that is known of a pool."""
        digest = hashlib.sha256(repr(self.grid).encode())
        for name, part in (("wanted", self.wanted), ("held", self.held)):
            for key, samples in sorted(part.items()):
                if key[0] == pool:
                    digest.update(f"{name} {key}".encode())
                    digest.update(np.nan_to_num(samples, nan=-1.0).tobytes())
        for own in (self.services, self.jobs):
            told = sorted((key, repr(value)) for key, value in own.items() if key[0] == pool)
            digest.update(repr(told).encode())
        return digest.hexdigest()[:HASH_DIGITS]


def _plausible(samples: FloatArray) -> FloatArray:
    """Return samples with those that cannot be as not known."""
    able = np.isnan(samples) | ((samples >= 0) & (samples <= MOST_INSTANCES))
    if able.all():
        return samples
    known = np.where(able, samples, np.nan)
    known.setflags(write=False)
    return known


def _filled(
    first: Mapping[Key, FloatArray], second: Mapping[Key, FloatArray]
) -> dict[Key, FloatArray]:
    found = dict(second)
    for key, samples in first.items():
        rest = second.get(key)
        found[key] = samples if rest is None else np.where(np.isnan(samples), rest, samples)
    return found


def on_grid(points: Iterable[tuple[float, float]], grid: Grid) -> tuple[FloatArray, int]:
    """Return samples on a grid, and how many points could not be used.

    Parameters
    ----------
    points
        Time in epoch seconds and value, in any order. Of several for one place the last
        given counts. What is not a number, infinite or below zero is not known.
    grid
        Where they belong; each goes to the nearest place.
    """
    samples = np.full(grid.number, np.nan)
    odd = 0
    for at_s, value in points:
        place = (at_s - grid.start_s) / grid.step_s
        is_inside = isfinite(place) and 0 <= round(place) < grid.number
        if is_inside and isfinite(value) and value >= 0:
            samples[round(place)] = value
        else:
            odd += 1
    return samples, odd


def history_of_jobs(
    jobs: Mapping[Key, Sequence[Job]], grid: Grid, notices: tuple[str, ...] = ()
) -> DemandHistory:
    """Return the history that single requests make, as if none had waited.

    Parameters
    ----------
    jobs
        By pool and resource, in any order; what lies outside of the grid counts as far
        as it reaches into it.
    grid
        Points in time.
    notices
        What is odd about them.
    """
    wanted = {key: concurrency(own, grid) for key, own in sorted(jobs.items())}
    return DemandHistory(
        grid=grid,
        wanted=wanted,
        held=dict(wanted),
        services={
            key: Service(len(own), sum(job.service_s for job in own))
            for key, own in sorted(jobs.items())
        },
        jobs={key: tuple(sorted(own)) for key, own in sorted(jobs.items())},
        sources=(Source.JOB_LOG,),
        notices=notices,
    )


def concurrency(jobs: Iterable[Job], grid: Grid) -> FloatArray:
    """Return how many jobs would be served at each point if none ever waited."""
    own = list(jobs)
    starts = np.sort(np.array([job.arrival_s for job in own], dtype=np.float64))
    ends = np.sort(np.array([job.arrival_s + job.service_s for job in own], dtype=np.float64))
    times_s = grid.times_s()
    begun = np.searchsorted(starts, times_s, side="right")
    over = np.searchsorted(ends, times_s, side="right")
    return (begun - over).astype(np.float64)
