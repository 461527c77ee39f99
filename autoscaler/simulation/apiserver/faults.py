"""Faults by script: what goes wrong at which request, and how often.

Consulted at three points of every request. Before the apply nothing has
happened yet; after the apply the write is stored but the client does not know;
before the reply only the transport is at stake.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.status import Details, StatusError


class Point(Enum):
    """Where in the course of a request a fault strikes."""

    BEFORE_APPLY = "before apply"
    AFTER_APPLY = "after apply"
    BEFORE_REPLY = "before reply"


class Break(Enum):
    """How a connection fails."""

    DROP = "connection closed without a reply"
    HANG = "no reply"
    TRUNCATE = "reply cut off"


class BrokenConnection(Exception):
    """The client gets no whole reply; what it sees is up to the front end."""

    def __init__(self, how: Break) -> None:
        super().__init__(how.value)
        self.how = how


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens: a delay first, then a call, then an error status or a broken line.

    Parameters
    ----------
    code, reason, message, retry_after_s
        HTTP status to answer with instead; 0 for none.
    delay_s
        Seconds by which everything is late.
    broken
        How the connection fails; ``None`` when it does not.
    call
        Called with the request; may raise whatever the test wants, for instance
        to end the caller at this very write.
    """

    code: int = 0
    reason: str = ""
    message: str = "injected fault"
    retry_after_s: int = 0
    delay_s: float = 0.0
    broken: Break | None = None
    call: Callable[[Request], None] | None = None

    def strike(self, request: Request, wait: Callable[[float], None]) -> None:
        """Let it happen: return late, or raise."""
        if self.delay_s:
            wait(self.delay_s)
        if self.call:
            self.call(request)
        if self.broken:
            raise BrokenConnection(self.broken)
        if self.code:
            details = Details(retry_after_s=self.retry_after_s)
            raise StatusError(self.code, self.reason, self.message, details)


def any_request(request: Request) -> bool:
    """Match every request."""
    return True


def any_write(request: Request) -> bool:
    """Match every request that changes something."""
    return request.is_mutating


@dataclass(slots=True)
class Rule:
    """Where, when and how often a fault strikes.

    Parameters
    ----------
    when
        Predicate on the request.
    skip
        Number of matching requests that still go well.
    times
        Number of times it then strikes; ``None`` for always.
    """

    point: Point
    fault: Fault
    when: Callable[[Request], bool] = any_request
    skip: int = 0
    times: int | None = 1
    struck: int = field(default=0, init=False)

    def due(self, point: Point, request: Request) -> bool:
        """Say whether it strikes now; counts the request."""
        if point is not self.point or self.struck == self.times or not self.when(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.struck += 1
        return True


class Faults:
    """The rules in force, in the order they were added."""

    def __init__(self, wait: Callable[[float], None]) -> None:
        self._wait = wait
        self._rules: list[Rule] = []
        self._lock = threading.Lock()

    def add(self, rule: Rule) -> Rule:
        """Put a rule in force."""
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Let everything go well again."""
        with self._lock:
            self._rules.clear()

    def consult(self, point: Point, request: Request) -> None:
        """Let every fault strike that is due at this point."""
        if not self._rules:
            return
        with self._lock:
            due = [rule for rule in self._rules if rule.due(point, request)]
        for rule in due:
            rule.fault.strike(request, self._wait)
