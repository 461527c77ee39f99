"""A mixed-integer linear program as arrays, and a builder that grows one.

Rows and columns keep the order in which they were added, because solvers choose among
equal optima by order. What rows and columns mean is not known here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Solutions of a linear program are whole only up to this.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Maximize ``value @ x + offset`` within bounds and rows.

    Parameters
    ----------
    value, lower, upper
        Objective and bounds, one entry a column.
    is_integer
        Which columns must be whole.
    row_lower, row_upper
        Bounds of ``A @ x``, one entry a row.
    starts, rows, entries
        The non-zero entries of ``A``, column by column: the place of each column's first
        entry and, behind them, the number of all entries; the row of each entry; the
        entries.
    offset
        Constant part of the objective.
    start
        What an earlier answer to a like program says of its basis: a backend that can
        begins there.
    """

    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_integer: BoolArray
    row_lower: FloatArray
    row_upper: FloatArray
    starts: IntArray
    rows: IntArray
    entries: FloatArray
    offset: float = 0.0
    start: object | None = None

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.value)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    def objective(self, x: FloatArray) -> float:
        """Return the objective at a point."""
        # Not a dot product, which several threads may add up in any order.
        return float((self.value * x).sum()) + self.offset

    @property
    def columns(self) -> IntArray:
        """The column of each entry."""
        return np.repeat(np.arange(self.num_columns), np.diff(self.starts))

    def is_whole(self, x: FloatArray) -> bool:
        """Say whether a point is whole where it must be."""
        own = x[self.is_integer]
        return bool(np.abs(own - np.rint(own)).max(initial=0.0) <= TOLERANCE)

    def relaxed(self) -> Self:
        """Return the program without the demand for whole numbers."""
        return replace(self, is_integer=np.zeros(self.num_columns, dtype=np.bool_))

    def with_at_least(self, columns: IntArray, values: FloatArray) -> Self:
        """Return the program with some columns bounded from below."""
        lower = self.lower.copy()
        lower[columns] = values
        return replace(self, lower=lower)

    def with_fixed(self, columns: IntArray, values: FloatArray) -> Self:
        """Return the program with some columns fixed."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[columns] = values
        upper[columns] = values
        return replace(self, lower=lower, upper=upper)

    def with_at_most(self, columns: IntArray, values: FloatArray) -> Self:
        """Return the program with some columns bounded from above."""
        upper = self.upper.copy()
        upper[columns] = values
        return replace(self, upper=upper)

    def without_fixed(self) -> tuple["LinearProgram", IntArray]:
        """Return the program without the columns that are fixed, and which are left.

        Rows that then hold whatever is left go too. Whole numbers are bounded by each row
        that only takes: half a request is none, and a relaxed program must not think it
        were.
        """
        is_fixed = self.lower == self.upper
        columns = self.columns
        values = np.where(is_fixed, self.lower, 0.0)
        fixed = np.bincount(
            self.rows, weights=self.entries * values[columns], minlength=self.num_rows
        )
        stays = ~is_fixed[columns]
        row_lower, row_upper = self.row_lower - fixed, self.row_upper - fixed
        is_used = (row_lower > TOLERANCE) | (row_upper < -TOLERANCE)
        is_used[self.rows[stays]] = True
        places = np.cumsum(is_used) - 1
        left = np.flatnonzero(~is_fixed)
        numbers = np.bincount(columns[stays], minlength=self.num_columns)[left]
        program = replace(
            self,
            value=self.value[left],
            lower=self.lower[left],
            upper=self.upper[left],
            is_integer=self.is_integer[left],
            row_lower=row_lower[is_used],
            row_upper=row_upper[is_used],
            starts=np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64),
            rows=places[self.rows[stays]],
            entries=self.entries[stays],
            offset=self.objective(values),
            start=None,
        )
        return _with_whole_bounds(program), left


@dataclass(slots=True)
class ProgramBuilder:
    """Collects columns, rows and entries; ``build`` makes the arrays."""

    offset: float = 0.0
    _value: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _is_integer: list[bool] = field(default_factory=list)
    _row_lower: list[float] = field(default_factory=list)
    _row_upper: list[float] = field(default_factory=list)
    _rows: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _entries: list[float] = field(default_factory=list)

    def column(self, value: float, upper: float, *, is_integer: bool = False) -> int:
        """Add a column from 0 to ``upper`` and return its index."""
        self._value.append(value)
        self._upper.append(upper)
        self._is_integer.append(is_integer)
        return len(self._value) - 1

    def row(self, lower: float, upper: float) -> int:
        """Add a row without entries and return its index."""
        self._row_lower.append(lower)
        self._row_upper.append(upper)
        return len(self._row_lower) - 1

    def enter(self, row: int, column: int, entry: float) -> None:
        """Add an entry; entries of one place add up."""
        self._rows.append(row)
        self._columns.append(column)
        self._entries.append(entry)

    def enter_all(self, row: int, entries: Iterable[tuple[int, float]], sign: float) -> None:
        """Add entries to a row, each given by its column, times a sign."""
        own = list(entries)
        self._columns += [column for column, _ in own]
        self._entries += [sign * entry for _, entry in own]
        self._rows += [row] * len(own)

    def build(self) -> LinearProgram:
        """Return the program."""
        number = len(self._value)
        starts, rows, entries = by_columns(
            number,
            np.array(self._rows, dtype=np.int64),
            np.array(self._columns, dtype=np.int64),
            np.array(self._entries, dtype=np.float64),
        )
        return LinearProgram(
            value=np.array(self._value, dtype=np.float64),
            lower=np.zeros(number),
            upper=np.array(self._upper, dtype=np.float64),
            is_integer=np.array(self._is_integer, dtype=np.bool_),
            row_lower=np.array(self._row_lower, dtype=np.float64),
            row_upper=np.array(self._row_upper, dtype=np.float64),
            starts=starts,
            rows=rows,
            entries=entries,
            offset=self.offset,
        )


def by_columns(
    num_columns: int, rows: IntArray, columns: IntArray, entries: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return entries in any order as a program holds them, those of one place added.

    Parameters
    ----------
    num_columns
        Columns in all.
    rows, columns, entries
        Where each entry is, and what it is.

    Returns
    -------
    tuple
        Places of the columns' first entries, rows and entries, as in ``LinearProgram``.
    """
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    order = np.lexsort((rows, columns))
    rows, columns, entries = rows[order], columns[order], entries[order]
    is_new = np.ones(len(rows), dtype=np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    totals = np.zeros(int(is_new.sum()))
    np.add.at(totals, np.cumsum(is_new) - 1, entries)
    starts = np.searchsorted(columns[is_new], np.arange(num_columns + 1)).astype(np.int64)
    return starts, rows[is_new], totals


def _with_whole_bounds(program: LinearProgram) -> LinearProgram:
    columns = program.columns
    gives = np.zeros(program.num_rows, dtype=np.bool_)
    gives[program.rows[(program.entries < 0) | (program.lower[columns] < 0)]] = True
    own = program.is_integer[columns] & ~gives[program.rows]
    rows = program.rows[own]
    most = np.floor(program.row_upper[rows] / program.entries[own] + TOLERANCE)
    upper = program.upper.copy()
    np.minimum.at(upper, columns[own], most)
    # A contradiction stays one for the solver to find, not for its bounds.
    return replace(program, upper=np.maximum(upper, program.lower))
