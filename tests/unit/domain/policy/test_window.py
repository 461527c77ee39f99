"""Instants at which windows, freezes and floors hold, each worked out by hand."""

from datetime import UTC, date, datetime

import pytest

from autoscaler.domain.policy.policy import ALL_DAYS, DailySpan, Freeze
from autoscaler.domain.policy.window import (
    closes_at_s,
    freeze_end_s,
    freeze_start_s,
    is_frozen,
    is_open,
    next_edge_s,
    next_open_s,
)


def at(text):
    """Return epoch seconds of a UTC time."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def span(text, zone="UTC"):
    """Return a window of ``days start end``: ``mon,tue 22:00 06:00``; ``*`` is all days."""
    days, start, end = text.split()
    named = ALL_DAYS if days == "*" else tuple(days.split(","))
    return DailySpan(days=named, start=start, end=end, time_zone=zone)


BERLIN, SHANGHAI, NEW_YORK = "Europe/Berlin", "Asia/Shanghai", "America/New_York"
HAVANA, LORD_HOWE, KATHMANDU = "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu"

# 2026-03-02 is a Monday. Clocks change in Berlin on 2026-03-29 (02:00 to 03:00, 01:00 UTC) and
# 2026-10-25 (03:00 to 02:00, 01:00 UTC); in New York on 2026-03-08 (07:00 UTC) and 2026-11-01
# (06:00 UTC); in Havana on 2026-03-08 at midnight (00:00 to 01:00, 05:00 UTC); on Lord Howe
# on 2026-10-04 by half an hour (02:00 to 02:30, 2026-10-03T15:30 UTC).
INSTANTS = [
    # A plain window: the start belongs to it, the end does not.
    ("mon 09:00 17:00", "UTC", "2026-03-02T08:59:59", False),
    ("mon 09:00 17:00", "UTC", "2026-03-02T09:00", True),
    ("mon 09:00 17:00", "UTC", "2026-03-02T16:59:59", True),
    ("mon 09:00 17:00", "UTC", "2026-03-02T17:00", False),
    ("mon 09:00 17:00", "UTC", "2026-03-03T12:00", False),
    # Overnight: the hours after midnight belong to the start day.
    ("fri 23:00 03:00", "UTC", "2026-03-06T01:00", False),
    ("fri 23:00 03:00", "UTC", "2026-03-06T23:00", True),
    ("fri 23:00 03:00", "UTC", "2026-03-07T01:00", True),
    ("fri 23:00 03:00", "UTC", "2026-03-07T03:00", False),
    ("fri 23:00 03:00", "UTC", "2026-03-07T23:30", False),
    # Week wrap: Sunday night ends on Monday.
    ("sun 22:00 06:00", "UTC", "2026-03-08T22:00", True),
    ("sun 22:00 06:00", "UTC", "2026-03-09T05:59", True),
    ("sun 22:00 06:00", "UTC", "2026-03-09T22:00", False),
    ("mon 22:00 06:00", "UTC", "2026-03-09T05:00", False),
    # The end of the day, and a whole day.
    ("mon 22:00 24:00", "UTC", "2026-03-02T23:59:59", True),
    ("mon 22:00 24:00", "UTC", "2026-03-03T00:00", False),
    ("mon 00:00 24:00", "UTC", "2026-03-02T00:00", True),
    ("mon 22:00 00:00", "UTC", "2026-03-02T23:59", True),
    ("mon 22:00 00:00", "UTC", "2026-03-03T00:00", False),
    # Zones: the weekday is the local one.
    ("mon 00:00 02:00", SHANGHAI, "2026-03-01T16:30", True),
    ("mon 00:00 02:00", SHANGHAI, "2026-03-02T00:30", False),
    ("sun 22:00 23:00", NEW_YORK, "2026-03-02T03:30", True),
    ("mon 05:45 06:00", KATHMANDU, "2026-03-02T00:00", True),
    ("mon 05:45 06:00", KATHMANDU, "2026-03-02T00:15", False),
    # Spring in Berlin: 02:00 to 03:00 does not exist on the 29th.
    ("sun 02:30 04:00", BERLIN, "2026-03-29T00:59:59", False),
    ("sun 02:30 04:00", BERLIN, "2026-03-29T01:00", True),
    ("sun 02:30 04:00", BERLIN, "2026-03-29T01:59:59", True),
    ("sun 02:30 04:00", BERLIN, "2026-03-29T02:00", False),
    ("sun 02:10 02:50", BERLIN, "2026-03-29T00:59:59", False),
    ("sun 02:10 02:50", BERLIN, "2026-03-29T01:00", False),
    ("sun 01:00 02:30", BERLIN, "2026-03-29T00:59:59", True),
    ("sun 01:00 02:30", BERLIN, "2026-03-29T01:00", False),
    ("sat 22:00 06:00", BERLIN, "2026-03-29T03:59", True),
    ("sat 22:00 06:00", BERLIN, "2026-03-29T04:00", False),
    # Autumn in Berlin: 02:00 to 03:00 comes twice on the 25th.
    ("sun 02:00 03:00", BERLIN, "2026-10-25T00:00", True),
    ("sun 02:00 03:00", BERLIN, "2026-10-25T01:59", True),
    ("sun 02:00 03:00", BERLIN, "2026-10-25T02:00", False),
    ("sun 02:15 02:45", BERLIN, "2026-10-25T00:30", True),
    ("sun 02:15 02:45", BERLIN, "2026-10-25T01:00", False),
    ("sun 02:15 02:45", BERLIN, "2026-10-25T01:30", True),
    ("sat 22:00 06:00", BERLIN, "2026-10-25T04:59", True),
    ("sat 22:00 06:00", BERLIN, "2026-10-25T05:00", False),
    # New York, both changes.
    ("sun 01:00 02:00", NEW_YORK, "2026-03-08T06:59", True),
    ("sun 01:00 02:00", NEW_YORK, "2026-03-08T07:00", False),
    ("sun 01:00 02:00", NEW_YORK, "2026-11-01T05:00", True),
    ("sun 01:00 02:00", NEW_YORK, "2026-11-01T06:30", True),
    ("sun 01:00 02:00", NEW_YORK, "2026-11-01T07:00", False),
    # A gap at midnight, and a change by half an hour.
    ("sun 00:00 02:00", HAVANA, "2026-03-08T04:59", False),
    ("sun 00:00 02:00", HAVANA, "2026-03-08T05:00", True),
    ("sun 02:15 03:00", LORD_HOWE, "2026-10-03T15:29", False),
    ("sun 02:15 03:00", LORD_HOWE, "2026-10-03T15:30", True),
    # A leap day.
    ("tue 10:00 11:00", "UTC", "2028-02-29T10:30", True),
    ("tue 22:00 02:00", "UTC", "2028-03-01T01:00", True),
]


@pytest.mark.parametrize(("window", "zone", "when", "expected"), INSTANTS)
def test_a_window_is_open_when_its_clock_shows_a_time_inside_it(window, zone, when, expected):
    """Each instant of the table."""
    assert is_open([span(window, zone)], at(when)) is expected


def test_no_windows_is_always_and_an_empty_list_is_never():
    """Absent and empty are different things."""
    now_s = at("2026-03-02T12:00")
    assert is_open(None, now_s)
    assert not is_open((), now_s)
    assert next_open_s(None, now_s) == now_s
    assert closes_at_s(None, now_s) is None
    assert next_open_s((), now_s) is None
    assert closes_at_s((), now_s) == now_s


# window, zone, now, next opening (or now), closing from that opening on
EDGES = [
    ("mon 09:00 17:00", "UTC", "2026-03-02T17:00", "2026-03-09T09:00", "2026-03-09T17:00"),
    ("mon 09:00 17:00", "UTC", "2026-03-02T10:30", "2026-03-02T10:30", "2026-03-02T17:00"),
    ("fri 23:00 03:00", "UTC", "2026-03-06T01:00", "2026-03-06T23:00", "2026-03-07T03:00"),
    ("sun 22:00 06:00", "UTC", "2026-03-09T07:00", "2026-03-15T22:00", "2026-03-16T06:00"),
    ("sun 02:30 04:00", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00", "2026-03-29T02:00"),
    ("sun 02:10 02:50", BERLIN, "2026-03-28T12:00", "2026-04-05T00:10", "2026-04-05T00:50"),
    ("sun 02:00 03:00", BERLIN, "2026-10-24T12:00", "2026-10-25T00:00", "2026-10-25T02:00"),
    ("sun 02:15 02:45", BERLIN, "2026-10-25T00:50", "2026-10-25T01:15", "2026-10-25T01:45"),
    ("sat 22:00 06:00", BERLIN, "2026-03-28T12:00", "2026-03-28T21:00", "2026-03-29T04:00"),
    ("sat 22:00 06:00", BERLIN, "2026-10-24T12:00", "2026-10-24T20:00", "2026-10-25T05:00"),
    ("sun 00:00 02:00", HAVANA, "2026-03-07T12:00", "2026-03-08T05:00", "2026-03-08T06:00"),
    ("sun 00:00 24:00", HAVANA, "2026-03-07T12:00", "2026-03-08T05:00", "2026-03-09T04:00"),
]


@pytest.mark.parametrize(("window", "zone", "when", "opens", "closes"), EDGES)
def test_openings_and_closings_are_exact(window, zone, when, opens, closes):
    """Each row of the table."""
    windows = (span(window, zone),)
    assert next_open_s(windows, at(when)) == at(opens)
    assert closes_at_s(windows, at(opens)) == at(closes)


def test_windows_that_touch_are_one():
    """The close of the first is not a close when the second starts then."""
    windows = (span("mon 20:00 24:00"), span("tue 00:00 04:00"), span("tue 03:00 05:00"))
    assert closes_at_s(windows, at("2026-03-02T21:00")) == at("2026-03-03T05:00")


def test_windows_that_cover_the_week_never_close():
    """Overlap all week: no closing."""
    assert closes_at_s((span("* 00:00 24:00", BERLIN),), at("2026-03-28T12:00")) is None


def freeze(first, last, zone="UTC"):
    """Return a freeze of these days."""
    return Freeze(from_=date.fromisoformat(first), to=date.fromisoformat(last), time_zone=zone)


FROZEN = [
    ("UTC", "2026-12-23T23:59:59", False),
    ("UTC", "2026-12-24T00:00", True),
    ("UTC", "2027-01-02T23:59:59", True),
    ("UTC", "2027-01-03T00:00", False),
    (SHANGHAI, "2026-12-23T16:00", True),
    (SHANGHAI, "2027-01-02T15:59", True),
    (SHANGHAI, "2027-01-02T16:00", False),
]


@pytest.mark.parametrize(("zone", "when", "expected"), FROZEN)
def test_a_freeze_includes_both_days_in_its_zone(zone, when, expected):
    """Each instant of the table."""
    holiday = freeze("2026-12-24", "2027-01-02", zone)
    assert (is_frozen([holiday], at(when)) == holiday) is expected


def test_a_freeze_ends_and_starts_at_local_midnight_even_where_there_is_none():
    """In Havana the clock jumps from midnight to 01:00 on 2026-03-08."""
    assert freeze_end_s(freeze("2026-03-01", "2026-03-07", HAVANA)) == at("2026-03-08T05:00")
    assert freeze_start_s(freeze("2026-03-08", "2026-03-08", HAVANA)) == at("2026-03-08T05:00")
    assert freeze_end_s(freeze("2026-03-08", "2026-03-08", HAVANA)) == at("2026-03-09T04:00")


def test_the_next_opening_is_after_the_freeze():
    """Two freezes in a row; the window opens only on Mondays."""
    freezes = (freeze("2026-12-24", "2026-12-27"), freeze("2026-12-28", "2027-01-05"))
    windows = (span("mon 22:00 02:00"),)
    assert next_open_s(windows, at("2026-12-25T12:00"), freezes) == at("2027-01-11T22:00")
    assert next_open_s(None, at("2026-12-25T12:00"), freezes) == at("2027-01-06T00:00")


def test_a_freeze_that_ends_inside_a_window_opens_it_there():
    """What is left of a window after a freeze counts."""
    freezes = (freeze("2026-03-02", "2026-03-02"),)
    windows = (span("mon 22:00 02:00"),)
    assert next_open_s(windows, at("2026-03-02T22:30"), freezes) == at("2026-03-03T00:00")


def test_a_freeze_closes_a_window():
    """A freeze that starts before the window closes is the close."""
    freezes = (freeze("2026-03-03", "2026-03-04"),)
    windows = (span("mon 22:00 02:00"),)
    assert closes_at_s(windows, at("2026-03-02T22:30"), freezes) == at("2026-03-03T00:00")
    assert closes_at_s(None, at("2026-03-02T22:30"), freezes) == at("2026-03-03T00:00")
    assert closes_at_s(None, at("2026-03-03T01:00"), freezes) == at("2026-03-03T01:00")


def test_overlapping_freezes_name_the_one_that_ends_last():
    """The answer says until when."""
    short, long = freeze("2026-03-02", "2026-03-02"), freeze("2026-03-01", "2026-03-09")
    assert is_frozen([short, long], at("2026-03-02T12:00")) == long


def test_the_next_edge_is_a_start_or_an_end():
    """Whichever comes first, of any span."""
    spans = (span("mon 09:00 17:00"), span("mon 12:00 13:00"))
    assert next_edge_s(spans, at("2026-03-02T10:00")) == at("2026-03-02T12:00")
    assert next_edge_s(spans, at("2026-03-02T12:30")) == at("2026-03-02T13:00")
    assert next_edge_s((), at("2026-03-02T12:30")) is None
