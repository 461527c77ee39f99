"""Both backends of the solver, on programs one can solve by hand."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autoscaler.planning.solving.answer import Status, relative_gap
from autoscaler.planning.solving.highs import solve_with_highs
from autoscaler.planning.solving.linear import LinearProgram, ProgramBuilder
from autoscaler.planning.solving.scipy_highs import solve_with_scipy

BACKENDS = pytest.mark.parametrize("solver", [solve_with_highs, solve_with_scipy])
INFINITY = float("inf")
ROOT = Path(__file__).parents[4]


def knapsack(*, is_integer: bool = True, offset: float = 0.0) -> LinearProgram:
    """Return: maximize 5a + 4b + 2c with 2a + 3b + c <= 5 and 4a + b + 2c <= 11, up to 9."""
    builder = ProgramBuilder(offset)
    columns = [builder.column(value, 9, is_integer=is_integer) for value in (5, 4, 2)]
    for limit, row in ((5, (2, 3, 1)), (11, (4, 1, 2))):
        index = builder.row(-INFINITY, limit)
        for column, entry in zip(columns, row, strict=True):
            builder.enter(index, column, entry)
    return builder.build()


@BACKENDS
def test_a_whole_optimum_is_found_and_proven(solver):
    """The optimum by hand is a = 2, c = 1, worth 12."""
    answer = solver(knapsack(), 0.0, 1000)
    assert answer.status is Status.OPTIMAL
    assert answer.x is not None
    assert np.rint(answer.x).tolist() == [2, 0, 1]
    assert answer.objective == pytest.approx(12)
    assert answer.bound == pytest.approx(12)


@BACKENDS
def test_the_offset_is_part_of_objective_and_bound(solver):
    """A constant moves both."""
    answer = solver(knapsack(offset=-100.0), 0.0, 1000)
    assert answer.objective == pytest.approx(-88)
    assert answer.bound == pytest.approx(-88)


@BACKENDS
def test_a_continuous_program_is_its_own_bound(solver):
    """Without whole numbers a = 2.5 is best."""
    answer = solver(knapsack(is_integer=False), 0.0, 0)
    assert answer.status is Status.OPTIMAL
    assert answer.objective == answer.bound == pytest.approx(12.5)


@BACKENDS
def test_an_impossible_program_is_a_status(solver):
    """Nothing is raised, and there is no point."""
    builder = ProgramBuilder()
    row = builder.row(2, INFINITY)
    builder.enter(row, builder.column(1.0, 1, is_integer=True), 1.0)
    answer = solver(builder.build(), 0.0, 10)
    assert answer.status is Status.INFEASIBLE
    assert answer.x is None


@BACKENDS
def test_an_unbounded_program_has_no_answer(solver):
    """A program without a limit is a mistake of ours, and a status too."""
    builder = ProgramBuilder()
    builder.column(1.0, INFINITY)
    assert solver(builder.build(), 0.0, 10).x is None


@BACKENDS
def test_a_program_without_columns_is_its_offset(solver):
    """There is nothing to choose."""
    answer = solver(ProgramBuilder(7.0).build(), 0.0, 10)
    assert (answer.status, answer.objective, answer.bound) == (Status.OPTIMAL, 7.0, 7.0)


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (90.0, 100.0, 0.1),
        (-100.0, -90.0, 0.1),
        (0.0, 0.0, 0.0),
        (100.0, 99.0, 0.0),
        (0.0, float("inf"), float("inf")),
    ],
)
def test_the_gap_is_relative_to_the_larger_of_both(objective, bound, gap):
    """It is never negative, and unknown where the bound is."""
    assert relative_gap(objective, bound) == pytest.approx(gap)


def test_nothing_is_printed(capfd):
    """Plans go to standard output as JSON, so the solver keeps silent."""
    solve_with_highs(knapsack(), 0.0, 1000)
    assert capfd.readouterr() == ("", "")


WITHOUT_HIGHSPY = """
import sys
sys.modules["highspy"] = None
from autoscaler.planning.solving.linear import ProgramBuilder
from autoscaler.planning.solving.solver import solve
builder = ProgramBuilder()
row = builder.row(0.0, 3.5)
builder.enter(row, builder.column(2.0, 9.0, is_integer=True), 1.0)
print(solve(builder.build(), 0.0, 10).objective)
"""


def test_scipy_solves_where_highspy_does_not_load():
    """A missing package costs time, not plans."""
    command = [sys.executable, "-c", WITHOUT_HIGHSPY]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(result.stdout) == pytest.approx(6.0)
