"""The season: what hours of the day and of the week have in common, as far as it lasts.

Two weeks of anything seem to have a rhythm. How much of it is real is measured: the
rhythm found before the last week counts for the share of it that this week repeated.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.past.demand_history import FloatArray, Grid

HOUR_S = 3600.0
DAY_HOURS, WEEK_HOURS = 24, 168
# A sample that makes up more than this of a slot's mean says little beyond itself.
MOST_LEVERAGE = 0.7

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Season:
    """The rhythm of one profile.

    Parameters
    ----------
    level
        Instances wanted by hour of the week, Monday midnight first.
    rest
        What the samples have beyond it, each as if it had not been looked at when the
        level was found: else the fit would look better than it is.
    """

    level: FloatArray
    rest: FloatArray


def hours_of_week(grid: Grid, time_zone: str) -> IntArray:
    """Return the hour of the week that clocks in a zone show at each point of a grid."""
    zone = ZoneInfo(time_zone)
    times_s = grid.times_s()
    # Offsets of zones change at full quarters of an hour, and so do hours of clocks.
    quarters = np.floor(times_s / 900.0)
    distinct, places = np.unique(quarters, return_inverse=True)
    found = np.array([hour_of_week(float(q) * 900.0, zone) for q in distinct], dtype=np.int64)
    return np.asarray(found[places.ravel()] if len(found) else found)


def hour_of_week(at_s: float, zone: ZoneInfo) -> int:
    """Return the hour of the week that clocks in a zone show, 0 for Monday midnight."""
    local = datetime.fromtimestamp(at_s, UTC).astimezone(zone)
    return local.weekday() * DAY_HOURS + local.hour


def season_of(
    column: FloatArray, hours: IntArray, weights: FloatArray, step_s: float
) -> Season:
    """Return the season of one profile.

    Parameters
    ----------
    column
        Instances wanted; NaN where not known.
    hours
        Hour of the week of each sample.
    weights
        How much each counts, above 0.
    step_s
        Time from one to the next.
    """
    known = ~np.isnan(column)
    if not known.any():
        return Season(np.zeros(WEEK_HOURS), column)
    own = np.where(known, weights, 0.0)
    values = np.where(known, column, 0.0)
    week = round(WEEK_HOURS * HOUR_S / step_s)
    cut = len(column) - week if len(column) >= 2 * week else len(column) // 2
    before, after = own.copy(), own.copy()
    before[cut:], after[:cut] = 0.0, 0.0
    base, first = _mean(values, own), _mean(values, before)
    days = hours % DAY_HOURS
    daily, in_slot = _means(values - base, days, own, DAY_HOURS)
    learnt, _ = _means(values - first, days, before, DAY_HOURS)
    share = _repeated(learnt[days], values - first, after)
    level = base + share * np.tile(daily, WEEK_HOURS // DAY_HOURS)
    leverage = share * _shares(own, in_slot[days])
    if len(column) >= 2 * week:
        weekly, in_slot = _means(values - level[hours], hours, own, WEEK_HOURS)
        rest = values - first - share * learnt[days]
        learnt, _ = _means(rest, hours, before, WEEK_HOURS)
        share = _repeated(learnt[hours], rest, after)
        level = level + share * weekly
        leverage = leverage + share * _shares(own, in_slot[hours])
    rest = (column - level[hours]) / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
    return Season(level, rest)


def _mean(values: FloatArray, weights: FloatArray) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else 0.0


def _means(
    values: FloatArray, slots: IntArray, weights: FloatArray, number: int
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each slot, 0 where nothing is known, and its weight."""
    total = np.asarray(np.bincount(slots, weights, number), dtype=np.float64)
    summed = np.asarray(np.bincount(slots, values * weights, number), dtype=np.float64)
    return np.divide(summed, total, out=np.zeros(number), where=total > 0), total


def _repeated(learnt: FloatArray, seen: FloatArray, weights: FloatArray) -> float:
    """Return the share of a learnt rhythm that was seen again, from 0 to 1."""
    expected = learnt - _mean(learnt, weights)
    found = seen - _mean(seen, weights)
    power = float((weights * expected**2).sum())
    if not power > 1e-12:
        return 0.0
    return float(min(1.0, max(0.0, (weights * expected * found).sum() / power)))


def _shares(weights: FloatArray, totals: FloatArray) -> FloatArray:
    return np.divide(weights, totals, out=np.zeros(len(weights)), where=totals > 0)
