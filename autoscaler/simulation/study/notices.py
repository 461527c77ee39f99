"""What a reader of results must know of a case: jobs that are left out, added or drawn."""

from collections.abc import Iterator, Sequence

from autoscaler.simulation.study.trace_file import Trace

WEEK_DAYS = 7
Span = tuple[float, float]
"""Start and end of some days in seconds of a trace."""


def long_jobs(trace: Trace, spans: Sequence[Span], longest_s: float) -> Iterator[str]:
    """Say how many jobs are left out because they ran too long.

    Parameters
    ----------
    spans
        Those to learn from, and those to be judged on.
    """
    numbers = [
        sum(
            row.count
            for row in trace.rows
            if row.run_s > longest_s and start_s <= row.arrival_s < end_s
        )
        for start_s, end_s in spans
    ]
    if any(numbers):
        yield f"{trace.name}: jobs longer than a day are left out: {_sides(numbers)}"


def early_jobs(trace: Trace, start_s: float, day: int) -> Iterator[str]:
    """Say how many jobs are left out that came before the first day with enough of them."""
    number = sum(row.count for row in trace.rows if row.arrival_s < start_s)
    if number:
        yield f"{trace.name}: left out before day {day}: {_jobs(number)} that came too sparsely"


def late_jobs(trace: Trace, end_s: float, day: int) -> Iterator[str]:
    """Say how many jobs are left out that came on the last day."""
    number = sum(row.count for row in trace.rows if row.arrival_s >= end_s)
    if number:
        yield f"{trace.name}: left out of day {day}, the last: {_jobs(number)}"


def shifted_past(trace: Trace, gap_days: int) -> Iterator[str]:
    """Say by how many weekdays the past is off, where weekdays are known.

    Parameters
    ----------
    gap_days
        From the end of the days to learn from to the first that is judged.
    """
    if trace.zero_s is not None and gap_days % WEEK_DAYS:
        yield (
            f"{trace.name}: days to learn from count as those right before the run, so their"
            f" weekdays are {gap_days % WEEK_DAYS} too late"
        )


def fitted_jobs(fleet: str, before: Sequence[int], after: Sequence[int]) -> Iterator[str]:
    """Say how many jobs were added or left out to make a load.

    Parameters
    ----------
    fleet
        Load and size in words.
    before, after
        Numbers of jobs to learn from, and of those to be judged on.
    """
    added = [max(0, own - old) for old, own in zip(before, after, strict=True)]
    gone = [max(0, old - own) for old, own in zip(before, after, strict=True)]
    if any(added):
        yield f"copies of jobs are added to make {fleet}: {_sides(added)}"
    if any(gone):
        yield f"jobs are left out to make {fleet}: {_sides(gone)}"


def drawn_days(name: str, number: int) -> str:
    """Say that the days to be judged on are drawn."""
    return f"{name}: days to be judged on are drawn from themselves, with repeats: {number}"


def peak_jobs(peak: str, number: int) -> str:
    """Say how many jobs a peak adds."""
    return f"peak {peak}: added {_jobs(number)}"


def _sides(numbers: Sequence[int]) -> str:
    names = ("to learn from", "to be judged on")
    return ", ".join(f"{n:,} {name}" for n, name in zip(numbers, names, strict=True))


def _jobs(number: int) -> str:
    return f"{number:,} {'job' if number == 1 else 'jobs'}"
