"""Timers of one controller: what is due when, by key."""

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Timers(Generic[K]):
    """One due time a key; setting a key again replaces its time.

    Times are whole milliseconds, so that a timer and the clock that was moved to it
    compare equal. Keys due at the same time come in the order in which they were set.
    """

    def __init__(self) -> None:
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def set(self, key: K, at_s: float) -> None:
        """Make the key due at an epoch second."""
        self._serial += 1
        at_s = round(at_s, 3)
        self._due[key] = (at_s, self._serial)
        heapq.heappush(self._heap, (at_s, self._serial, key))

    def cancel(self, key: K) -> None:
        """Forget the key, if it is set."""
        self._due.pop(key, None)

    def at_s(self, key: K) -> float | None:
        """Return when the key is due; ``None`` when it is not set."""
        entry = self._due.get(key)
        return entry[0] if entry else None

    def next_s(self) -> float | None:
        """Return the earliest due time."""
        while self._heap:
            at_s, serial, key = self._heap[0]
            if self._due.get(key) == (at_s, serial):
                return at_s
            heapq.heappop(self._heap)
        return None

    def pop_due(self, now_s: float) -> list[K]:
        """Take the keys that are due, earliest first."""
        due: list[K] = []
        while (at_s := self.next_s()) is not None and at_s <= now_s:
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            due.append(key)
        return due


def earliest(*times_s: float | None) -> float | None:
    """Return the earliest of some times that may be missing."""
    known = [time_s for time_s in times_s if time_s is not None]
    return min(known) if known else None
