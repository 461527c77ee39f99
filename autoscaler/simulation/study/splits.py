"""Cases: which days of a trace a policy may learn from, and which it is judged on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import floor
from random import Random

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import StudyJob, work_of
from autoscaler.simulation.study.trace_file import Trace, profile_named

DAY_S = 86_400.0
# Longer jobs are services: no mix can be judged by what they wait.
LONGEST_S = DAY_S
SHORTEST_S = 1.0


class Split(StrEnum):
    """How days are divided."""

    BASE = "base"
    SWAPPED = "swapped"
    RESAMPLED = "resampled"


@dataclass(frozen=True, slots=True)
class Days:
    """Days of a trace, the last one not included."""

    first: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.end:
            raise ConfigError(f"{self.first}:{self.end} are no days")

    @property
    def number(self) -> int:
        """How many."""
        return self.end - self.first

    @property
    def span_s(self) -> float:
        """Their length in seconds."""
        return self.number * DAY_S


@dataclass(frozen=True, slots=True)
class Division:
    """Days to learn from and days to be judged on."""

    past: Days = Days(115, 134)
    present: Days = Days(134, 149)

    def swapped(self) -> "Division":
        """Return the division the other way round."""
        return Division(self.present, self.past)


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs of some days; their arrivals count from the start of the first."""

    jobs: tuple[StudyJob, ...]
    span_s: float


@dataclass(frozen=True, slots=True)
class Case:
    """What policies are compared on.

    Parameters
    ----------
    name
        Trace, column, split and load in words.
    gpus
        Size of the fleet.
    past, present
        What a policy may learn from, and what it is judged on.
    """

    name: str
    model: GpuModel
    gpus: int
    load: float
    past: Work
    present: Work
    seed: int = 0
    notices: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Draw:
    """Which case of a trace is wanted."""

    split: Split
    load: float
    seed: int = 0
    division: Division = Division()

    @property
    def days(self) -> Division:
        """The division that holds for the split."""
        return self.division.swapped() if self.split is Split.SWAPPED else self.division


def build_case(trace: Trace, column: str, model: GpuModel, draw: Draw) -> Case:
    """Return a case: the fleet is as large as the load needs it to be.

    Raises
    ------
    ConfigError
        When the chosen days have no job, or the load asks for less than one GPU.
    """
    if not draw.load > 0:
        raise ConfigError(f"a load of {draw.load} is none")
    past = work_of_days(trace, model, draw.days.past)
    present = work_of_days(trace, model, draw.days.present)
    if draw.split is Split.RESAMPLED:
        present = resampled(present, draw.seed)
    gpus = fleet_size(present, model, draw.load)
    name = f"{trace.name} {column} {draw.split.value} load {draw.load:g}"
    if draw.split is Split.RESAMPLED:
        name += f" seed {draw.seed}"
    return Case(name, model, gpus, draw.load, past, present, draw.seed)


def work_of_days(trace: Trace, model: GpuModel, days: Days) -> Work:
    """Return the jobs of some days; one of several GPUs is as many of a whole one."""
    start_s, whole = days.first * DAY_S, model.whole_gpu.name
    names = {text: profile_named(model, text) for text in {r.profile for r in trace.rows}}
    jobs = [
        StudyJob(
            arrival_s=row.arrival_s - start_s,
            number=0,
            run_s=max(SHORTEST_S, row.run_s),
            profile=names[row.profile] if row.count == 1 else whole,
        )
        for row in trace.rows
        if row.run_s <= LONGEST_S and 0 <= row.arrival_s - start_s < days.span_s
        for _ in range(row.count)
    ]
    if not jobs:
        raise ConfigError(f"{trace.name}: no job arrived on days {days.first} to {days.end}")
    return Work(numbered(jobs), days.span_s)


def resampled(work: Work, seed: int) -> Work:
    """Return as many days drawn with replacement, arrivals kept within the day."""
    by_day: dict[int, list[StudyJob]] = {}
    for job in work.jobs:
        by_day.setdefault(int(job.arrival_s // DAY_S), []).append(job)
    days = round(work.span_s / DAY_S)
    random = Random(seed)
    jobs = []
    for day in range(days):
        drawn = random.randrange(days)
        shift_s = (day - drawn) * DAY_S
        jobs += [replace(j, arrival_s=j.arrival_s + shift_s) for j in by_day.get(drawn, ())]
    if not jobs:
        raise ConfigError(f"seed {seed} drew only days without a job")
    return Work(numbered(jobs), work.span_s)


def fleet_size(work: Work, model: GpuModel, load: float) -> int:
    """Return how many GPUs the work fills to a load."""
    needed = work_of(work.jobs, model) / (model.compute_slices * work.span_s)
    gpus = floor(needed / load)
    if gpus < 1:
        raise ConfigError(f"a load of {load:g} is more than all the work on one GPU")
    return gpus


def numbered(jobs: Iterable[StudyJob]) -> tuple[StudyJob, ...]:
    """Return jobs in order of arrival, those of one moment in the order given."""
    ordered: Sequence[StudyJob] = sorted(jobs, key=lambda job: job.arrival_s)
    return tuple(replace(job, number=number) for number, job in enumerate(ordered))
