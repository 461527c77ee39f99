"""Who wins where: policies by profile, and how sure a difference is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from autoscaler.simulation.study.comparison import CaseResult
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.figures import mean_completion_s, quantiles
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.pairing import POD_START_S, Ratio, ratio_of

ALL = "all"
# Figures so close to the lowest one are as good, for nobody feels a hundredth; and so are
# those that differ by the start of a pod.
NEARLY = 1.01
# More would fill a table, and say nothing each; the JSON has all of them.
MOST_PRIORITIES = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """Waiting of one group of jobs under one policy.

    Parameters
    ----------
    mean_s
        ``None`` where a job never started.
    p95_s
        ``None`` where it falls on a job that never started.
    never_ran
        Jobs without a start.
    wins
        Whether all jobs ran and no other policy has a mean that is clearly lower.
    """

    mean_s: float | None
    p95_s: float | None
    never_ran: int
    wins: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """How one policy did on one case.

    Parameters
    ----------
    completion_s
        Mean; ``None`` when a job never ended.
    ratio
        Completion against the mark; ``None`` where the mark was not run.
    cells
        One a group, in the order of the groups.
    """

    outcome: Outcome
    completion_s: float | None
    ratio: Ratio | None
    cells: tuple[Cell, ...]


def groups_of(result: CaseResult) -> tuple[str, ...]:
    """Return all jobs together, then each profile, then each priority if there are some."""
    jobs = result.case.present.jobs
    priorities = priorities_shown(job.priority for job in jobs)
    return ALL, *sorted({job.profile for job in jobs}), *map(priority_text, priorities)


def priorities_shown(found: Iterable[int]) -> list[int]:
    """Return the priorities of jobs that tables have, the highest first; none of one only."""
    distinct = sorted(set(found), reverse=True)
    return distinct if 1 < len(distinct) <= MOST_PRIORITIES else []


def priority_text(priority: int) -> str:
    """Return what the group of a priority is called."""
    return f"priority {priority}"


def standings(result: CaseResult) -> tuple[Standing, ...]:
    """Return how each policy did, in the order asked for."""
    groups = groups_of(result)
    columns = [_column([_cell(o.jobs, group) for o in result.outcomes]) for group in groups]
    mark = next((own for own in result.outcomes if own.policy == MARK), None)
    return tuple(
        Standing(
            outcome,
            mean_completion_s(outcome),
            None if mark is None else ratio_of(outcome, mark),
            tuple(column[place] for column in columns),
        )
        for place, outcome in enumerate(result.outcomes)
    )


def _cell(jobs: Sequence[JobTimes], group: str) -> Cell:
    own = [t for t in jobs if group in (ALL, t.job.profile, priority_text(t.job.priority))]
    waits = [t.wait_s for t in own if t.wait_s is not None]
    mean_s = fmean(waits) if waits and len(waits) == len(own) else None
    p95_s = quantiles(t.wait_s for t in own)["p95"]
    return Cell(mean_s, p95_s, len(own) - len(waits))


def _column(cells: Sequence[Cell]) -> list[Cell]:
    """Mark the winners of one group; where all are alike there is none."""
    known = [c.mean_s for c in cells if c.mean_s is not None]
    least_s = min(known, default=0.0)
    limit_s = max(least_s * NEARLY, least_s + POD_START_S)
    wins = [c.mean_s is not None and c.mean_s <= limit_s for c in cells]
    if all(wins):
        return list(cells)
    return [
        Cell(c.mean_s, c.p95_s, c.never_ran, won) for c, won in zip(cells, wins, strict=True)
    ]
