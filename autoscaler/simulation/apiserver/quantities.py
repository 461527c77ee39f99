"""Resource quantities: ``500m``, ``2Gi``, ``4``."""

import re
from collections.abc import Mapping
from decimal import Decimal

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]?))$")


def quantity(value: object) -> Decimal | None:
    """Return the amount, ``None`` when the value is no quantity."""
    found = _FORM.match(str(value))
    if isinstance(value, bool) or not found:
        return None
    number, exponent, suffix = found.groups()
    if exponent:
        return Decimal(number + exponent)
    factor = _SUFFIXES.get(suffix)
    return None if factor is None else Decimal(number) * factor


def amount(value: object) -> Decimal:
    """Return the amount of a value that was checked when it was stored."""
    return quantity(value) or Decimal(0)


def text(value: Decimal) -> str:
    """Return an amount as the API would write it back: whole, else in thousandths."""
    if value == value.to_integral_value():
        return str(int(value))
    return f"{int(value * 1000)}m"


def as_texts(amounts: Mapping[str, object] | None) -> dict[str, object]:
    """Return amounts the way the API gives them out: numbers become text."""
    return {
        name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in (amounts or {}).items()
    }
