"""Health of the loop: whether it still moves, and whether it still gets anywhere.

Two clocks, because a loop can hang, and can also run in circles. The port answering
says nothing: it has a thread of its own.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

ACTIVITY_S = 600.0
SUCCESS_S = 900.0
# A long interval is no sign of trouble: so many of them must pass.
INTERVALS_ACTIVE = 5
INTERVALS_SUCCESS = 8


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """How long the loop may be silent, or without success, in seconds."""

    activity_s: float = ACTIVITY_S
    success_s: float = SUCCESS_S


def limits_for(interval_s: float) -> HealthLimits:
    """Return limits that fit the policy's interval."""
    return HealthLimits(
        activity_s=max(ACTIVITY_S, INTERVALS_ACTIVE * interval_s),
        success_s=max(SUCCESS_S, INTERVALS_SUCCESS * interval_s),
    )


class Health:
    """Marks that the loop leaves, and what they say; safe across threads.

    Parameters
    ----------
    monotonic_s
        Seconds from any start. Both clocks begin to run when this is made: the first
        cycles have as long as later ones to get somewhere.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._active_s = self._success_s = monotonic_s()
        self._limits = HealthLimits()
        self._has_policy = False
        self._has_observed = False

    def begin(self, interval_s: float) -> None:
        """Note that a cycle begins, under a policy that is good."""
        with self._lock:
            self._active_s = self._monotonic_s()
            self._limits = limits_for(interval_s)
            self._has_policy = True

    def end(self, *, succeeded: bool, observed: bool = False) -> None:
        """Note that a cycle ended, and how."""
        with self._lock:
            self._active_s = self._monotonic_s()
            if succeeded:
                self._success_s = self._active_s
            self._has_observed = self._has_observed or observed

    def ailment(self) -> str:
        """Return why the process should be restarted, empty when it should not."""
        with self._lock:
            now_s, limits = self._monotonic_s(), self._limits
            silent_s, failing_s = now_s - self._active_s, now_s - self._success_s
        if silent_s > limits.activity_s:
            return f"the loop has not moved for {silent_s:.0f} s"
        if failing_s > limits.success_s:
            return f"no cycle has succeeded for {failing_s:.0f} s"
        return ""

    def obstacle(self) -> str:
        """Return why the loop is not ready, empty when it is."""
        with self._lock:
            if not self._has_policy:
                return "no policy is loaded yet"
            if not self._has_observed:
                return "the cluster has not been observed yet"
        return ""
