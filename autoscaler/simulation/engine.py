"""One virtual clock for the whole embedded cluster.

Controllers act on what changed until nothing changes any more; only then does time
move, straight to the next timer or event. So nothing depends on the speed of the
machine, and the same start gives the same run.
"""

import time
from collections.abc import Callable
from math import ceil
from typing import Protocol

import simpy

from autoscaler.domain.errors import InvariantError
from autoscaler.simulation.clock import VirtualClock

MAX_ROUNDS = 1000
# Real seconds between two looks at whether a request is still open.
POLL_S = 0.0005


class Controller(Protocol):
    """Something that acts on what it watches."""

    def step(self) -> float | None:
        """Do what can be done now; return when timed work is next due (epoch seconds)."""
        ...


class Engine:
    """Runs controllers to a fixpoint, then advances to the earliest timer or event.

    Parameters
    ----------
    version
        Changes whenever any object changed: two equal readings around a round of all
        controllers mean that there is nothing left to do.
    """

    def __init__(self, clock: VirtualClock, version: Callable[[], object]) -> None:
        self.clock = clock
        self._version = version
        self._idle_checks: list[Callable[[], bool]] = []
        self._controllers: list[Controller] = []
        self._active: list[Controller] = []
        self._wake_ms: int | None = None
        self._env = simpy.Environment(initial_time=_to_ms(clock.now_s()))
        clock.on_sleep(self._sleep_until)

    def add(self, controller: Controller) -> None:
        """Let a controller take part; those added first act first."""
        self._controllers.append(controller)

    def hold_while_busy(self, is_idle: Callable[[], bool]) -> None:
        """Keep time still until this is true, e.g. that a server has no open request."""
        self._idle_checks.append(is_idle)

    def call_at(self, time_s: float, action: Callable[[], object]) -> None:
        """Have an action called at an epoch second, before the controllers of that time."""
        delay_ms = max(0, _to_ms(time_s) - self._env.now)
        event = self._env.timeout(delay_ms)

        def run(_: object) -> None:
            action()

        event.callbacks.append(run)

    def run_until(self, time_s: float) -> None:
        """Let the world go on up to and including an epoch second."""
        end_ms = _to_ms(time_s)
        self.settle()
        while self._env.peek() <= end_ms:
            self._step_events()
            self.settle()
        if end_ms > self._env.now:
            self._env.run(until=end_ms)
        self.clock.move_to(end_ms / 1000)

    def settle(self) -> None:
        """Run all controllers until nothing changes any more, without moving time."""
        for _ in range(MAX_ROUNDS):
            self._wait_idle()
            before = self._version()
            dues_s = [self._step(controller) for controller in self._controllers]
            self._wait_idle()
            if self._version() == before:
                self._wake_at(dues_s)
                return
        raise InvariantError("the simulated controllers keep undoing each other's work")

    def _wait_idle(self) -> None:
        while not all(is_idle() for is_idle in self._idle_checks):
            # Another thread answers a request; simulated time stands still meanwhile.
            time.sleep(POLL_S)

    def _step(self, controller: Controller) -> float | None:
        # Whoever sleeps inside its own step is waiting: it is not called again meanwhile.
        if controller in self._active:
            return None
        self._active.append(controller)
        try:
            return controller.step()
        finally:
            self._active.pop()

    def _step_events(self) -> None:
        """Handle all events of the next point in time."""
        at_ms = self._env.peek()
        self.clock.move_to(at_ms / 1000)
        while self._env.peek() == at_ms:
            self._env.step()

    def _wake_at(self, dues_s: list[float | None]) -> None:
        known_ms = [_to_ms(due_s) for due_s in dues_s if due_s is not None]
        if not known_ms:
            return
        # A timer that is due and yet did nothing must not hold time for ever.
        now_ms = int(self._env.now)
        next_ms = max(min(known_ms), now_ms + 1)
        if self._wake_ms is not None and now_ms < self._wake_ms <= next_ms:
            return
        self._wake_ms = next_ms
        self._env.timeout(next_ms - now_ms)

    def _sleep_until(self, time_s: float) -> None:
        self.run_until(time_s)


class Periodic:
    """A controller that calls an action at a fixed pace, e.g. the autoscaler's loop.

    The action may return an epoch second at which it wants to be called earlier than
    its pace says.
    """

    def __init__(
        self,
        clock: VirtualClock,
        action: Callable[[], float | None],
        *,
        interval_s: float,
        first_s: float,
    ) -> None:
        self._clock = clock
        self._action = action
        self._interval_s = interval_s
        self._next_s = first_s

    def step(self) -> float | None:
        """Call the action when it is due."""
        now_s = self._clock.now_s()
        if now_s >= self._next_s:
            self._next_s = round(now_s + self._interval_s, 3)
            wanted_s = self._action()
            if wanted_s is not None:
                self._next_s = min(self._next_s, max(wanted_s, now_s + 0.001))
        return self._next_s


def _to_ms(time_s: float) -> int:
    """Return the first whole millisecond that is not before a time."""
    near_ms = round(time_s * 1000)
    return near_ms if near_ms / 1000 >= time_s else ceil(time_s * 1000)
