"""Cases: the jobs to learn from, those that policies are judged on, and a fleet for them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import floor
from random import Random

from autoscaler.domain.errors import ConfigError, LoadError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study import notices as saying
from autoscaler.simulation.study.dates import DAY_S, MONDAY_S, start_of
from autoscaler.simulation.study.division import Days, Division, dense_days, idle_days
from autoscaler.simulation.study.jobs import StudyJob, slices_of, work_of
from autoscaler.simulation.study.trace_file import Trace, profiles_of

# Longer jobs are services: no mix can be judged by what they wait.
LONGEST_S = DAY_S
SHORTEST_S = 1.0
SPREAD_S = 1800.0
# The load that jobs make of a fleet as they are.
OWN = "own"
# Ten times the longest trace that is shipped, on a fleet of thousands; more takes days and
# all memory.
MOST_JOBS = 2_000_000
MOST_GPUS = 10_000


class Split(StrEnum):
    """How days are divided."""

    BASE = "base"
    SWAPPED = "swapped"
    RESAMPLED = "resampled"


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs of some days; their arrivals count from the start of the first."""

    jobs: tuple[StudyJob, ...]
    span_s: float


@dataclass(frozen=True, slots=True)
class Announcement:
    """Instances of a profile that people say will be asked for at once, between two times."""

    start_s: float
    end_s: float
    profile: str
    number: int


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
    notices
        What a reader of results must know.
    announced
        What a policy is told of the time to come, in seconds of the run.
    start_s
        Epoch second at which the run begins, so that weekdays are those of the jobs.
    cluster_seed
        Of what is left to chance on the embedded cluster.
    """

    name: str
    model: GpuModel
    gpus: int
    load: float
    past: Work
    present: Work
    seed: int = 0
    notices: tuple[str, ...] = ()
    announced: tuple[Announcement, ...] = ()
    start_s: float = MONDAY_S
    cluster_seed: int = 0


@dataclass(frozen=True, slots=True)
class Draw:
    """Which case of a trace is wanted.

    Parameters
    ----------
    load
        ``None`` for the jobs as they are: what they make of the fleet is their load.
    gpus
        Size of the fleet; jobs are then added or left out until they make the load.
        ``None`` for a fleet as large as the load needs it to be.
    has_chance
        Whether a policy that is run draws by the seed.
    """

    split: Split
    load: float | None
    seed: int = 0
    division: Division = field(default_factory=Division)
    gpus: int | None = None
    has_chance: bool = False


def build_case(trace: Trace, column: str, model: GpuModel, draw: Draw) -> Case:
    """Return a case: fleet and jobs fit each other as the load says.

    Raises
    ------
    ConfigError
        When the chosen days have no job, or jobs as they are have no fleet.
    LoadError
        When the load asks for less than one GPU or more than can be run, or a fleet for
        more jobs than can be run.
    """
    if draw.load is not None and not draw.load > 0:
        raise LoadError(f"a load of {draw.load} is none")
    past_days, present_days = draw.division.of(trace)
    if draw.split is Split.SWAPPED:
        past_days, present_days = present_days, past_days
    past = work_of_days(trace, model, past_days)
    present = work_of_days(trace, model, present_days)
    notices = [*trace.notices, *_omitted(trace, draw, (past_days, present_days))]
    is_drawn = trace.is_drawn or draw.has_chance
    if draw.split is Split.RESAMPLED:
        present, is_drawn = resampled(present, draw.seed), True
        notices.append(saying.drawn_days(trace.name, present_days.number))
    gpus, load, factor = _fitted(gpus_filled(present, model), draw)
    name = f"{trace.name} {column} {draw.split.value} load {load:g}"
    if draw.load is None:
        name += f" ({OWN})"
    if draw.gpus is not None:
        name += f" gpus {gpus}"
    number = factor * max(len(past.jobs), len(present.jobs))
    if number > MOST_JOBS:
        raise LoadError(
            f"{trace.name}: a load of {load:g} on {gpus} GPUs takes {number:,.0f}"
            f" jobs as short as these; at most {MOST_JOBS:,} are run"
        )
    if factor != 1:
        own = (past, present)
        past, present = (scaled(work, model, factor, draw.seed) for work in own)
        numbers = ([len(work.jobs) for work in works] for works in (own, (past, present)))
        notices += saying.fitted_jobs(f"load {load:g} on {gpus} x {model.key}", *numbers)
        is_drawn = True
    if is_drawn:
        name += f" seed {draw.seed}"
    start_s = start_of(trace.zero_s, present_days.first * DAY_S)
    told = tuple(notices)
    return Case(name, model, gpus, load, past, present, draw.seed, told, start_s=start_s)


def usual_load(are_own: bool, gpus: int | None) -> float | None:
    """Return the load where none is given: on a fleet of a size, people's jobs have theirs."""
    return None if are_own and gpus is not None else 0.5


def load_of(text: float | str) -> float | None:
    """Return a load that was given; ``None`` for ``own``, ValueError where it is no number."""
    return None if text == OWN else float(text)


def load_text(load: float | None) -> str:
    """Return a load in words: ``own`` for that of the jobs as they are."""
    return OWN if load is None else f"{load:g}"


