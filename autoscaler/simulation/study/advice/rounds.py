"""The search: many candidates on few days, then few candidates on many days.

Successive halving. What a search may cost is given in simulated days and not in time, so
that the same jobs and seed end in the same advice on any machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.advice.candidates import FIXED, Candidate, combined
from autoscaler.simulation.study.advice.days import DrawnDays, days_of, drawn
from autoscaler.simulation.study.advice.trials import Bench, Trial, trials_of, versus
from autoscaler.simulation.study.pairing import Ratio, Verdict
from autoscaler.simulation.study.splits import Case

ROUNDS = 3
# Of the candidates of a round so many go on.
KEPT = 1 / 3
LEAST_KEPT = 3
# Queues begin empty and take their time to build up: in less nothing is told apart.
LEAST_DAYS = 3
# Up to it a policy that changes less is preferred, however sure the difference is.
ALIKE = 1.01
# Between the seeds of two rounds, so that each has draws of its own.
SEEDS_APART = 1000


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate in one round.

    Parameters
    ----------
    number
        Of the round, from 1.
    days
        Simulated days that it was tried on.
    ratio
        Completion time against the fixed mix on the same draws.
    goes_on
        Whether it was tried further, or chosen in the end.
    """

    number: int
    candidate: Candidate
    days: int
    ratio: Ratio
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A trial, and how it did against the fixed mix."""

    trial: Trial
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Search:
    """What a search came to.

    Parameters
    ----------
    chosen
        The candidate with the fewest changes that is not clearly worse than the best.
    best
        The one with the lowest ratio in the last round.
    ratio
        That of the chosen one against the fixed mix, on days that chose it.
    is_tie
        Whether others than the chosen one are as good as far as one can tell.
    """

    tried: tuple[Tried, ...]
    chosen: Candidate
    best: Candidate
    ratio: Ratio
    is_tie: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is run.

    Parameters
    ----------
    days
        Simulated days of all rounds together.
    seed
        First seed of the draws.
    """

    days: int
    seed: int = 1

    def __post_init__(self) -> None:
        least = ROUNDS * LEAST_DAYS * LEAST_KEPT
        if self.days < least:
            raise ConfigError(
                f"a budget of {self.days} simulated days is too small for a search: it takes"
                f" {least} beside those that prove the advice"
            )


def search(bench: Bench, case: Case, candidates: Sequence[Candidate], budget: Budget) -> Search:
    """Return which candidate is to be used, by the days of a case.

    Parameters
    ----------
    candidates
        Most telling first: where the budget is small the last ones are not tried. The
        first is the policy as it is, and takes part in every round.
    """
    share = budget.days // ROUNDS
    field, tried = list(candidates[: share // LEAST_DAYS]), list[Tried]()
    for number in range(1, ROUNDS + 1):
        draws = draws_for(case, share // len(field), budget.seed + SEEDS_APART * number)
        placed = _round(bench, field, draws)
        if number == ROUNDS:
            break
        going = placed[: max(LEAST_KEPT, round(KEPT * len(placed)))]
        tried += _noted(number, placed, draws, going)
        best = [own.trial.candidate for own in going]
        field = _next_field(best, candidates[0], most=max(len(best), len(field) // 2))
    alike = _alike(placed, draws)
    chosen = min(alike, key=lambda own: len(own.trial.candidate.changes))
    tried += _noted(ROUNDS, placed, draws, [chosen])
    return Search(
        tuple(tried),
        chosen.trial.candidate,
        placed[0].trial.candidate,
        chosen.ratio,
        len(alike) > 1,
    )


def draws_for(case: Case, days: int, seed: int) -> list[DrawnDays]:
    """Return draws of so many days in all, each no longer than the case."""
    length = min(max(1, days), days_of(case))
    number = max(1, days // length)
    return [drawn(case, length, seed + place) for place in range(number)]


def _round(
    bench: Bench, field: Sequence[Candidate], draws: Sequence[DrawnDays]
) -> list[Placed]:
    """Return all candidates of a round, best first; those alike in the order given."""
    fixed, *trials = trials_of(bench, [FIXED, *field], draws)
    placed = [Placed(trial, versus(trial, fixed, draws)) for trial in trials]
    return sorted(placed, key=_rank)


def _rank(own: Placed) -> tuple[float, float]:
    """Return what is lower the better a candidate did."""
    value = own.ratio.value
    if value != 0:
        return inf if value is None else value, 0.0
    # Where the fixed mix leaves jobs waiting, those that run all of them have no ratio.
    jobs = (times for outcome in own.trial.outcomes for times in outcome.jobs)
    return 0.0, sum(times.completion_s or 0.0 for times in jobs)


def _next_field(best: Sequence[Candidate], first: Candidate, most: int) -> list[Candidate]:
    """Return who is tried next: what is good alone may be better together."""
    field = [*best, *combined(best)][:most]
    return field if first in field else [*field, first]


def _alike(placed: Sequence[Placed], draws: Sequence[DrawnDays]) -> list[Placed]:
    """Return the best of a round, and who is no worse as far as one can tell."""
    best = placed[0]
    return [
        own for own in placed if own is best or _is_alike(versus(own.trial, best.trial, draws))
    ]


def _is_alike(ratio: Ratio) -> bool:
    is_small = ratio.value is not None and ratio.value <= ALIKE
    return is_small or ratio.verdict is Verdict.TIE


def _noted(
    number: int, placed: Sequence[Placed], draws: Sequence[DrawnDays], going: Sequence[Placed]
) -> list[Tried]:
    days = sum(len(draw.sources) for draw in draws)
    return [Tried(number, own.trial.candidate, days, own.ratio, own in going) for own in placed]
