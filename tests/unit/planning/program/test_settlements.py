"""Problems that come back are settled once."""

from dataclasses import replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan import StoppedBy
from autoscaler.planning.program.mix import GpuKind, Mix, NodeKind, Option, Want
from autoscaler.planning.program.optimizer import Settlement
from autoscaler.planning.program.settlements import Settlements, settle_steadily
from autoscaler.planning.solving.answer import DEFAULT_LIMITS, Answer, Status
from autoscaler.planning.solving.solver import solve

LARGE = Option((("large", 1), ("small", -7)), cost=10.0)


class Counting:
    """A solver that counts how often it is asked."""

    def __init__(self, fails: bool = False) -> None:
        self.number = 0
        self._fails = fails

    def __call__(self, program, gap, max_nodes) -> Answer:
        """Solve, or fail."""
        self.number += 1
        return Answer(Status.FAILURE) if self._fails else solve(program, gap, max_nodes)


def problem(waiting: int = 1) -> Mix:
    """Return two nodes of seven small instances, and requests for large ones."""
    kind = NodeKind(0, 2, Counts({"small": 7}), (GpuKind(1, (LARGE,)),))
    wants = (
        Want(Counts({"small": 1}), 7, 100.0, frozenset({0})),
        Want(Counts({"large": 1}), waiting, 100.0, frozenset({0})),
    )
    return Mix((kind,), wants)


def settled(memory: Settlements, mix: Mix, solver, guard=None) -> Settlement | None:
    """Return what a memory settles."""
    return memory.settle(mix, DEFAULT_LIMITS, guard, solver)


def test_an_equal_problem_is_settled_once():
    """It gets the same settlement, and no time of the solver."""
    memory, solver = Settlements(), Counting()
    first = settled(memory, problem(), solver)
    number = solver.number
    again = settled(memory, problem(), solver)
    assert solver.number == number > 0
    assert again == replace(first, seconds=0.0, relaxed_seconds=0.0)


def test_what_is_remembered_is_what_would_be_found():
    """The memory only saves time."""
    memory = Settlements()
    for mix in (problem(), problem(2), problem()):
        found = settled(memory, mix, solve)
        own = settle_steadily(mix, DEFAULT_LIMITS, None, solve)
        assert (found.choice, found.unchanged) == (own.choice, own.unchanged)
        assert (found.bound, found.stopped_by) == (own.bound, own.stopped_by)


def test_other_problems_and_limits_are_settled_anew():
    """Whatever else a settlement depends on."""
    memory, solver = Settlements(), Counting()
    settled(memory, problem(), solver)
    number = solver.number
    assert settled(memory, problem(2), solver).choice.served == (7, 1)
    assert solver.number > number
    number = solver.number
    memory.settle(problem(), replace(DEFAULT_LIMITS, max_nodes=7), None, solver)
    assert solver.number > number


def test_only_the_latest_are_remembered():
    """So that the memory does not grow."""
    memory, solver = Settlements(most=2), Counting()
    for waiting in (1, 2, 3):
        settled(memory, problem(waiting), solver)
    number = solver.number
    settled(memory, problem(3), solver)
    settled(memory, problem(2), solver)
    assert solver.number == number
    settled(memory, problem(1), solver)
    assert solver.number > number


def test_what_was_cut_short_is_tried_again():
    """A failure or a clock may end otherwise the next time."""
    memory, failing = Settlements(), Counting(fails=True)
    assert settled(memory, problem(), failing) is None
    number = failing.number
    assert settled(memory, problem(), failing) is None
    assert failing.number == 2 * number
    hosts = tuple(
        NodeKind(0, 1, Counts({"small": 3}), (GpuKind(1, (LARGE,)),), is_host=True)
        for _ in range(3)
    )
    pairs = Want(Counts({"small": 2}), 9, 100.0, frozenset({0}))
    hard = Mix(hosts, (pairs, Want(Counts({"large": 1}), 1, 5.0, frozenset({0}))))
    slow = settled(memory, hard, solve, guard=lambda *_: None)
    assert slow.stopped_by is StoppedBy.WALL_CLOCK
    assert settled(memory, hard, solve).stopped_by is StoppedBy.OPTIMAL
