"""When a policy's times are: is a window open, when does the next one open, this one close.

A span holds an instant when the local clock, at that instant, shows a time inside
it. So a time that the clock jumps over does not exist, and where the clock repeats
an hour both count. A span past midnight belongs to the day on which it starts.
Between instants all arithmetic is in UTC: adding to a local time would be wrong by an
hour twice a year.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from autoscaler.domain.policy.quantity import ALL_DAYS
from autoscaler.domain.policy.schedule import DailySpan, Freeze

DAY_S = 86400
# A span of one weekday comes back after seven days; daylight saving can swallow one or
# two of them, so nothing that recurs at all is further away than this.
SEARCH_DAYS = 22


def is_open(windows: Iterable[DailySpan] | None, now_s: float) -> bool:
    """Say whether a maintenance window is open.

    Parameters
    ----------
    windows
        ``None``: always open. None in it: never.
    now_s
        Epoch seconds.
    """
    return windows is None or any(span_active(span, now_s) for span in windows)


def span_active(span: DailySpan, now_s: float) -> bool:
    """Say whether the local clock shows a time inside the span.

    Parameters
    ----------
    span
        Its start is included, its end is not.
    now_s
        Epoch seconds.
    """
    local = _local(span.time_zone, now_s)
    clock_s = local.hour * 3600 + local.minute * 60 + local.second
    start_s, end_s = _seconds(span.start), _seconds(span.end)
    if start_s < end_s:
        return start_s <= clock_s < end_s and _is_day_of(span, local.date())
    if clock_s >= start_s:
        return _is_day_of(span, local.date())
    return clock_s < end_s and _is_day_of(span, local.date() - timedelta(days=1))


def is_frozen(freezes: Iterable[Freeze], now_s: float) -> Freeze | None:
    """Return the freeze of today that ends last, ``None`` when there is none.

    Parameters
    ----------
    freezes
        Both days of each are included, in its own time zone.
    now_s
        Epoch seconds.
    """
    holding = [f for f in freezes if f.from_ <= _local(f.time_zone, now_s).date() <= f.to]
    return max(holding, key=freeze_end_s, default=None)


def freeze_end_s(freeze: Freeze) -> float:
    """Return the first instant after a freeze, in epoch seconds."""
    return _first_instant_s(freeze.time_zone, freeze.to + timedelta(days=1))


def freeze_start_s(freeze: Freeze) -> float:
    """Return the first instant of a freeze, in epoch seconds."""
    return _first_instant_s(freeze.time_zone, freeze.from_)


def next_open_s(
    windows: tuple[DailySpan, ...] | None, now_s: float, freezes: tuple[Freeze, ...] = ()
) -> float | None:
    """Return the first instant, from now on, at which a window is open and nothing is frozen.

    Parameters
    ----------
    windows
        As for ``is_open``.
    now_s
        Epoch seconds.
    freezes
        Days on which windows do not count.

    Returns
    -------
    float or None
        Epoch seconds, ``now_s`` itself when open now; ``None`` when no window opens.
    """
    at_s = now_s
    # Each freeze is left for good at its end, so it can be met only once.
    for _ in range(len(freezes) + 1):
        opening_s = _first_s(windows, at_s, wanted=True)
        if opening_s is None:
            return None
        freeze = is_frozen(freezes, opening_s)
        if freeze is None:
            return opening_s
        at_s = freeze_end_s(freeze)
    return None


def closes_at_s(
    windows: tuple[DailySpan, ...] | None, now_s: float, freezes: tuple[Freeze, ...] = ()
) -> float | None:
    """Return the first instant, from now on, at which no window is open or a freeze holds.

    Windows that overlap, or of which one starts when the other ends, are one.

    Parameters
    ----------
    windows
        As for ``is_open``.
    now_s
        Epoch seconds.
    freezes
        Days on which windows do not count.

    Returns
    -------
    float or None
        Epoch seconds, ``now_s`` itself when closed now; ``None`` when it stays open.
    """
    if is_frozen(freezes, now_s):
        return now_s
    edges = [_first_s(windows, now_s, wanted=False)]
    edges += [start_s for f in freezes if (start_s := freeze_start_s(f)) >= now_s]
    return min((edge for edge in edges if edge is not None), default=None)


def next_edge_s(spans: Iterable[DailySpan], now_s: float) -> float | None:
    """Return the first instant after now at which any span starts or ends.

    Parameters
    ----------
    spans
        Windows, or spans of floors.
    now_s
        Epoch seconds.
    """
    edges = []
    for span in spans:
        holds = span_active(span, now_s)
        edges.append(_first_s((span,), now_s, wanted=not holds))
    return min((edge for edge in edges if edge is not None), default=None)


def _first_s(
    windows: tuple[DailySpan, ...] | None, now_s: float, *, wanted: bool
) -> float | None:
    """Return the first instant from now on at which the windows are open, or are not."""
    if is_open(windows, now_s) == wanted:
        return now_s
    edges_s = {edge_s for span in windows or () for edge_s in _edges_s(span, now_s)}
    later = sorted(edge_s for edge_s in edges_s if edge_s > now_s)
    return next((edge_s for edge_s in later if is_open(windows, edge_s) == wanted), None)


def _edges_s(span: DailySpan, now_s: float) -> Iterator[float]:
    """Yield all instants of the coming weeks at which the span may start or end.

    Between two of them the local clock runs evenly and passes neither end of the span,
    so nothing changes there.
    """
    zone = ZoneInfo(span.time_zone)
    today = _local(span.time_zone, now_s).date()
    for offset in range(-1, SEARCH_DAYS):
        day = today + timedelta(days=offset)
        for wall_s in (_seconds(span.start), _seconds(span.end)):
            yield from _instants_s(zone, day, wall_s)
    yield from _clock_changes_s(zone, now_s, now_s + SEARCH_DAYS * DAY_S)


def _instants_s(zone: ZoneInfo, day: date, wall_s: int) -> Iterator[float]:
    """Yield the instants, one or two, at which the clock may show this time of this day."""
    wall = datetime.combine(day, time()) + timedelta(seconds=wall_s)
    for fold in (0, 1):
        yield wall.replace(tzinfo=zone, fold=fold).timestamp()


def _clock_changes_s(zone: ZoneInfo, from_s: float, to_s: float) -> Iterator[float]:
    """Yield the instants at which the zone's offset changes, in whole seconds."""
    left_s = int(from_s)
    while left_s < to_s:
        right_s = left_s + DAY_S
        if _offset(zone, left_s) != _offset(zone, right_s):
            yield float(_change_s(zone, left_s, right_s))
        left_s = right_s


