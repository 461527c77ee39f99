"""Moments on the command line: with a zone, or not at all."""

from datetime import UTC, datetime

import typer


def parse_moment(text: str) -> float:
    """Return the epoch seconds of an ISO 8601 moment; a usage error without a zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not like 2030-01-10T08:00:00Z") from error
    if moment.tzinfo is None:
        # A guess of the zone would move windows by hours.
        raise typer.BadParameter(f"{text!r} has no time zone; end it with Z or +08:00")
    try:
        return moment.timestamp()
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"{text!r} is not a moment that exists") from error


def moment_text(at_s: float) -> str:
    """Return a moment in UTC, to the second."""
    return f"{datetime.fromtimestamp(int(at_s), UTC):%Y-%m-%dT%H:%M:%SZ}"


def span_text(seconds: float) -> str:
    """Return a length of time in its two largest units: ``2h 5m``."""
    left = max(0, round(seconds))
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2]) or "0s"
