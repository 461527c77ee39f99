"""Days of a trace: which a policy may learn from, and which it is judged on."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.trace_file import Trace

# Days with less than this share of the jobs of a usual day are no part of a trace yet.
SPARSE = 0.1
PAST_SHARE = 19 / 34


@dataclass(frozen=True, slots=True)
class Days:
    """Days of a trace, the last one not included."""

    first: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.end:
            raise ConfigError(f"{self.first}:{self.end} are no days")

    def __str__(self) -> str:
        return f"{self.first}:{self.end}"

    @property
    def number(self) -> int:
        """How many."""
        return self.end - self.first

    @property
    def span_s(self) -> float:
        """Their length in seconds."""
        return self.number * DAY_S


@dataclass(frozen=True, slots=True)
class Division:
    """Days to learn from and days to be judged on; ``None`` for the usual ones of a trace.

    Where only one side is named the other one is what the trace has before or after it.
    """

    past: Days | None = None
    present: Days | None = None

    def __post_init__(self) -> None:
        past, present = self.past, self.present
        if past is None or present is None:
            return
        # Whoever learns from days that are judged knows the jobs to come.
        if past.first < present.end and present.first < past.end:
            raise ConfigError(
                f"days to learn from ({past}) and days to be judged on ({present}) overlap"
            )

    def of(self, trace: Trace) -> tuple[Days, Days]:
        """Return both for a trace; ConfigError when it has none on the side not named."""
        if self.past is not None and self.present is not None:
            return self.past, self.present
        if self.present is not None:
            return days_before(trace, self.present), self.present
        if self.past is not None:
            return self.past, days_after(trace, self.past)
        return usual_days(trace)


def idle_days(trace: Trace, days: Days) -> Iterator[str]:
    """Yield what must be known of days that reach beyond the trace: the load counts them."""
    found = [int(row.arrival_s // DAY_S) for row in trace.rows]
    first, end = (min(found), max(found) + 1) if trace.days is None else (0, trace.days)
    if days.first < first or days.end > end:
        yield (
            f"days {days} reach beyond the jobs, which come on days"
            f" {first}:{end}: so the load of those is higher"
        )


def usual_days(trace: Trace) -> tuple[Days, Days]:
    """Return days to learn from, and those after them to be judged on.

    The days from which on jobs come densely, without the last one, which has hardly come
    to its end; so much of them is to learn from as in studies of the trace that is
    shipped: 19 of 34.

    Raises
    ------
    ConfigError
        When there are no two such days.
    """
    first, end = dense_days(trace)
    if end - first < 2:
        raise ConfigError(
            f"{trace.name}: its jobs arrive within one day, so there is no past to learn"
            f" from; name days to learn from and days to be judged on"
        )
    middle = first + min(max(1, round((end - first) * PAST_SHARE)), end - first - 1)
    return Days(first, middle), Days(middle, end)


def days_before(trace: Trace, present: Days) -> Days:
    """Return the usual days of a trace as far as they are before others; there must be one."""
    first, end = dense_days(trace)
    if present.first <= first:
        raise ConfigError(
            f"{trace.name}: its usual days begin with {first}, so there are none before"
            f" {present} to learn from; name some"
        )
    return Days(first, min(present.first, end))


def days_after(trace: Trace, past: Days) -> Days:
    """Return the usual days of a trace as far as they are after others; there must be one."""
    first, end = dense_days(trace)
    if past.end >= end:
        raise ConfigError(
            f"{trace.name}: its usual days end before {end}, so there are none after"
            f" {past} to be judged on; name some"
        )
    return Days(max(past.end, first), end)


def dense_days(trace: Trace) -> tuple[int, int]:
    """Return the first of the days on which jobs come densely, and the day after the last."""
    if trace.days is not None:
        return 0, trace.days
    numbers = Counter(int(row.arrival_s // DAY_S) for row in trace.rows)
    typical = median(numbers.values())
    first = min(day for day, number in numbers.items() if number >= SPARSE * typical)
    last = max(numbers)
    # Of two days the last has to do, whole or not.
    return first, last if last - first >= 2 else last + 1
