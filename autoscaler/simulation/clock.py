"""Virtual time: it stands still until the engine moves it."""

from collections.abc import Callable


class VirtualClock:
    """The clock port on simulated time, in whole milliseconds.

    Parameters
    ----------
    start_s
        Epoch second at which the simulation begins.
    """

    def __init__(self, start_s: float) -> None:
        self._now_ms = round(start_s * 1000)
        self._start_ms = self._now_ms
        self._advance: Callable[[float], None] | None = None

    def now_s(self) -> float:
        """Epoch seconds, UTC."""
        return self._now_ms / 1000

    def monotonic_s(self) -> float:
        """Seconds since the simulation began."""
        return (self._now_ms - self._start_ms) / 1000

    def sleep(self, seconds: float) -> None:
        """Let the world go on for a while; without an engine, only the time passes."""
        until_s = self.now_s() + max(0.0, seconds)
        if self._advance is not None:
            self._advance(until_s)
        self.move_to(until_s)

    def move_to(self, time_s: float) -> None:
        """Move to an epoch second; never backwards."""
        self._now_ms = max(self._now_ms, round(time_s * 1000))

    def on_sleep(self, advance: Callable[[float], None]) -> None:
        """Have ``advance(until_s)`` called for whoever sleeps."""
        self._advance = advance
