"""Trials: candidates on the same draws of days, and how they compare."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.study.advice.candidates import Candidate
from autoscaler.simulation.study.advice.days import DrawnDays
from autoscaler.simulation.study.checks import require_sound
from autoscaler.simulation.study.contrast import MARK
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.pairing import Ratio, ratio_by_who_ran, ratio_of_days
from autoscaler.simulation.study.policies import Conditions, run_policy
from autoscaler.simulation.study.splits import Case
from autoscaler.simulation.study.sweep import HERE, Workers

AUTOSCALER = "autoscaler"


@dataclass(frozen=True, slots=True)
class Bench:
    """What all trials have in common.

    Parameters
    ----------
    base
        The policy that candidates change.
    told
        Is called when one run is over.
    """

    base: Policy
    conditions: Conditions
    workers: Workers = HERE
    told: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate on some draws, with one outcome each."""

    candidate: Candidate
    outcomes: tuple[Outcome, ...]


def trials_of(
    bench: Bench, candidates: Sequence[Candidate], draws: Sequence[DrawnDays]
) -> list[Trial]:
    """Run each candidate on each draw; the order is that of the candidates."""
    tasks = [(own, draw.case) for own in candidates for draw in draws]
    outcomes = iter(list(_outcomes(bench, tasks)))
    return [Trial(own, tuple(next(outcomes) for _ in draws)) for own in candidates]


def versus(own: Trial, other: Trial, draws: Sequence[DrawnDays]) -> Ratio:
    """Return how one trial does against another of the same draws.

    The interval is over the days that were drawn from: two draws of one day count once.
    """
    sums: dict[int, list[float]] = {}
    for mine, theirs, draw in zip(own.outcomes, other.outcomes, draws, strict=True):
        for a, b in zip(mine.jobs, theirs.jobs, strict=True):
            day = sums.setdefault(draw.sources[int(a.job.arrival_s // DAY_S)], [0.0, 0.0, 0.0])
            day[0] += inf if a.completion_s is None else a.completion_s
            day[1] += inf if b.completion_s is None else b.completion_s
            day[2] += 1
    days = np.array([sums[day] for day in sorted(sums)])
    own_ran, other_ran = (bool(np.isfinite(days[:, side]).all()) for side in (0, 1))
    if not (own_ran and other_ran):
        return ratio_by_who_ran(own_ran=own_ran, other_ran=other_ran)
    return ratio_of_days(days)


def run_trial(conditions: Conditions, case: Case, policy: Policy | None) -> Outcome:
    """Run one policy on one case, in whatever process this is."""
    if policy is None:
        outcome = run_policy(MARK, case, conditions)
    else:
        outcome = run_policy(AUTOSCALER, case, replace(conditions, policy=policy))
    require_sound(outcome, case)
    return outcome


def _outcomes(bench: Bench, tasks: Sequence[tuple[Candidate, Case]]) -> Iterator[Outcome]:
    calls = [(case, None if own.is_fixed else own.policy(bench.base)) for own, case in tasks]
    pool = bench.workers.pool
    if pool is None:
        for case, policy in calls:
            yield run_trial(bench.conditions, case, policy)
            bench.told()
        return
    futures: list[Future[Outcome]] = [
        pool.submit(run_trial, bench.conditions, case, policy) for case, policy in calls
    ]
    try:
        for future in futures:
            yield future.result()
            bench.told()
    finally:
        for future in futures:
            future.cancel()
