"""Horizon: how long a new mix is counted to serve before it can be changed again.

What may start at any time is counted for a constant time, because it can be undone as
soon as demand shifts. What may start in maintenance windows only stays as it is until
the next one, so its worth and its harm last that long.
"""

from dataclasses import dataclass

from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.window import closes_at_s, is_frozen, is_open, next_open_s


@dataclass(frozen=True, slots=True)
class Horizon:
    """How long changes are counted to serve.

    Parameters
    ----------
    anytime_s
        Of changes that may start outside of windows too, in seconds.
    window_s
        Of changes that may start in a window only, in seconds; at least as long.
    is_closed
        Whether these must wait for a window now.
    """

    anytime_s: float
    window_s: float
    is_closed: bool = False

    @property
    def is_same(self) -> bool:
        """Whether it makes no difference what a change is."""
        return self.window_s == self.anytime_s

    @property
    def stretch(self) -> float:
        """How many times longer a change of windows serves; at least 1."""
        return self.window_s / self.anytime_s


def horizon_of(policy: Policy, now_s: float) -> Horizon:
    """Return how long changes that start now are counted to serve.

    Parameters
    ----------
    policy
        Without windows, or with windows that never open, only the constant counts.
    now_s
        Epoch seconds.

    Returns
    -------
    Horizon
        Where everything must wait for a window, both times are those of windows.
    """
    constant_s = policy.planning.horizon_s
    rules = policy.disruption
    if not rules.windows:
        return Horizon(constant_s, constant_s)
    opens_s = next_window_s(policy, now_s)
    window_s = constant_s if opens_s is None else max(constant_s, opens_s - now_s)
    is_closed = not is_open(rules.windows, now_s) or is_frozen(rules.freezes, now_s) is not None
    if rules.outside_windows == "none":
        return Horizon(window_s, window_s, is_closed)
    return Horizon(constant_s, window_s, is_closed)


def next_window_s(policy: Policy, now_s: float) -> float | None:
    """Return when the next window starts, the one that is open now aside.

    Parameters
    ----------
    policy
        Freezes count: a window in one of them does not open.
    now_s
        Epoch seconds.

    Returns
    -------
    float or None
        Epoch seconds; ``None`` when no further window ever opens.
    """
    rules = policy.disruption
    closes_s = closes_at_s(rules.windows, now_s, rules.freezes)
    if closes_s is None:
        return None
    return next_open_s(rules.windows, closes_s, rules.freezes)
