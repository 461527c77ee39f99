"""A mixed-integer linear program as arrays, and a builder that grows one.

Rows and columns keep the order in which they were added, because solvers choose among
equal optima by order. What rows and columns mean is not known here.
"""

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
    rows, columns, entries
        The non-zero entries of ``A``, in any order.
    offset
        Constant part of the objective.
    """

    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_integer: BoolArray
    row_lower: FloatArray
    row_upper: FloatArray
    rows: IntArray
    columns: IntArray
    entries: FloatArray
    offset: float = 0.0

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
        return float(self.value @ x) + self.offset

    def by_columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the non-zero entries of ``A``, column by column.

        Returns
        -------
        tuple
            The place of each column's first entry and, behind them, the number of all
            entries; the row of each entry; the entries. Those of one place are added.
        """
        places = self.columns * self.num_rows + self.rows
        distinct, which = np.unique(places, return_inverse=True)
        entries = np.zeros(len(distinct))
        np.add.at(entries, which, self.entries)
        rows = distinct % max(1, self.num_rows)
        columns = distinct // max(1, self.num_rows)
        starts = np.searchsorted(columns, np.arange(self.num_columns + 1)).astype(np.int64)
        return starts, rows, entries

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

    def build(self) -> LinearProgram:
        """Return the program."""
        return LinearProgram(
            value=np.array(self._value, dtype=np.float64),
            lower=np.zeros(len(self._value)),
            upper=np.array(self._upper, dtype=np.float64),
            is_integer=np.array(self._is_integer, dtype=np.bool_),
            row_lower=np.array(self._row_lower, dtype=np.float64),
            row_upper=np.array(self._row_upper, dtype=np.float64),
            rows=np.array(self._rows, dtype=np.int64),
            columns=np.array(self._columns, dtype=np.int64),
            entries=np.array(self._entries, dtype=np.float64),
            offset=self.offset,
        )
