"""Quantities as people write them in policy files: durations, amounts, times of day.

Text that a person writes becomes a number here, once, and is refused with a
sentence that says what is allowed. What the numbers mean is ``policy``'s business.
"""

import re
from datetime import date
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ALL_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

UNITS_S = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
MAX_DURATION_S = 3660 * 86400.0
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?[smhdw])+$"
TIME_PATTERN = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
END_PATTERN = r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"
FIRST_YEAR, LAST_YEAR = 1970, 2999
AMOUNT_PATTERN = r"^(100|[0-9]{1,2})%$"

# Links of a machine's own set-up, and tables that count leap seconds: what they
# mean differs from one machine to the next.
FOREIGN_ZONES = re.compile(r"(posix|right)/.*|localtime|posixrules|Factory")


def parse_duration(value: object) -> float:
    """Return seconds of a duration such as ``90s``, ``1h30m`` or ``14d``.

    Parameters
    ----------
    value
        Text of numbers with units s, m, h, d or w. A float is taken as seconds.

    Returns
    -------
    float
        Seconds, at most ten years.

    Raises
    ------
    ValueError
        When it is neither, or longer than ten years.
    """
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or not re.fullmatch(DURATION_PATTERN[1:-1], value):
        hint = f"; write {value}s for seconds" if type(value) is int and value >= 0 else ""
        raise ValueError(f"{shown(value)} is not a duration like 30s, 1h30m or 14d{hint}")
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smhdw])", value)
    seconds = sum(float(number) * UNITS_S[unit] for number, unit in parts)
    if seconds > MAX_DURATION_S:
        raise ValueError(f"{value} is longer than ten years")
    return seconds


def format_duration(seconds: float) -> str:
    """Return a duration as ``parse_duration`` reads it, in the largest units.

    Parameters
    ----------
    seconds
        Finite, at least 0; thousandths of a second are kept.
    """
    left_ms = round(seconds * 1000)
    text = ""
    for unit in "dhm":
        number, left_ms = divmod(left_ms, round(UNITS_S[unit] * 1000))
        text += f"{number}{unit}" if number else ""
    if left_ms or not text:
        text += f"{left_ms / 1000:g}s"
    return text


def shown(value: object) -> str:
    """Return a value as a person wrote it in YAML, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else repr(value[:57] + "...")
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else str(value)


def _duration(value: object, info: ValidationInfo) -> float:
    # A bare number has no unit, so a file may not give one; code calls it ``_s``.
    if info.mode == "python" and type(value) in {int, float}:
        return float(str(value))
    return parse_duration(str(value) if isinstance(value, float) else value)


def _amount(value: object) -> int | str:
    if type(value) is int and value >= 0:
        return value
    if isinstance(value, str) and re.fullmatch(AMOUNT_PATTERN[1:-1], value):
        return value
    raise ValueError(
        f"{shown(value)} is neither a whole number from 0 nor a percentage from 0% to 100%"
    )


def _time_of_day(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(TIME_PATTERN[1:-1], value):
        return value
    raise ValueError(f'{shown(value)} is not a time from "00:00" to "23:59"')


def _end_time(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(END_PATTERN[1:-1], value):
        return value
    raise ValueError(f'{shown(value)} is not a time from "00:00" to "24:00"')


def _day_of_year(value: object) -> date:
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError(f'{shown(value)} is not a day like "2026-12-24"')
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value} is no day of the calendar") from None
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(f"{value} is not between {FIRST_YEAR} and {LAST_YEAR}")
    return day


def _zone(value: object) -> str:
    if isinstance(value, str) and value and not FOREIGN_ZONES.fullmatch(value):
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
        else:
            return value
    raise PydanticCustomError(
        "time_zone",
        "{value} is not an IANA time zone like Europe/Berlin or UTC",
        {"value": shown(value)},
    )


def ordered_days(days: tuple[Day, ...]) -> tuple[Day, ...]:
    """Return weekdays in order of the week; ValueError when none or one twice."""
    if not days:
        raise ValueError(f"names no day; allowed: {', '.join(ALL_DAYS)}")
    twice = sorted({day for day in days if days.count(day) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} is named twice")
    return tuple(sorted(days, key=ALL_DAYS.index))


def share_of(amount: int | str, total: int) -> int:
    """Return how many of ``total`` an amount means.

    Percentages round down and have no minimum: 10% of 5 is 0, so that an amount
    never means more than it says, and zero means zero.

    Parameters
    ----------
    amount
        A whole number, which stands for itself, or a percentage like ``10%``.
    total
        What the percentage is of, at least 0.
    """
    return amount if isinstance(amount, int) else total * int(amount[:-1]) // 100


DURATION_SCHEMA: dict[str, Any] = {  # Any: the form of a JSON schema
    "type": "string",
    "pattern": DURATION_PATTERN,
}
AMOUNT_SCHEMA: dict[str, Any] = {  # Any: the form of a JSON schema
    "oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": AMOUNT_PATTERN}]
}

Duration = Annotated[
    float,
    Field(ge=0, le=MAX_DURATION_S, allow_inf_nan=False),
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(DURATION_SCHEMA),
]
NumberOrPercent = Annotated[int | str, BeforeValidator(_amount), WithJsonSchema(AMOUNT_SCHEMA)]
StartTime = Annotated[
    str,
    BeforeValidator(_time_of_day),
    WithJsonSchema({"type": "string", "pattern": TIME_PATTERN}),
]
EndTime = Annotated[
    str, BeforeValidator(_end_time), WithJsonSchema({"type": "string", "pattern": END_PATTERN})
]
DayOfYear = Annotated[
    date, BeforeValidator(_day_of_year), WithJsonSchema({"type": "string", "format": "date"})
]
TimeZone = Annotated[
    str, BeforeValidator(_zone), WithJsonSchema({"type": "string", "minLength": 1})
]


def duration(text: str, *, positive: bool = False) -> float:
    """Return a field with this default, shown in the schema as it is written.

    Parameters
    ----------
    text
        The default, e.g. ``30m``.
    positive
        Whether zero is refused.
    """
    return Field(
        default=parse_duration(text),
        gt=0 if positive else None,
        json_schema_extra={"default": text},
    )
