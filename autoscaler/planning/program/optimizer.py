"""Settles a mix problem: relaxed and rounded first, then branched to the gap.

Doing nothing is the first answer in hand, the rounded relaxation the second, and what
branching finds the third; the best of them is taken, with the distance to the bound
that is proven by then.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.planning.program.formulation import Formulation, formulate, preferring
from autoscaler.planning.program.mix import Choice, Mix
from autoscaler.planning.program.rounding import round_relaxed
from autoscaler.planning.solving.answer import (
    ABSOLUTE_GAP,
    DEFAULT_LIMITS,
    Answer,
    SolverLimits,
    Status,
    relative_gap,
)
from autoscaler.planning.solving.diving import whole_answer
from autoscaler.planning.solving.linear import FloatArray, LinearProgram
from autoscaler.planning.solving.solver import Solver, solve

Guard = Callable[[Solver, LinearProgram, float, int], Answer | None]
"""Calls a solver with a program, a gap and a number of nodes; ``None`` when it took too
long. A guard lives outside, because the core has no clock and no processes."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The best choice found, and how good it provably is.

    Parameters
    ----------
    formulation
        The program.
    choice
        What to do.
    unchanged
        What follows from doing nothing.
    rounded
        The answer in hand after the relaxed program; ``None`` when there was none.
    bound
        What no choice can exceed.
    relaxed_bound
        The same, as the relaxed program alone proves it.
    seconds, relaxed_seconds
        Time inside the solver, in all and until the answer in hand.
    """

    formulation: Formulation
    choice: Choice
    unchanged: Choice
    rounded: Choice | None
    bound: float
    relaxed_bound: float
    stopped_by: StoppedBy
    num_columns: int = 0
    seconds: float = 0.0
    relaxed_seconds: float = 0.0

    @property
    def gap(self) -> float:
        """Relative distance between the choice and the bound, at least 0."""
        return relative_gap(self.choice.objective, self.bound)

    @property
    def rounded_gap(self) -> float:
        """The same for the answer in hand after the relaxed program."""
        in_hand = self.unchanged if self.rounded is None else self.rounded
        return relative_gap(in_hand.objective, self.relaxed_bound)


# Worth of serving again who is served anyway, in slice-seconds: settles ties only.
PREFERENCE = 1.0
# Size up to which it is worth branching for that.
MAX_COLUMNS_BRANCHED = 4000


def settle(
    mix: Mix,
    limits: SolverLimits = DEFAULT_LIMITS,
    guard: Guard | None = None,
    solver: Solver = solve,
) -> Settlement | None:
    """Return the best choice for a mix problem.

    Parameters
    ----------
    mix
        The problem with its prices.
    limits
        When to stop.
    guard
        Runs the branching where a clock may stop it.
    solver
        The backend.

    Returns
    -------
    Settlement or None
        ``None`` when the solver fails on the problem as it stands, with nothing
        changed: then nothing at all is known.

    Notes
    -----
    Where some options must wait and others need not, those that need not are settled
    first: what must wait comes in addition, and never instead.
    """
    formulation = formulate(mix)
    waiting = formulation.columns_that_wait
    if 0 < len(waiting) < len(formulation.taken):
        program = formulation.program.with_fixed(waiting, np.zeros(len(waiting)))
        first = _settle(replace(formulation, program=program), limits, guard, solver)
        if first is None:
            return None
        chosen = formulation.decisions_of(first.choice)
        program = formulation.program.with_at_least(formulation.decisions, chosen)
        formulation = replace(formulation, program=program)
    return _settle(formulation, limits, guard, solver)


def _settle(
    formulation: Formulation, limits: SolverLimits, guard: Guard | None, solver: Solver
) -> Settlement | None:
    relaxed = solver(formulation.program.relaxed(), 0.0, 0)
    formulation, relaxed = _without_unavoidable(formulation, relaxed)
    nothing = np.zeros(len(formulation.decisions))
    unchanged, seconds = finish(formulation, nothing, solver)
    if unchanged is None:
        return None
    first = Settlement(
        formulation=formulation,
        choice=unchanged,
        unchanged=unchanged,
        rounded=None,
        bound=max(relaxed.bound, unchanged.objective),
        relaxed_bound=relaxed.bound,
        stopped_by=StoppedBy.FAILURE,
        num_columns=formulation.program.num_columns,
        seconds=seconds + relaxed.seconds,
        relaxed_seconds=seconds + relaxed.seconds,
    )
    if relaxed.status is not Status.OPTIMAL or relaxed.x is None:
        return first
    if relaxed.bound - unchanged.objective <= ABSOLUTE_GAP:
        return replace(first, stopped_by=StoppedBy.NOTHING_TO_DO)
    in_hand = _round(formulation, first, relaxed, solver)
    gap = limits.gap_for(formulation.program.num_columns)
    if in_hand.gap <= gap:
        return replace(in_hand, stopped_by=_stop_at(in_hand))
    return _branch(formulation, in_hand, limits, guard, solver)


def _without_unavoidable(
    formulation: Formulation, relaxed: Answer
) -> tuple[Formulation, Answer]:
    """Leave the price of rules that cannot be kept out of the objective.

    It is the same for every choice, and so large that any gap would look small beside it.
    """
    columns = [column for own in formulation.short for column in own]
    if relaxed.x is None or not columns:
        return formulation, relaxed
    program = formulation.program
    unavoidable = -float(program.value[columns] @ relaxed.x[columns])
    shifted = replace(program, offset=program.offset + unavoidable)
    return replace(formulation, program=shifted), replace(
        relaxed,
        objective=relaxed.objective + unavoidable,
        bound=relaxed.bound + unavoidable,
    )


def _round(
    formulation: Formulation, first: Settlement, relaxed: Answer, solver: Solver
) -> Settlement:
    x = np.zeros(0) if relaxed.x is None else relaxed.x
    decisions = round_relaxed(formulation, x, relaxed.basis, solver)
    rounded, seconds = finish(formulation, decisions, solver)
    return replace(
        _better(first, rounded),
        rounded=rounded,
        seconds=first.seconds + seconds,
        relaxed_seconds=first.seconds + seconds,
    )


def _branch(
    formulation: Formulation,
    in_hand: Settlement,
    limits: SolverLimits,
    guard: Guard | None,
    solver: Solver,
) -> Settlement:
    program = formulation.program
    gap = limits.gap_for(program.num_columns)
    run: Guard = guard or (lambda solver, program, gap, nodes: solver(program, gap, nodes))
    answer = run(solver, program, gap, limits.max_nodes)
    if answer is None:
        return replace(in_hand, stopped_by=StoppedBy.WALL_CLOCK)
    seconds = in_hand.seconds + answer.seconds
    if answer.x is None:
        return replace(in_hand, seconds=seconds, stopped_by=StoppedBy.FAILURE)
    branched, more = finish(formulation, np.rint(answer.x[formulation.decisions]), solver)
    bound = max(min(in_hand.bound, answer.bound), in_hand.choice.objective)
    best = replace(_better(in_hand, branched), bound=bound, seconds=seconds + more)
    if answer.status is Status.NODE_LIMIT and best.gap > gap:
        return replace(best, stopped_by=StoppedBy.NODE_LIMIT)
    return replace(best, stopped_by=_stop_at(best))


def finish(
    formulation: Formulation,
    decisions: FloatArray,
    solver: Solver,
    program: LinearProgram | None = None,
) -> tuple[Choice | None, float]:
    """Settle what remains once it is decided which GPUs change.

    Requests that any instance can serve then flow through a network, whose solutions
    are whole by themselves; only bundles and gangs still need whole numbers.

    Parameters
    ----------
    formulation
        The program.
    decisions
        Whole numbers in the order of ``Formulation.decisions``.
    solver
        The backend.
    program
        A program with more columns behind the same ones; the program itself by default.

    Returns
    -------
    tuple
        The choice, ``None`` when the decisions are impossible; and solver seconds.
    """
    fixed = (program or formulation.program).with_fixed(formulation.decisions, decisions)
    small, left = fixed.without_fixed()
    answer = whole_answer(small, solver)
    if answer.x is None:
        return None, answer.seconds
    x = fixed.lower.copy()
    x[left] = answer.x
    return formulation.read(x), answer.seconds


def _better(settlement: Settlement, choice: Choice | None) -> Settlement:
    """Return the settlement with the choice if it is clearly better: ties change less."""
    if choice is None or choice.objective <= settlement.choice.objective + ABSOLUTE_GAP:
        return settlement
    bound = max(settlement.bound, choice.objective)
    return replace(settlement, choice=choice, bound=bound)


def _stop_at(settlement: Settlement) -> StoppedBy:
    return StoppedBy.OPTIMAL if settlement.gap == 0.0 else StoppedBy.GAP


def steadied(settlement: Settlement, solver: Solver = solve) -> Settlement:
    """Return the settlement with the same changes, serving who is served anyway.

    Among requests that are worth the same a solver serves any. Those that are served
    without a change come first, so that a plan takes nothing from anyone for nothing.

    Parameters
    ----------
    settlement
        What was found.
    solver
        The backend.
    """
    formulation, choice = settlement.formulation, settlement.choice
    program = preferring(formulation, settlement.unchanged.served, PREFERENCE)
    if formulation.program.num_columns > MAX_COLUMNS_BRANCHED:
        # Bundles stay on their hosts, which leaves a program without whole numbers.
        program = program.with_fixed(*formulation.bundles_of(choice))
    decisions = formulation.decisions_of(choice)
    steady, seconds = finish(formulation, decisions, solver, program)
    seconds += settlement.seconds
    if steady is None or steady.objective < choice.objective - ABSOLUTE_GAP:
        return replace(settlement, seconds=seconds)
    return replace(settlement, choice=steady, seconds=seconds)


def with_decisions(
    settlement: Settlement, decisions: FloatArray, solver: Solver = solve
) -> Settlement | None:
    """Return the settlement with other decisions, if they are no worse.

    Parameters
    ----------
    settlement
        What was found.
    decisions
        Other decisions, e.g. those found less a change that does not pay.
    solver
        The backend.

    Returns
    -------
    Settlement or None
        ``None`` when they are impossible or worth less.
    """
    choice, seconds = finish(settlement.formulation, decisions, solver)
    if choice is None or choice.objective < settlement.choice.objective - ABSOLUTE_GAP:
        return None
    bound = max(settlement.bound, choice.objective)
    seconds += settlement.seconds
    return replace(settlement, choice=choice, bound=bound, seconds=seconds)
