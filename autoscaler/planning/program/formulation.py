"""A mix problem as a mixed-integer linear program, and solutions read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autoscaler.planning.program.classes import Dealer, WantClass, classes_of
from autoscaler.planning.program.mix import Choice, Mix
from autoscaler.planning.program.mix_writer import INFINITY, MixWriter
from autoscaler.planning.solving.linear import (
    FloatArray,
    IntArray,
    LinearProgram,
    ProgramBuilder,
    by_columns,
)


@dataclass(frozen=True, slots=True, eq=False)
class Formulation:
    """A program and what its columns mean.

    Parameters
    ----------
    taken
        Node kind, GPU kind and option of each column that changes GPUs; these columns
        come first.
    closed
        Column of each node kind's closings; kinds that close for nothing have none.
    classes
        Wants that count together.
    starts
        Column of the gangs of a class that start, by its first gang.
    flows, hosted
        Class and zone, or class and node kind, of a column of requests.
    bonuses, short
        Columns of bonuses and rules, in the order of the problem; both directions of a
        rule have a column of their own.
    zone_rows
        Row that bounds what requests take of a name in a zone, by zone and name.
    """

    mix: Mix
    program: LinearProgram
    taken: tuple[tuple[int, int, int], ...]
    closed: dict[int, int]
    classes: tuple[WantClass, ...]
    starts: dict[str, int]
    flows: dict[int, tuple[int, int]]
    hosted: dict[int, tuple[int, int]]
    bonuses: tuple[int, ...]
    short: tuple[tuple[int, ...], ...]
    zone_rows: Mapping[tuple[int, str], int] = field(default_factory=dict)

    @property
    def decisions(self) -> IntArray:
        """Columns that settle which GPUs change; the rest follows from them."""
        closings = sorted(self.closed.values())
        return np.array([*range(len(self.taken)), *closings], dtype=np.int64)

    @property
    def columns_that_wait(self) -> IntArray:
        """Columns of options that cannot start for now."""
        waiting = [c for c, key in enumerate(self.taken) if self.mix.option(*key).must_wait]
        return np.array(waiting, dtype=np.int64)

    def decisions_of(self, choice: Choice) -> FloatArray:
        """Return the decisions of a choice, in the order of ``decisions``."""
        taken = [choice.taken.get(key, 0) for key in self.taken]
        closed = {column: choice.closed.get(kind, 0) for kind, column in self.closed.items()}
        return np.array([*taken, *(closed[c] for c in sorted(closed))], dtype=np.float64)

    def bundles_of(self, choice: Choice) -> tuple[IntArray, FloatArray]:
        """Return the columns of requests that need one node, and a choice's values."""
        class_of = {i: n for n, own in enumerate(self.classes) for i in own.members}
        total: dict[tuple[int, int], int] = {}
        for (want, host), number in choice.hosted.items():
            key = (class_of[want], host)
            total[key] = total.get(key, 0) + number
        columns = np.array(sorted(self.hosted), dtype=np.int64)
        numbers = [total.get(self.hosted[column], 0) for column in sorted(self.hosted)]
        return columns, np.array(numbers, dtype=np.float64)

    def read(self, x: FloatArray) -> Choice:
        """Return what a solution says; entries behind the program's columns are ignored.

        The objective is that of the whole numbers, not of the solver's approximation.
        """
        whole = np.rint(x[: self.program.num_columns])
        numbers = whole.astype(np.int64)
        used = set(np.flatnonzero(numbers).tolist())
        started = {gang: int(numbers[c]) for gang, c in self.starts.items()}
        dealer = Dealer(self.classes, started)
        flows = dealer.deal({o: int(numbers[c]) for c, o in self.flows.items() if c in used})
        hosted = dealer.deal({o: int(numbers[c]) for c, o in self.hosted.items() if c in used})
        served = [0] * len(self.mix.wants)
        for (want, _), number in (*flows.items(), *hosted.items()):
            served[want] += number
        return Choice(
            taken={
                self.taken[c]: int(numbers[c])
                for c in np.flatnonzero(numbers[: len(self.taken)]).tolist()
            },
            closed={kind: int(numbers[c]) for kind, c in self.closed.items() if numbers[c]},
            flows=flows,
            hosted=hosted,
            served=tuple(served),
            bonuses=tuple(int(numbers[c]) for c in self.bonuses),
            short=tuple(sum(int(numbers[c]) for c in columns) for columns in self.short),
            objective=self.program.objective(whole),
        )


def preferring(formulation: Formulation, served: Sequence[int], value: float) -> LinearProgram:
    """Return the program with a little extra worth for requests that were served so far.

    Parameters
    ----------
    formulation
        The program.
    served
        Requests served so far, one entry a want.
    value
        Extra worth of each of them.
    """
    program = formulation.program
    so_far = [sum(served[index] for index in own.members) for own in formulation.classes]
    number, first = len(so_far), program.num_columns
    columns = np.arange(first, first + number)
    rows = np.arange(program.num_rows, program.num_rows + number)
    users = [
        (c, own) for c, (own, _) in (*formulation.flows.items(), *formulation.hosted.items())
    ]
    starts, all_rows, entries = by_columns(
        first + number,
        np.concatenate([program.rows, rows, [rows[own] for _, own in users]]),
        np.concatenate([program.columns, columns, [c for c, _ in users]]),
        np.concatenate([program.entries, np.ones(number), np.full(len(users), -1.0)]),
    )
    return LinearProgram(
        value=np.concatenate([program.value, np.full(number, value)]),
        lower=np.concatenate([program.lower, np.zeros(number)]),
        upper=np.concatenate([program.upper, np.array(so_far, dtype=np.float64)]),
        is_integer=np.concatenate([program.is_integer, np.zeros(number, dtype=np.bool_)]),
        row_lower=np.concatenate([program.row_lower, np.full(number, -INFINITY)]),
        row_upper=np.concatenate([program.row_upper, np.zeros(number)]),
        starts=starts,
        rows=all_rows,
        entries=entries,
        offset=program.offset,
    )


def formulate(mix: Mix) -> Formulation:
    """Return the program of a mix problem, in the order of its parts."""
    classes = classes_of(mix.wants)
    writer = MixWriter(mix, ProgramBuilder(mix.offset), classes)
    for index, kind in enumerate(mix.kinds):
        writer.add_changes(index, kind)
    for index, kind in enumerate(mix.kinds):
        writer.add_closing(index, kind)
    writer.add_wants()
    writer.limit_uses()
    bonuses = writer.add_bonuses()
    short = tuple(writer.add_rule(rule) for rule in mix.rules)
    return Formulation(
        mix=mix,
        program=writer.program.build(),
        taken=tuple(writer.taken),
        closed=writer.closed,
        classes=classes,
        starts={gang: column for gang, (column, _) in writer.gangs.items()},
        flows=writer.flows,
        hosted=writer.hosted,
        bonuses=bonuses,
        short=short,
        zone_rows=writer.zone_rows,
    )
