"""Durations in the two largest units that say something."""

import pytest

from autoscaler.simulation.apiserver.ages import age, duration, since

DAY_S = 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 1800, "3h30m"),
        (9 * 3600 + 1800, "9h"),
        (2 * DAY_S, "2d"),
        (2 * DAY_S + 3600, "2d1h"),
        (9 * DAY_S, "9d"),
        (800 * DAY_S, "2y70d"),
        (9 * 365 * DAY_S, "9y"),
    ],
)
def test_durations(seconds, shown) -> None:
    """The steps of kubectl."""
    assert duration(seconds) == shown


def test_ages_count_from_creation() -> None:
    """An object without a time has an unknown age."""
    assert age({"metadata": {"creationTimestamp": "1970-01-01T00:00:10Z"}}, 70.0) == "60s"
    assert age({"metadata": {}}, 70.0) == "<unknown>"
    assert since("yesterday", 70.0) == "<unknown>"
