"""Whether the calendar lets a change start now: windows, freezes and time enough."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from autoscaler.domain.policy.policy import Disruption, Freeze
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.domain.policy.window import (
    closes_at_s,
    freeze_end_s,
    is_frozen,
    is_open,
    next_open_s,
)
from autoscaler.domain.reasons import Block, Reason


@dataclass(frozen=True, slots=True)
class Timing:
    """What the calendar says of one moment; worked out once for all changes.

    Parameters
    ----------
    rules
        Windows, freezes and what may start outside.
    now_s
        The moment, epoch seconds.
    frozen
        The freeze that holds, if one does.
    in_window
        Whether a maintenance window is open.
    closes_s
        When the window closes or a freeze starts; ``None`` when neither happens.
    freezes_s
        When the next freeze starts; ``None`` when none does.
    """

    rules: Disruption
    now_s: float
    frozen: Freeze | None
    in_window: bool
    closes_s: float | None
    freezes_s: float | None

    def blocks(self, needed_s: float, disturbs: str) -> Iterator[Block]:
        """Yield why a change may not start now.

        Parameters
        ----------
        needed_s
            Seconds it is expected to take.
        disturbs
            Whom it disturbs; empty when nobody.
        """
        if self.frozen is not None:
            yield Block(Reason.FROZEN, self._frozen_message(self.frozen))
        idle = self.rules.outside_windows == "idle" and not disturbs
        if not self.in_window and not idle:
            yield Block(Reason.OUTSIDE_WINDOW, self._outside_message(disturbs))
        elif self.frozen is None:
            yield from self._too_long(needed_s, self.freezes_s if idle else self.closes_s)

    def _too_long(self, needed_s: float, end_s: float | None) -> Iterator[Block]:
        if end_s is None or self.now_s + needed_s <= end_s:
            return
        left = format_duration(float(max(0, round(end_s - self.now_s))))
        needed = format_duration(float(round(needed_s)))
        yield Block(
            Reason.DOES_NOT_FIT_WINDOW,
            f"takes about {needed}, but only {left} are left until {moment(end_s)};"
            f" {self._opening_from(end_s)}",
        )

    def _frozen_message(self, freeze: Freeze) -> str:
        days = f"from {freeze.from_} to {freeze.to} ({freeze.time_zone})"
        end_s = freeze_end_s(freeze)
        return f"nothing starts {days}, until {moment(end_s)}; {self._opening_from(end_s)}"

    def _outside_message(self, disturbs: str) -> str:
        is_asked = self.rules.outside_windows == "idle"
        why = f", and the change is not idle: {disturbs}" if is_asked else ""
        return f"no maintenance window is open{why}; {self._opening_from(self.now_s)}"

    def _opening_from(self, from_s: float) -> str:
        opens_s = next_open_s(self.rules.windows, from_s, self.rules.freezes)
        if opens_s is None:
            return "no window ever opens"
        return f"changes may start again from {moment(opens_s)}"


def timing(rules: Disruption, now_s: float) -> Timing:
    """Return what the calendar of a policy says of a moment, in epoch seconds."""
    return Timing(
        rules=rules,
        now_s=now_s,
        frozen=is_frozen(rules.freezes, now_s),
        in_window=is_open(rules.windows, now_s),
        closes_s=closes_at_s(rules.windows, now_s, rules.freezes),
        freezes_s=closes_at_s(None, now_s, rules.freezes),
    )


def moment(at_s: float) -> str:
    """Return an instant for people, in UTC, to the second above it."""
    time = datetime.fromtimestamp(-(-at_s // 1), UTC)
    return f"{time:%Y-%m-%d %H:%M:%S} UTC" if time.second else f"{time:%Y-%m-%d %H:%M} UTC"


def _rounded(seconds: float) -> str:
    return format_duration(float(round(seconds)))
