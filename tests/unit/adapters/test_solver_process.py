"""A solve in a process of its own: the same answer, or none in time."""

import numpy as np
import pytest

from autoscaler.adapters.solver_process import (
    SolverProcess,
    answer_from_bytes,
    answer_to_bytes,
    question_from_bytes,
    question_to_bytes,
)
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.solving.answer import Answer, Status
from autoscaler.planning.solving.linear import ProgramBuilder
from autoscaler.planning.solving.solver import solve
from tests.builders import NOW_S, fleet_node, snapshot, waiting
from tests.fleets import policy


def knapsack():
    """Return a program whose optimum is not that of its relaxation."""
    builder = ProgramBuilder(offset=1.5)
    columns = [builder.column(value, 1.0, is_integer=True) for value in (8.0, 11.0, 6.0)]
    row = builder.row(-np.inf, 10.0)
    for column, size in zip(columns, (5.0, 7.0, 4.0), strict=True):
        builder.enter(row, column, size)
    return builder.build()


def test_a_child_gives_the_answer_of_the_same_solver():
    """To the last bit, its time aside."""
    here = solve(knapsack(), 0.0, 100)
    there = SolverProcess(60.0)(solve, knapsack(), 0.0, 100)
    assert there is not None
    assert (there.status, there.objective, there.bound) == (
        here.status,
        here.objective,
        here.bound,
    )
    assert here.x is not None
    assert there.x is not None
    assert here.x.tolist() == there.x.tolist()


def test_a_child_that_takes_too_long_is_killed():
    """The limit is shorter than any process takes to start."""
    assert SolverProcess(0.001)(solve, knapsack(), 0.0, 100) is None


@pytest.mark.parametrize("module", ["no.such.module", "this"])
def test_a_child_that_dies_or_babbles_is_a_failure(module):
    """There is no such module; and one that prints something else."""
    answer = SolverProcess(60.0, module)(solve, knapsack(), 0.0, 100)
    assert answer is not None
    assert answer.status is Status.FAILURE


def test_another_solver_runs_here():
    """It cannot be handed to a child."""

    def failing(program, gap, max_nodes):
        return Answer(Status.INFEASIBLE)

    answer = SolverProcess(0.001)(failing, knapsack(), 0.0, 100)
    assert answer is not None
    assert answer.status is Status.INFEASIBLE


def test_questions_and_answers_survive_the_way():
    """Infinite bounds and missing points too."""
    program, gap, max_nodes = question_from_bytes(question_to_bytes(knapsack(), 1e-3, 7))
    assert (gap, max_nodes, program.offset) == (1e-3, 7, 1.5)
    assert program.row_lower.tolist() == [-np.inf]
    assert program.is_integer.tolist() == [True] * 3
    none = answer_from_bytes(answer_to_bytes(Answer(Status.FAILURE)))
    assert (none.status, none.x, none.objective) == (Status.FAILURE, None, -np.inf)
    assert answer_from_bytes(b"nonsense").status is Status.FAILURE


def bundles():
    """Return a fleet and a demand for which rounding is not enough."""
    nodes = [fleet_node(f"node-{i}", [{"1g.5gb": 7}] * 2) for i in range(2)]
    names = [node.name for node in nodes]
    asked = {"3g.20gb": 1, "1g.5gb": 3}
    large = (waiting(name, 1, names) for name in ("4g.20gb", "7g.40gb"))
    return snapshot(*nodes), Demand((waiting(asked, 3, names), *large))


def plan_with(guard):
    """Return the plan for such a fleet."""
    return make_plan(*bundles(), policy(), NOW_S, PlannerSettings(guard=guard))


def test_a_plan_with_a_guard_is_the_plan_without():
    """Seconds aside."""
    free, guarded = plan_with(None), plan_with(SolverProcess(60.0))
    assert free.changes == guarded.changes
    assert guarded.optimality.stopped_by is StoppedBy.OPTIMAL
    assert free.optimality.objective == guarded.optimality.objective


def test_when_time_is_over_the_plan_in_hand_stands():
    """It says so, and it is no better than the one that takes its time."""
    late, whole = plan_with(SolverProcess(0.001)), plan_with(None)
    assert late.optimality.stopped_by is StoppedBy.WALL_CLOCK
    assert "the solver took too long" in late.notices[0]
    assert late.optimality.objective <= whole.optimality.objective
    assert late.optimality.bound >= whole.optimality.objective


def test_a_solver_that_fails_leaves_the_plan_in_hand():
    """A child that dies says nothing about what was found before."""
    failed = plan_with(SolverProcess(60.0, "no.such.module"))
    assert failed.optimality.stopped_by is StoppedBy.FAILURE
    assert "the solver failed" in failed.notices[0]
