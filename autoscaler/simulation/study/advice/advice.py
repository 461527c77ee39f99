"""Advice: which policy to use, what it will do, and how sure that is.

Whatever is chosen, is chosen by earlier days; what it does is told of later ones, which
chose nothing. Where those do not confirm it, the advice is to keep a fixed mix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoscaler.domain.counts import Counts
from autoscaler.simulation.study.advice.candidates import (
    FIXED,
    Candidate,
    first_candidates,
)
from autoscaler.simulation.study.advice.days import (
    DrawnDays,
    Halves,
    days_of,
    drawn,
    halves_of,
    in_order,
)
from autoscaler.simulation.study.advice.rounds import SEEDS_APART, Budget, Search, search
from autoscaler.simulation.study.advice.trials import Bench, Trial, trials_of, versus
from autoscaler.simulation.study.pairing import Ratio, Verdict
from autoscaler.simulation.study.splits import Case
from autoscaler.simulation.study.static_mix import tuned_mix

# Beside the days as they came: jobs of neighboring days may meet in other ways.
PROVING_DRAWS = 1


class Kind(StrEnum):
    """What is advised."""

    USE = "use"
    FIXED_MIX = "fixed-mix"


@dataclass(frozen=True, slots=True)
class Proof:
    """A candidate on the days that chose nothing.

    Parameters
    ----------
    ratio
        Completion time against the fixed mix.
    """

    trial: Trial
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do.

    Parameters
    ----------
    choosing, proving
        How many days chose, and how many proved.
    proofs
        The fixed mix, the policy as it is, the chosen one and the best of the search, each
        once.
    mix
        GPUs of the fixed mix, tuned on all days before those that proved.
    simulated
        Days that were simulated with the loop, all candidates together.
    """

    kind: Kind
    search: Search
    choosing: int
    proving: int
    proofs: tuple[Proof, ...]
    mix: tuple[Counts, ...]
    simulated: int

    @property
    def chosen(self) -> Proof:
        """What the search chose, on the days that proved it."""
        return self.proof_of(self.search.chosen)

    def proof_of(self, candidate: Candidate) -> Proof:
        """Return how a candidate did on the days that proved."""
        return next(own for own in self.proofs if own.trial.candidate == candidate)


def advise(bench: Bench, case: Case, budget: Budget) -> Advice:
    """Return the advice for the jobs of a case.

    Raises
    ------
    ConfigError
        When there are too few days, or the budget is too small.
    """
    halves = halves_of(case)
    nodes = -(-case.gpus // bench.conditions.gpus_per_node)
    candidates = first_candidates(bench.base, nodes)
    found = search(bench, halves.choosing, candidates, budget)
    draws = proving_draws(halves, budget.seed)
    proofs = _proofs(bench, [candidates[0], found.chosen, found.best], draws)
    chosen = next(own for own in proofs if own.trial.candidate == found.chosen)
    is_proven = chosen.ratio.verdict is Verdict.BETTER
    proving = sum(len(draw.sources) for draw in draws)
    return Advice(
        Kind.USE if is_proven else Kind.FIXED_MIX,
        found,
        days_of(halves.choosing),
        days_of(halves.proving),
        proofs,
        tuned_mix(case.model, halves.proving.past, case.gpus).gpus,
        sum(own.days for own in found.tried) + proving * (len(proofs) - 1),
    )


def proving_draws(halves: Halves, seed: int) -> list[DrawnDays]:
    """Return the days that prove as they came, and drawn again."""
    days = days_of(halves.proving)
    again = [drawn(halves.proving, days, seed - SEEDS_APART - k) for k in range(PROVING_DRAWS)]
    return [in_order(halves.proving), *again]


def _proofs(
    bench: Bench, candidates: Sequence[Candidate], draws: Sequence[DrawnDays]
) -> tuple[Proof, ...]:
    own = list(dict.fromkeys([FIXED, *candidates]))
    trials = trials_of(bench, own, draws)
    return tuple(Proof(trial, versus(trial, trials[0], draws)) for trial in trials)
