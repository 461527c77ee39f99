"""Quantities: forms, amounts, and what is none."""

from decimal import Decimal

import pytest

from autoscaler.simulation.apiserver.quantities import as_texts, quantity, text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", "7"),
        (7, "7"),
        ("500m", "0.5"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("2Ki", "2048"),
        ("1Gi", "1073741824"),
        ("3k", "3000"),
        ("1e3", "1000"),
        ("-2", "-2"),
        ("100u", "0.0001"),
    ],
)
def test_forms_of_a_quantity(value, expected) -> None:
    """Decimal and binary suffixes, exponents, numbers."""
    assert quantity(value) == Decimal(expected)


@pytest.mark.parametrize("value", ["", "x", "1 Gi", "1ki", "1mi", True, None, "0x10", "--1"])
def test_what_is_no_quantity(value) -> None:
    """Nothing is guessed."""
    assert quantity(value) is None


def test_amounts_are_written_as_short_as_possible() -> None:
    """Whole numbers, else thousandths; numbers in JSON become text."""
    assert text(Decimal("4.000")) == "4"
    assert text(Decimal("0.25")) == "250m"
    assert as_texts({"a": 1, "b": "2Gi", "c": True}) == {"a": "1", "b": "2Gi", "c": True}
    assert as_texts(None) == {}
