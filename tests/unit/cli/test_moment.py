"""Moments and lengths of time, as people write and read them."""

import pytest
import typer

from autoscaler.cli.moment import moment_text, parse_moment, span_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T08:00:00+08:00", 0.0),
        ("1970-01-02T00:00:00.5Z", 86400.5),
        (" 1970-01-01T00:01Z ", 60.0),
    ],
)
def test_a_moment_with_a_zone_is_taken(text, seconds):
    """Whatever the zone, seconds are counted in UTC."""
    assert parse_moment(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "now", "2030-01-10T08:00:00", "2030-01-10", "2030-13-01T00:00Z", "12:00Z"]
)
def test_anything_else_is_a_usage_error(text):
    """The message repeats what was given."""
    with pytest.raises(typer.BadParameter, match=repr(text) if text else "''"):
        parse_moment(text)


def test_moments_are_shown_in_utc():
    """To the second, with the zone."""
    assert moment_text(parse_moment("2030-01-10T08:00:00.9+08:00")) == "2030-01-10T00:00:00Z"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (3600, "1h"), (3725, "1h 2m"), (90061, "1d 1h"), (-5, "0s")],
)
def test_lengths_show_their_two_largest_units(seconds, text):
    """More would only be read as noise."""
    assert span_text(seconds) == text
