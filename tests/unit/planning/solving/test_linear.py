"""Programs as arrays."""

import numpy as np

from autoscaler.planning.solving.linear import ProgramBuilder


def test_entries_are_handed_over_column_by_column():
    """In whatever order they came, and those of one place added."""
    builder = ProgramBuilder()
    for _ in range(3):
        builder.column(1.0, 1.0)
    for _ in range(2):
        builder.row(0.0, 1.0)
    for row, column, entry in [(1, 2, 5.0), (0, 0, 1.0), (1, 0, 2.0), (0, 0, 3.0)]:
        builder.enter(row, column, entry)
    starts, rows, entries = builder.build().by_columns()
    assert starts.tolist() == [0, 2, 2, 3]
    assert rows.tolist() == [0, 1, 1]
    assert entries.tolist() == [4.0, 2.0, 5.0]


def test_a_program_without_rows_has_no_entries():
    """Its columns are all empty."""
    builder = ProgramBuilder()
    builder.column(1.0, 1.0)
    starts, rows, entries = builder.build().by_columns()
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
