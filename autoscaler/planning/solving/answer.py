"""What a solver is asked and what it answers, whichever solver it is."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from autoscaler.planning.solving.linear import TOLERANCE, FloatArray, LinearProgram

# Two solutions closer than this are the same: prices are slice-seconds.
ABSOLUTE_GAP = 1e-3


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    GAP = "gap"
    NODE_LIMIT = "node-limit"
    INFEASIBLE = "infeasible"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """When to stop.

    Parameters
    ----------
    gap
        Relative distance between objective and bound that is good enough, for
        programs of more than ``small_columns`` columns.
    small_gap
        The same for smaller programs: those close at once, so nothing is given away.
    small_columns
        Number of columns up to which ``small_gap`` holds.
    max_nodes
        Branch-and-bound nodes after which the best solution so far is taken; counted,
        so the same on every machine.
    """

    gap: float = 1e-3
    small_gap: float = 1e-7
    small_columns: int = 4000
    max_nodes: int = 2000

    def gap_for(self, num_columns: int) -> float:
        """Return the relative gap for a program of this size."""
        return self.small_gap if num_columns <= self.small_columns else self.gap


DEFAULT_LIMITS = SolverLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a solver found.

    Parameters
    ----------
    x
        The best point, ``None`` when there is none.
    objective, bound
        Value of ``x`` and the most that any point can reach.
    seconds
        Time inside the solver, by its own account.
    duals
        What one unit more of each row would be worth, for continuous programs and
        backends that tell.
    basis
        Where a backend may start on a program that differs in bounds only.
    """

    status: Status
    x: FloatArray | None = None
    objective: float = -np.inf
    bound: float = np.inf
    seconds: float = 0.0
    duals: FloatArray | None = None
    basis: object | None = None


def relative_gap(objective: float, bound: float) -> float:
    """Return how far the objective may be from the best one, relative to the larger.

    Parameters
    ----------
    objective, bound
        Values of one program.

    Returns
    -------
    float
        At least 0; 0 also where both are 0, infinite where either is not finite.
    """
    if not (np.isfinite(objective) and np.isfinite(bound)):
        return float("inf")
    distance = bound - objective
    if distance <= ABSOLUTE_GAP:
        return 0.0
    return distance / max(abs(bound), abs(objective))


def judged(answer: Answer) -> Answer:
    """Tell apart a proven optimum and one that is only near enough."""
    bound = max(answer.bound, answer.objective)
    near = answer.status is Status.OPTIMAL and bound - answer.objective > ABSOLUTE_GAP
    status = Status.GAP if near else answer.status
    return replace(answer, status=status, bound=bound)


def answer_without_columns(program: LinearProgram) -> Answer:
    """Return the answer to a program that has nothing to choose."""
    impossible = (program.row_lower > TOLERANCE) | (program.row_upper < -TOLERANCE)
    if impossible.any():
        return Answer(Status.INFEASIBLE)
    return Answer(Status.OPTIMAL, np.zeros(0), program.offset, program.offset)
