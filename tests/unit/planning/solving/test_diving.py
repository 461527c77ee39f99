"""Whole solutions of programs that are almost whole by themselves."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.planning.solving.answer import Answer, Status
from autoscaler.planning.solving.diving import whole_answer
from autoscaler.planning.solving.linear import LinearProgram, ProgramBuilder
from autoscaler.planning.solving.solver import solve

SHAPES = ((1, 0), (2, 0), (1, 1), (0, 2))


def hosts(free: list[tuple[int, int]], numbers: list[int], worth: list[float]) -> LinearProgram:
    """Return requests of four shapes on hosts, each with free instances of two names."""
    builder = ProgramBuilder()
    limits = [builder.row(-np.inf, number) for number in numbers]
    for own in free:
        rows = [builder.row(-np.inf, number) for number in own]
        for shape, limit, value in zip(SHAPES, limits, worth, strict=True):
            column = builder.column(value, 9.0, is_integer=True)
            builder.enter(limit, column, 1.0)
            for row, amount in zip(rows, shape, strict=True):
                if amount:
                    builder.enter(row, column, amount)
    return builder.build()


def best(free: list[tuple[int, int]], numbers: list[int], worth: list[float]) -> float:
    """Return the most that can be served, host after host, by trying all ways."""
    found = {(0,) * len(SHAPES): 0.0}
    for first, second in free:
        ways = [
            way
            for way in product(range(4), repeat=len(SHAPES))
            if sum(n * s[0] for n, s in zip(way, SHAPES, strict=True)) <= first
            and sum(n * s[1] for n, s in zip(way, SHAPES, strict=True)) <= second
        ]
        grown = {}
        for so_far in found:
            for way in ways:
                total = tuple(a + b for a, b in zip(so_far, way, strict=True))
                if all(n <= most for n, most in zip(total, numbers, strict=True)):
                    grown[total] = sum(n * w for n, w in zip(total, worth, strict=True))
        found = grown
    return max(found.values())


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0]), min_size=4, max_size=4),
)
def test_the_answer_is_the_best_whole_one(free, numbers, worth):
    """As exhaustive search finds it, whether or not the dive gets there."""
    program = hosts(free, numbers, worth)
    answer = whole_answer(program, solve)
    assert program.is_whole(answer.x)
    assert abs(answer.objective - best(free, numbers, worth)) < 1e-6


def counting(answers: list[bool]):
    """Return a solver that notes of each program whether it asked for whole numbers."""

    def run(program, gap, nodes):
        answers.append(bool(program.is_integer.any()))
        return solve(program, gap, nodes)

    return run


def test_halves_on_two_hosts_become_one_whole():
    """No branching is needed where hosts are alike."""
    asked: list[bool] = []
    program = hosts([(3, 3), (3, 3)], [1, 2, 3, 0], [1.0, 2.0, 2.0, 1.0])
    answer = whole_answer(program, counting(asked))
    assert answer.status is Status.OPTIMAL
    assert program.is_whole(answer.x)
    assert not any(asked)


def test_what_no_dive_finds_is_branched_for():
    """A start that pays only as a whole is worth nothing in part."""
    builder = ProgramBuilder()
    starts, served = builder.column(0.0, 1.0, is_integer=True), builder.column(5.0, 9.0)
    builder.enter_all(builder.row(0.0, np.inf), [(served, 1), (starts, -4)], 1.0)
    builder.enter_all(builder.row(-np.inf, 0.0), [(served, 1), (starts, -4)], 1.0)
    builder.enter(builder.row(-np.inf, 3.0), served, 1.0)
    asked: list[bool] = []
    answer = whole_answer(builder.build(), counting(asked))
    assert (answer.objective, asked[-1]) == (0.0, True)


def test_where_branching_fails_the_whole_parts_are_served():
    """Less than the best, and still a plan: the solver's trouble is not the pods'."""
    free, numbers, worth = [(3, 3), (3, 2)], [1, 3, 2, 3], [1.0, 3.0, 2.0, 3.0]
    program = hosts(free, numbers, worth)

    def failing(own, gap, nodes):
        # Neither a dive nor branching gets anywhere.
        is_first = not (own.upper < program.upper).any() and not own.is_integer.any()
        is_last = (own.lower == own.upper).all()
        return solve(own, gap, nodes) if is_first or is_last else Answer(Status.FAILURE)

    relaxed = failing(program.relaxed(), 0.0, 0)
    assert not program.is_whole(relaxed.x)
    answer = whole_answer(program, failing)
    assert program.is_whole(answer.x)
    assert 0 < answer.objective <= best(free, numbers, worth)


def test_trouble_of_the_solver_is_handed_on():
    """Without a relaxed solution there is none at all."""
    program = hosts([(1, 1)], [1, 1, 1, 1], [1.0] * 4)
    answer = whole_answer(program, lambda *_: Answer(Status.FAILURE, seconds=2.0))
    assert (answer.x, answer.status, answer.seconds) == (None, Status.FAILURE, 2.0)
