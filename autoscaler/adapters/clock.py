"""Real time."""

import time


class SystemClock:
    """The clock of the machine."""

    def now_s(self) -> float:
        """Return epoch seconds, UTC."""
        return time.time()

    def monotonic_s(self) -> float:
        """Return seconds from an arbitrary start, never backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; a time that is already over is no wait."""
        time.sleep(max(0.0, seconds))
