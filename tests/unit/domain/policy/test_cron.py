"""Schedules of CronJobs."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.cron import runs_after


def runs(schedule, zone="", start="2026-03-28T12:00:00Z", number=2):
    """Return the next runs in UTC."""
    after_s = datetime.fromisoformat(start).timestamp()
    found = islice(runs_after(schedule, zone, after_s), number)
    return [f"{datetime.fromtimestamp(s, UTC):%d %H:%M}" for s in found]


@pytest.mark.parametrize(
    ("schedule", "zone", "expected"),
    [
        ("0 9 * * *", "", ["29 09:00", "30 09:00"]),
        ("0 9 * * *", "Asia/Shanghai", ["29 01:00", "30 01:00"]),
        ("0 9 * * *", "Europe/Berlin", ["29 07:00", "30 07:00"]),
        ("@daily", "", ["29 00:00", "30 00:00"]),
        ("@HOURLY", "", ["28 13:00", "28 14:00"]),
        ("*/30 9-10 * * mon-fri", "", ["30 09:00", "30 09:30"]),
        ("0 12 ? * 1", "", ["30 12:00", "06 12:00"]),
    ],
)
def test_runs_are_where_the_clock_of_the_zone_says(schedule, zone, expected):
    """Europe puts its clocks forward on the 29th."""
    assert runs(schedule, zone) == expected


def test_the_moment_itself_is_not_after_it():
    """So one run does not come twice."""
    assert runs("0 12 * * *", number=1) == ["29 12:00"]


@pytest.mark.parametrize(
    ("schedule", "zone", "said"),
    [
        ("@every 1h", "", "cannot be foreseen"),
        ("0 9 * *", "", "cannot be foreseen"),
        ("", "", "cannot be foreseen"),
        ("61 9 * * *", "", "is not understood"),
        ("0 0 31 2 *", "", "is not understood"),
        ("a b c d e", "", "is not understood"),
        ("0 9 * * *", "Mars/Olympus", "is not a time zone"),
        ("0 9 * * *", "../etc/passwd", "is not a time zone"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule, zone, said):
    """With its reason."""
    with pytest.raises(ConfigError, match=said):
        runs(schedule, zone)
