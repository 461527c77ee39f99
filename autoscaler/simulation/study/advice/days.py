"""Which days a search may choose by, which ones prove it, and draws of them."""

from dataclasses import dataclass, replace
from random import Random

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.splits import Case, Work, days_again, numbered

# Of the days that policies are judged on, so many choose; the later ones prove.
CHOOSING_SHARE = 0.6
LEAST_DAYS = 4


@dataclass(frozen=True, slots=True)
class Halves:
    """A case in two, in the order of time.

    Parameters
    ----------
    choosing
        Its days choose among candidates.
    proving
        Its days are later and choose nothing. To learn from it has all days before.
    """

    choosing: Case
    proving: Case


@dataclass(frozen=True, slots=True)
class DrawnDays:
    """A case of days drawn from another, and which day each of them was there.

    Jobs of one day that was drawn twice are no two observations, so whoever reckons how
    sure a figure is has to know.
    """

    case: Case
    sources: tuple[int, ...]


def halves_of(case: Case) -> Halves:
    """Divide a case in time; ConfigError when it is too short for that."""
    days = days_of(case)
    if days < LEAST_DAYS:
        raise ConfigError(
            f"{case.name}: {days} days to be judged on are too few for advice: it takes at"
            f" least {LEAST_DAYS}, some to choose by and some to prove it"
        )
    first = min(max(2, round(CHOOSING_SHARE * days)), days - 2)
    at_s = first * DAY_S
    before = [job for job in case.present.jobs if job.arrival_s < at_s]
    after = [
        replace(job, arrival_s=job.arrival_s - at_s)
        for job in case.present.jobs
        if job.arrival_s >= at_s
    ]
    if not before or not after:
        raise ConfigError(f"{case.name}: no job arrives on the first or the last {first} days")
    choosing = Work(numbered(before), at_s)
    proving = Work(numbered(after), case.present.span_s - at_s)
    return Halves(
        replace(case, present=choosing),
        replace(
            case,
            past=joined(case.past, choosing),
            present=proving,
            start_s=case.start_s + at_s,
        ),
    )


def joined(first: Work, second: Work) -> Work:
    """Return the work of some days and of those right after them."""
    later = [replace(job, arrival_s=job.arrival_s + first.span_s) for job in second.jobs]
    return Work(numbered((*first.jobs, *later)), first.span_s + second.span_s)


def days_of(case: Case) -> int:
    """Return how many days policies are judged on."""
    return round(case.present.span_s / DAY_S)


def in_order(case: Case) -> DrawnDays:
    """Return all days as they came."""
    return DrawnDays(case, tuple(range(days_of(case))))


def drawn(case: Case, number: int, seed: int) -> DrawnDays:
    """Return some days drawn with replacement, arrivals kept within the day.

    A draw of days that have no job is taken again, because nothing can be said by it.
    """
    random, days = Random(f"advice {seed}"), days_of(case)
    work = Work((), 0.0)
    while not work.jobs:
        sources = tuple(random.randrange(days) for _ in range(number))
        work = days_again(case.present, sources)
    name = f"{case.name}, {number} days drawn by {seed}"
    return DrawnDays(replace(case, name=name, present=work), sources)
