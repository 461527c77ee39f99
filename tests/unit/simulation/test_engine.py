"""The engine: fixpoints, timers, nested sleep, determinism."""

import pytest

from autoscaler.domain.errors import InvariantError
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.controllers.timers import Timers, earliest
from autoscaler.simulation.engine import Engine, Periodic

START_S = 1_700_000_000.0


class Board:
    """A number that controllers change, with a version."""

    def __init__(self) -> None:
        self.value = 0
        self.version = 0

    def set(self, value: int) -> None:
        self.value = value
        self.version += 1


class Doubler:
    """Doubles the number until it is 8."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def step(self) -> float | None:
        if 0 < self.board.value < 8:
            self.board.set(2 * self.board.value)
        return None


def make_engine(board: Board) -> Engine:
    return Engine(VirtualClock(START_S), lambda: board.version)


def test_controllers_run_to_a_fixpoint_before_time_moves():
    """A controller that needs several rounds finishes at the time of the event."""
    board = Board()
    engine = make_engine(board)
    engine.add(Doubler(board))
    seen: list[tuple[float, int]] = []
    engine.call_at(START_S + 5, lambda: board.set(1))
    engine.call_at(START_S + 6, lambda: seen.append((engine.clock.now_s(), board.value)))
    engine.run_until(START_S + 10)
    assert seen == [(START_S + 6, 8)]
    assert engine.clock.now_s() == START_S + 10


def test_endless_work_is_an_error_not_a_hang():
    """Two controllers that undo each other's work are found."""
    board = Board()
    engine = make_engine(board)

    class Restless:
        def step(self) -> None:
            board.set(board.value + 1)

    engine.add(Restless())
    with pytest.raises(InvariantError, match="undoing"):
        engine.run_until(START_S + 1)


def test_timers_are_met_to_the_millisecond():
    """A controller is woken exactly when it asked to be, and not before."""
    board = Board()
    engine = make_engine(board)
    timers: Timers[str] = Timers()
    timers.set("late", START_S + 2.0004)
    timers.set("early", START_S + 0.123)
    woken: list[tuple[float, str]] = []

    class Sleeper:
        def step(self) -> float | None:
            now_s = engine.clock.now_s()
            woken.extend((now_s, key) for key in timers.pop_due(now_s))
            return timers.next_s()

    engine.add(Sleeper())
    engine.run_until(START_S + 3)
    assert woken == [(START_S + 0.123, "early"), (START_S + 2.0, "late")]


def test_the_world_goes_on_while_one_participant_sleeps():
    """Sleeping inside a step moves time and lets others act, but does not re-enter."""
    board = Board()
    engine = make_engine(board)
    calls: list[float] = []

    def act() -> None:
        calls.append(engine.clock.now_s())
        engine.clock.sleep(30)
        calls.append(board.value)

    engine.add(Doubler(board))
    engine.add(Periodic(engine.clock, act, interval_s=100, first_s=START_S + 10))
    engine.call_at(START_S + 20, lambda: board.set(1))
    engine.run_until(START_S + 50)
    assert calls == [START_S + 10, 8]
    assert engine.clock.now_s() == START_S + 50


def test_time_stands_still_while_a_request_is_open():
    """The engine waits for another thread before it goes on."""
    board = Board()
    engine = make_engine(board)
    looks: list[float] = []

    def is_idle() -> bool:
        looks.append(engine.clock.now_s())
        return len(looks) > 3

    engine.hold_while_busy(is_idle)
    engine.run_until(START_S + 5)
    assert looks[:3] == [START_S] * 3
    assert engine.clock.now_s() == START_S + 5


def test_periodic_action_may_ask_to_be_called_earlier():
    """The earlier of pace and wish counts."""
    board = Board()
    engine = make_engine(board)
    calls: list[float] = []

    def act() -> float:
        calls.append(engine.clock.now_s() - START_S)
        return engine.clock.now_s() + 2

    engine.add(Periodic(engine.clock, act, interval_s=30, first_s=START_S))
    engine.run_until(START_S + 5)
    assert calls == [0, 2, 4]


def test_a_timer_that_is_set_again_is_due_once():
    """The latest time of a key counts."""
    timers: Timers[str] = Timers()
    timers.set("a", 5.0)
    timers.set("a", 2.0)
    timers.set("b", 2.0)
    timers.cancel("c")
    assert timers.next_s() == 2.0
    assert timers.pop_due(4.0) == ["a", "b"]
    assert timers.pop_due(9.0) == []
    assert earliest(None, 3.0, 2.0) == 2.0
    assert earliest(None) is None
