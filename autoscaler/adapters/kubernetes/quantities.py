"""Amounts as the Kubernetes API writes them: ``7``, ``"500m"``, ``"64Gi"``, ``"1e3"``.

Extended resources are whole numbers: the API server takes ``"7000m"`` for 7 and
refuses ``"1.5"``, and so do we.
"""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

SCALES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
# At most 3 digits of exponent: more is no amount, and would be slow to expand.
GRAMMAR = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?P<scale>[eE][+-]?[0-9]{1,3}|[numkMGTPE]|[KMGTPE]i|)"
)
LARGEST = Decimal(2**63 - 1)


def whole_number(value: object) -> int:
    """Return an amount that must be a whole number; ValueError says what is wrong."""
    # Nearly all amounts are short texts of digits, and a node or pod has many of them.
    if type(value) is str and value.isdecimal() and value.isascii() and len(value) < 10:
        return int(value)
    amount = parse_quantity(value)
    if amount != amount.to_integral_value():
        raise ValueError("not a whole number")
    return int(amount)


def milli_units(value: object) -> int:
    """Return thousandths, rounded up as the scheduler does: ``"1.5"`` is 1500."""
    return int((parse_quantity(value) * 1000).to_integral_value(ROUND_CEILING))


def whole_units(value: object) -> int:
    """Return units, rounded up: bytes of memory."""
    return int(parse_quantity(value).to_integral_value(ROUND_CEILING))


def parse_quantity(value: object) -> Decimal:
    """Return an amount, exact; ValueError when it is none or negative."""
    # By exact type, because a bool is an int to Python and no amount to the API.
    if type(value) not in (str, int, float):
        raise ValueError("not a quantity")
    return _parse_text(str(value))


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> Decimal:
    match = GRAMMAR.fullmatch(text)
    if not match:
        raise ValueError("not a quantity")
    scale = match["scale"]
    if scale in SCALES:
        amount = Decimal(match["number"]) * SCALES[scale]
    else:
        amount = Decimal(match["number"] + scale)
    if amount < 0:
        raise ValueError("negative")
    # The API keeps amounts in 64 bits and caps what is larger.
    return min(amount, LARGEST)
