"""Amounts in every form that the API takes, and in forms that it does not."""

import pytest

from autoscaler.adapters.kubernetes.quantities import milli_units, whole_number, whole_units


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7", 7),
        (7, 7),
        ("0", 0),
        ("7.0", 7),
        (7.0, 7),
        ("7000m", 7),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("+7", 7),
        ("07", 7),
        ("1Ki", 1024),
        ("123456789012", 123456789012),
    ],
)
def test_whole_numbers_are_read(written: object, meant: int) -> None:
    """The API server stores all of these as the same whole number."""
    assert whole_number(written) == meant


@pytest.mark.parametrize("written", ["1.5", "1500m", 0.5, "1n"])
def test_fractions_are_no_devices(written: object) -> None:
    """Half an instance does not exist."""
    with pytest.raises(ValueError, match="not a whole number"):
        whole_number(written)


@pytest.mark.parametrize("written", ["-1", -1, "-0.5", "-1Ki"])
def test_negative_amounts_are_refused(written: object) -> None:
    """No amount is below zero."""
    with pytest.raises(ValueError, match="negative"):
        whole_number(written)


NO_AMOUNTS = ["", " 7", "7 ", "seven", "1kk", "1i", "NaN", "Inf", "0x7", "1_000", "1e9999"]
DIGIT_OF_ANOTHER_SCRIPT = "\u0661"


@pytest.mark.parametrize("written", [*NO_AMOUNTS, DIGIT_OF_ANOTHER_SCRIPT, None, True, [], {}])
def test_what_is_no_amount_is_refused(written: object) -> None:
    """Also digits of other scripts, Python's own notations, and other types."""
    with pytest.raises(ValueError, match="not a quantity"):
        whole_number(written)


def test_huge_exponents_are_capped_and_cost_nothing() -> None:
    """The API keeps amounts in 64 bits."""
    assert whole_number("1e999") == 2**63 - 1


@pytest.mark.parametrize(
    ("written", "milli"), [("1.5", 1500), ("100m", 100), ("1", 1000), ("100u", 1), (2, 2000)]
)
def test_cpu_is_in_thousandths_rounded_up(written: object, milli: int) -> None:
    """As the scheduler counts it."""
    assert milli_units(written) == milli


@pytest.mark.parametrize(
    ("written", "size"),
    [("64Gi", 64 * 2**30), ("1G", 10**9), ("0.5", 1), ("128974848", 128974848)],
)
def test_memory_is_in_bytes_rounded_up(written: object, size: int) -> None:
    """Binary and decimal scales differ."""
    assert whole_units(written) == size