def _fitted(filled: float, draw: Draw) -> tuple[int, float, float]:
    """Return size of the fleet, load, and how much of the work makes that.

    Parameters
    ----------
    filled
        How many GPUs the jobs as they are would fill.
    """
    if draw.load is None:
        if draw.gpus is None:
            raise ConfigError(
                "jobs as they are (load own) need to be told how many GPUs there are"
            )
        return draw.gpus, round(filled / draw.gpus, 4), 1.0
    if draw.gpus is None:
        return fleet_size(filled, draw.load), draw.load, 1.0
    return draw.gpus, draw.load, draw.load * draw.gpus / filled


def _omitted(trace: Trace, draw: Draw, days: tuple[Days, Days]) -> Iterator[str]:
    """Yield what is left out of a trace, and which days have none of it."""
    if trace.days is None:
        first, end = dense_days(trace)
        if draw.division.past is None:
            yield from saying.early_jobs(trace, first * DAY_S, first)
        if draw.division.present is None:
            yield from saying.late_jobs(trace, end * DAY_S, end)
    yield from saying.shifted_past(trace, days[1].first - days[0].end)
    yield from saying.long_jobs(
        trace, [(own.first * DAY_S, own.end * DAY_S) for own in days], LONGEST_S
    )
    for own in days:
        yield from idle_days(trace, own)


def work_of_days(trace: Trace, model: GpuModel, days: Days) -> Work:
    """Return the jobs of some days; one of several instances is as many jobs."""
    start_s = days.first * DAY_S
    names = profiles_of(trace, model)
    jobs = [
        StudyJob(
            arrival_s=row.arrival_s - start_s,
            number=0,
            run_s=max(SHORTEST_S, row.run_s),
            profile=names[row.profile],
            priority=row.priority,
            run_on_s=tuple((names[text], run_s) for text, run_s in row.run_on_s),
        )
        for row in trace.rows
        if row.run_s <= LONGEST_S and 0 <= row.arrival_s - start_s < days.span_s
        for _ in range(row.count)
    ]
    if not jobs:
        raise ConfigError(
            f"{trace.name}: no job arrived on days {days.first} to {days.end}"
            " that ran for a day at most"
        )
    return Work(numbered(jobs), days.span_s)


def resampled(work: Work, seed: int) -> Work:
    """Return as many days drawn with replacement, arrivals kept within the day."""
    random, days = Random(seed), round(work.span_s / DAY_S)
    found = days_again(work, [random.randrange(days) for _ in range(days)])
    if not found.jobs:
        raise ConfigError(f"seed {seed} drew only days without a job")
    return found


def days_again(work: Work, days: Sequence[int]) -> Work:
    """Return some days of a work one after another, each as often as it is named."""
    by_day: dict[int, list[StudyJob]] = {}
    for job in work.jobs:
        by_day.setdefault(int(job.arrival_s // DAY_S), []).append(job)
    jobs = [
        replace(job, arrival_s=job.arrival_s + (place - day) * DAY_S)
        for place, day in enumerate(days)
        for job in by_day.get(day, ())
    ]
    return Work(numbered(jobs), len(days) * DAY_S)


def scaled(work: Work, model: GpuModel, factor: float, seed: int) -> Work:
    """Return a factor's amount of work in jobs like those of some work, on the same days.

    Each job is there as often as the factor is whole; of the rest, jobs are taken in an
    order that the seed draws until the work is reached. Copies arrive up to half an hour
    earlier or later than the job itself, but on its day, so that they do not come as one.
    """
    random = Random(f"scaled {seed}")
    whole = floor(factor)
    slices = slices_of(model)
    lacking = (factor - whole) * work_of(work.jobs, model)
    jobs: list[StudyJob] = list(work.jobs) if whole else []
    copied = [job for _ in range(whole - 1) for job in work.jobs]
    for job in random.sample(work.jobs, len(work.jobs)):
        own = job.run_s * slices[job.profile]
        if own <= 2 * lacking:
            lacking -= own
            copied.append(job)
    if whole:
        jobs += [replace(job, arrival_s=_shifted(job.arrival_s, random)) for job in copied]
    else:
        jobs = copied
    if not jobs:
        raise LoadError(f"a share of {factor:.2g} of the work is less than any job")
    return Work(numbered(jobs), work.span_s)


def _shifted(arrival_s: float, random: Random) -> float:
    day, second = divmod(arrival_s, DAY_S)
    moved_s = second + random.uniform(-SPREAD_S, SPREAD_S)
    return round(day * DAY_S + min(max(moved_s, 0.0), DAY_S - SHORTEST_S), 3)


def fleet_size(filled: float, load: float) -> int:
    """Return how many GPUs are filled to a load by work that would fill so many whole."""
    # The least loads there are take a quotient beyond all numbers.
    if filled > load * (MOST_GPUS + 1):
        raise LoadError(
            f"a load of {load:g} is that of more than {MOST_GPUS:,} GPUs; jobs are left out"
            f" for a fleet of a given size"
        )
    gpus = floor(filled / load)
    if gpus < 1:
        raise LoadError(
            f"a load of {load:g} is more than all the work on one GPU; for a fleet of a given"
            f" size jobs are added"
        )
    return gpus


def gpus_filled(work: Work, model: GpuModel) -> float:
    """Return how many GPUs the work would fill all the time."""
    return work_of(work.jobs, model) / (model.compute_slices * work.span_s)


def numbered(jobs: Iterable[StudyJob]) -> tuple[StudyJob, ...]:
    """Return jobs in order of arrival, those of one moment in the order given."""
    ordered: Sequence[StudyJob] = sorted(jobs, key=lambda job: job.arrival_s)
    return tuple(replace(job, number=number) for number, job in enumerate(ordered))