def _change_s(zone: ZoneInfo, left_s: int, right_s: int) -> int:
    """Return the first second of the offset that holds at ``right_s``, by bisection."""
    after = _offset(zone, right_s)
    while right_s - left_s > 1:
        middle_s = (left_s + right_s) // 2
        if _offset(zone, middle_s) == after:
            right_s = middle_s
        else:
            left_s = middle_s
    return right_s


def _first_instant_s(time_zone: str, day: date) -> float:
    """Return the first instant at which the local date is ``day`` or later."""
    zone = ZoneInfo(time_zone)
    earliest_s = min(_instants_s(zone, day, 0))
    candidates = [*_instants_s(zone, day, 0)]
    candidates += _clock_changes_s(zone, earliest_s - DAY_S, earliest_s + DAY_S)
    return min(s for s in candidates if _local(time_zone, s).date() >= day)


def _local(time_zone: str, now_s: float) -> datetime:
    return datetime.fromtimestamp(now_s, UTC).astimezone(ZoneInfo(time_zone))


def _offset(zone: ZoneInfo, at_s: int) -> timedelta | None:
    return datetime.fromtimestamp(at_s, UTC).astimezone(zone).utcoffset()


def _seconds(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * 3600 + int(minute) * 60


def _is_day_of(span: DailySpan, day: date) -> bool:
    return ALL_DAYS[day.weekday()] in span.days
