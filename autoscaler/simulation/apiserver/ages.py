"""Durations as ``kubectl`` shows them: ``45s``, ``3m20s``, ``5d12h``."""

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.timestamps import epoch_s

_MINUTE_S, _HOUR_S, _DAY_S, _YEAR_S = 60, 3600, 86400, 365 * 86400
# Up to which duration it is shown in which units.
_STEPS = (
    (2 * _MINUTE_S, 1, "s", 0, ""),
    (10 * _MINUTE_S, _MINUTE_S, "m", 1, "s"),
    (3 * _HOUR_S, _MINUTE_S, "m", 0, ""),
    (8 * _HOUR_S, _HOUR_S, "h", _MINUTE_S, "m"),
    (2 * _DAY_S, _HOUR_S, "h", 0, ""),
    (8 * _DAY_S, _DAY_S, "d", _HOUR_S, "h"),
    (2 * _YEAR_S, _DAY_S, "d", 0, ""),
    (8 * _YEAR_S, _YEAR_S, "y", _DAY_S, "d"),
)


def duration(seconds: float) -> str:
    """Return a duration in one or two units."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    for below_s, unit_s, unit, rest_s, rest_unit in _STEPS:
        if whole < below_s:
            large, rest = divmod(whole, unit_s)
            small = rest // rest_s if rest_s else 0
            return f"{large}{unit}{small}{rest_unit}" if small else f"{large}{unit}"
    return f"{whole // _YEAR_S}y"


def since(text: object, now_s: float) -> str:
    """Return how long ago a time stamp was."""
    at_s = epoch_s(text) if isinstance(text, str) else None
    return "<unknown>" if at_s is None else duration(now_s - at_s)


def age(item: RawObject, now_s: float) -> str:
    """Return how old an object is."""
    return since(item["metadata"].get("creationTimestamp"), now_s)
