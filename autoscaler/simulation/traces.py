"""Jobs of real traces, and how a slice of one is turned into a load for a fleet.

What is taken from the trace and what is not must be plain: arrivals are drawn again
from the hours that were chosen, durations and sizes stay as they were.
"""

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from random import Random

from autoscaler.domain.errors import ConfigError

DAY_S = 86_400.0
# Draws of one trace job are spread by up to this, so that they do not arrive as one.
JITTER_S = 300.0


class Rule(StrEnum):
    """How a share of a GPU of the trace becomes a MIG profile; the column's name."""

    SHARE = "mig_share"
    STRICT = "mig_strict"
    V100_EQUIVALENT = "mig_v100eq"


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job that asked for GPUs.

    Parameters
    ----------
    arrival_s
        Seconds from the trace's own zero.
    duration_s
        How long it ran, at least 1.
    slices
        Compute slices of one of its instances.
    instances
        How many instances it asked for.
    """

    number: int
    arrival_s: float
    duration_s: float
    slices: int
    instances: int
    cpu_milli: int
    memory_mib: int

    @property
    def work(self) -> float:
        """Slice-seconds it needs."""
        return self.slices * self.instances * self.duration_s


@dataclass(frozen=True, slots=True)
class Hours:
    """Some hours of some days of a trace; day and hour count from its zero."""

    first_day: int
    last_day: int
    start_h: float = 0.0
    end_h: float = 24.0

    def __post_init__(self) -> None:
        if not (self.first_day <= self.last_day and 0 <= self.start_h < self.end_h <= 24):
            raise ValueError(f"not hours of days: {self}")

    @property
    def span_s(self) -> float:
        """Length of the hours on one day."""
        return (self.end_h - self.start_h) * 3600

    def contains(self, time_s: float) -> bool:
        """Say whether a moment of the trace lies in these hours."""
        day, second = divmod(time_s, DAY_S)
        in_hours = self.start_h * 3600 <= second < self.end_h * 3600
        return self.first_day <= day <= self.last_day and in_hours

    def offset_s(self, time_s: float) -> float:
        """Return how long after the first of the hours a moment lies."""
        return time_s % DAY_S - self.start_h * 3600


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that arrives some seconds after the start of a run."""

    offset_s: float
    job: TraceJob


@dataclass(frozen=True, slots=True)
class Load:
    """Arrivals and the factors behind them, to be shown to people.

    Parameters
    ----------
    candidates
        Jobs of the trace in the chosen hours.
    offered
        Slice-seconds of all arrivals, and the target they were drawn for.
    """

    arrivals: tuple[Arrival, ...]
    candidates: int
    offered: float
    target: float


@cache
def load_openb(rule: Rule) -> tuple[TraceJob, ...]:
    """Return the GPU jobs of the openb trace with a known duration, by arrival."""
    name = "openb_pods.csv.gz"
    path = resources.files("autoscaler.simulation").joinpath("data", name)
    with path.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8") as text:
        rows = csv.DictReader(text)
        jobs = [
            _job(row, rule) for row in rows if row["duration_s"] and row["mig_count"] != "0"
        ]
    return tuple(sorted(jobs, key=lambda job: (job.arrival_s, job.number)))


def select(
    jobs: Iterable[TraceJob], hours: Hours, max_duration_s: float = DAY_S
) -> tuple[TraceJob, ...]:
    """Return the jobs that arrived in some hours and ran no longer than a limit."""
    return tuple(
        job
        for job in jobs
        if hours.contains(job.arrival_s) and job.duration_s <= max_duration_s
    )


def replay(jobs: Sequence[TraceJob], hours: Hours) -> Load:
    """Return the arrivals as they were, those of several days on top of each other."""
    arrivals = [Arrival(hours.offset_s(job.arrival_s), job) for job in jobs]
    work = sum(job.work for job in jobs)
    return Load(_ordered(arrivals), len(jobs), work, work)


def resample(jobs: Sequence[TraceJob], hours: Hours, *, work: float, seed: int) -> Load:
    """Return arrivals drawn from jobs until they need an amount of work.

    Parameters
    ----------
    jobs
        Candidates, all within the hours; drawn with replacement.
    work
        Slice-seconds to offer. The last draw is kept only if that comes closer.
    seed
        The same seed gives the same arrivals.

    Raises
    ------
    ConfigError
        When there is no job to draw from.
    """
    if not jobs:
        raise ConfigError("no job of the trace arrived in the chosen hours")
    random = Random(seed)
    arrivals: list[Arrival] = []
    offered = 0.0
    while offered < work:
        job = jobs[random.randrange(len(jobs))]
        offset_s = hours.offset_s(job.arrival_s) + random.uniform(-JITTER_S, JITTER_S)
        if offered + job.work - work > work - offered:
            break
        offered += job.work
        # Whatever the jitter pushes over one end comes in at the other.
        arrivals.append(Arrival(round(offset_s % hours.span_s, 3), job))
    return Load(_ordered(arrivals), len(jobs), offered, work)


def work_by_slices(jobs: Iterable[TraceJob]) -> dict[int, float]:
    """Return the slice-seconds of jobs by the compute slices of their instances."""
    total: dict[int, float] = {}
    for job in jobs:
        total[job.slices] = total.get(job.slices, 0.0) + job.work
    return dict(sorted(total.items()))


def _ordered(arrivals: Iterable[Arrival]) -> tuple[Arrival, ...]:
    return tuple(sorted(arrivals, key=lambda a: (a.offset_s, a.job.number)))


def _job(row: dict[str, str], rule: Rule) -> TraceJob:
    return TraceJob(
        number=int(row["pod"]),
        arrival_s=float(row["arrival_s"]),
        duration_s=max(1.0, float(row["duration_s"])),
        slices=int(row[rule].rstrip("g")),
        instances=int(row["mig_count"]),
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
    )
