"""Durations and amounts as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.policy.quantity import format_duration, parse_duration, share_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0), ("90s", 90), ("1m30s", 90), ("1.5m", 90), ("30m", 1800),
        ("1h30m", 5400), ("14d", 1_209_600), ("1w", 604_800), ("12000s", 12_000),
    ],
)  # fmt: skip
def test_durations_are_sums_of_units(text, seconds):
    """Each part counts by its own unit."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "30", "30 s", "-5s", "5S", "1h-1m", "1e3s", ".5s", "5ms", "99999w", 30, None, True],
)  # fmt: skip
def test_what_has_no_unit_or_no_sense_is_no_duration(value):
    """The message shows the value."""
    with pytest.raises(ValueError, match=r"not a duration|longer than ten years"):
        parse_duration(value)


def test_a_bare_number_gets_advice():
    """The unit that was probably meant."""
    with pytest.raises(ValueError, match="write 1800s for seconds"):
        parse_duration(1800)


@given(st.integers(0, 10_000_000_000).map(lambda ms: ms / 1000))
def test_durations_survive_being_written(seconds):
    """Thousandths included."""
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=1e-6)
    assert format_duration(parse_duration(format_duration(seconds))) == format_duration(seconds)


@pytest.mark.parametrize(
    ("amount", "total", "expected"),
    [(0, 9, 0), (3, 1, 3), ("10%", 5, 0), ("10%", 10, 1), ("10%", 19, 1), ("100%", 7, 7),
     ("0%", 7, 0), ("34%", 3, 1), ("50%", 0, 0)],
)  # fmt: skip
def test_percentages_round_down_and_zero_means_zero(amount, total, expected):
    """10% of 5 is none."""
    assert share_of(amount, total) == expected
