"""Numbers as text that loses nothing."""

from decimal import Decimal


def number_text(value: float) -> str:
    """Return a number with all its digits and without an exponent."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")
