"""Programs as arrays."""

import numpy as np

from autoscaler.planning.solving.answer import Status
from autoscaler.planning.solving.linear import LinearProgram, ProgramBuilder
from autoscaler.planning.solving.solver import solve


def test_entries_are_handed_over_column_by_column():
    """In whatever order they came, and those of one place added."""
    builder = ProgramBuilder()
    for _ in range(3):
        builder.column(1.0, 1.0)
    for _ in range(2):
        builder.row(0.0, 1.0)
    for row, column, entry in [(1, 2, 5.0), (0, 0, 1.0), (1, 0, 2.0), (0, 0, 3.0)]:
        builder.enter(row, column, entry)
    program = builder.build()
    starts, rows, entries = program.starts, program.rows, program.entries
    assert starts.tolist() == [0, 2, 2, 3]
    assert rows.tolist() == [0, 1, 1]
    assert entries.tolist() == [4.0, 2.0, 5.0]


def test_a_program_without_rows_has_no_entries():
    """Its columns are all empty."""
    builder = ProgramBuilder()
    builder.column(1.0, 1.0)
    program = builder.build()
    starts, rows, entries = program.starts, program.rows, program.entries
    assert (starts.tolist(), len(rows), len(entries)) == ([0, 0], 0, 0)


def test_fixing_columns_leaves_the_program_as_it_was():
    """A fixed program is a copy."""
    builder = ProgramBuilder()
    for _ in range(2):
        builder.column(1.0, 9.0)
    program = builder.build()
    fixed = program.with_fixed(np.array([1]), np.array([4.0]))
    assert (fixed.lower.tolist(), fixed.upper.tolist()) == ([0.0, 4.0], [9.0, 4.0])
    assert (program.lower.tolist(), program.upper.tolist()) == ([0.0, 0.0], [9.0, 9.0])


def test_only_integer_columns_must_be_whole():
    """A fraction elsewhere is no objection."""
    builder = ProgramBuilder()
    builder.column(1.0, 9.0, is_integer=True)
    builder.column(1.0, 9.0)
    program = builder.build()
    assert program.is_whole(np.array([2.0 + 1e-9, 0.5]))
    assert not program.is_whole(np.array([2.5, 0.0]))


def crowded() -> LinearProgram:
    """Return: maximize 3a + 2b + c with 2a + b <= 3 and b + c = 2, whole but for c."""
    builder = ProgramBuilder(10.0)
    columns = [builder.column(value, 9.0, is_integer=value > 1.0) for value in (3.0, 2.0, 1.0)]
    first, second = builder.row(-np.inf, 3.0), builder.row(2.0, 2.0)
    builder.enter_all(first, [(columns[0], 2), (columns[1], 1)], 1.0)
    builder.enter_all(second, [(columns[1], 1), (columns[2], 1)], 1.0)
    return builder.build()


def test_fixed_columns_can_be_left_out():
    """Their worth is in the offset, and what they take is taken from the rows."""
    program, left = crowded().with_fixed(np.array([1]), np.array([1.0])).without_fixed()
    assert left.tolist() == [0, 2]
    assert program.offset == 12.0
    assert program.row_upper.tolist() == [2.0, 1.0]
    assert program.row_lower.tolist() == [-np.inf, 1.0]
    assert (program.starts.tolist(), program.rows.tolist()) == ([0, 1, 2], [0, 1])


def test_rows_that_hold_anyway_go_with_their_columns():
    """Those that cannot hold any more stay, so that the solver finds it."""
    both = np.array([0, 1])
    program, _ = crowded().with_fixed(both, np.array([1.0, 1.0])).without_fixed()
    assert program.num_rows == 1
    broken, _ = crowded().with_fixed(both, np.array([2.0, 1.0])).without_fixed()
    assert broken.num_rows == 2
    assert solve(broken.relaxed()).status is Status.INFEASIBLE
    every = np.array([0, 1, 2])
    wrong, _ = crowded().with_fixed(every, np.array([2.0, 1.0, 1.0])).without_fixed()
    assert solve(wrong).status is Status.INFEASIBLE


def test_what_is_whole_is_bounded_by_rows_that_only_take():
    """Of three instances a request for two can be served once, not one and a half times."""
    program, _ = crowded().without_fixed()
    assert program.upper.tolist() == [1.0, 2.0, 9.0]


def test_bounds_move_the_same_way_for_all_columns_named():
    """From above as from below."""
    program = crowded().with_at_most(np.array([0, 2]), np.array([1.0, 0.0]))
    assert program.upper.tolist() == [1.0, 9.0, 0.0]
    assert crowded().with_at_least(np.array([1]), np.array([2.0])).lower.tolist() == [0, 2, 0]
