"""Times that a policy names: daily spans, and days on which nothing starts.

What a time means on a given instant, with time zones and daylight saving, is the
business of ``window``.
"""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from autoscaler.domain.policy.quantity import (
    ALL_DAYS,
    Day,
    DayOfYear,
    EndTime,
    StartTime,
    TimeZone,
    ordered_days,
)
from autoscaler.domain.policy.section import Problem, Section, refuse

ProfileAmounts = dict[str, Annotated[int, Field(ge=0)]]


class DailySpan(Section):
    """A span of local time on some weekdays."""

    days: Annotated[tuple[Day, ...], AfterValidator(ordered_days)] = ALL_DAYS
    """Weekdays on which the span starts. Default: all, because most clusters have the
    same nights every day."""

    start: StartTime
    """Local time at which it starts, "00:00" to "23:59"."""

    end: EndTime
    """Local time at which it ends, itself excluded; "24:00" is the end of the day. A time
    before ``start`` is on the next day, and the span still belongs to its start day."""

    time_zone: TimeZone = "UTC"
    """IANA time zone of both times. Default: UTC, because the zone of a pod is no one's
    decision. Where the clock jumps over a time it does not exist; where the clock repeats
    an hour, both hours count."""

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if self.start == self.end:
            text = 'is the same as start; a whole day is "00:00" to "24:00"'
            refuse([Problem(("end",), text)])
        return self


class FloorSpan(DailySpan):
    """A floor or a ceiling that holds at some times only."""

    profiles: ProfileAmounts
    """Instances of each profile to keep, or to have at most, while the span lasts. Where
    spans overlap, the stricter number counts: the larger floor, the smaller ceiling."""


class ScheduledPeak(DailySpan):
    """Demand that is known to come."""

    name: Annotated[str, Field(min_length=1)]
    """Name that people see in explanations."""

    profiles: ProfileAmounts
    """Instances of each profile that will be asked for."""


class Freeze(Section):
    """Days on which nothing starts."""

    from_: DayOfYear
    """First day, e.g. "2026-12-24"; it starts at local midnight."""

    to: DayOfYear
    """Last day, included as a whole."""

    time_zone: TimeZone = "UTC"
    """IANA time zone of both days. Default: UTC, as for windows."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.to < self.from_:
            refuse([Problem(("to",), f"{self.to} is before the first day, {self.from_}")])
        return self
