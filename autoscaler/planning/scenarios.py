"""Scenarios: what demand may do next, as it went on from like hours of the past.

Each scenario is one stretch of the past with all profiles together, so what rises and
falls together there does so here. It is moved by what sets the present apart from the
hour it began in, and the more so the nearer: by as much as deviations used to last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.demand_history import FloatArray, Grid

HOUR_S = 3600.0
WEEK_HOURS = 168
# How long ago the last known sample may be and still stand for now.
FRESH_S = 1800.0


@dataclass(frozen=True, slots=True)
class Recall:
    """How the past is remembered.

    Parameters
    ----------
    half_life_s
        Age at which a past hour counts half, above 0.
    prior_hours
        How many hours of this hour of the week weigh as much as all others together.
    time_zone
        IANA zone of the hours of the week.
    """

    half_life_s: float
    prior_hours: float
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True, eq=False)
class Scenarios:
    """Possible futures and their weights.

    Parameters
    ----------
    values
        Instances wanted, one row a scenario, then one a lead, then one a profile.
    weights
        One a scenario, summing to 1; none when there is no scenario.
    alike
        How many independent past hours of the same hour of the week stand behind them.
    """

    values: NDArray[np.float64]
    weights: FloatArray
    alike: float

    def quantiles(self, profile: int, shares: Sequence[float]) -> FloatArray:
        """Return the smallest numbers that these shares of the coming time stay within.

        Parameters
        ----------
        profile
            Place of the profile.
        shares
            From 0 to 1.
        """
        leads = self.values.shape[1]
        values = self.values[:, :, profile].ravel()
        return weighted_quantiles(values, np.repeat(self.weights, leads), shares)

    def at_lead(self, lead: int, profile: int, shares: Sequence[float]) -> FloatArray:
        """Return the quantiles of one profile at one lead."""
        return weighted_quantiles(self.values[:, lead, profile], self.weights, shares)

    def reach(self, profile: int) -> tuple[float, ...]:
        """Return the share of the coming time with at least 1, 2, … instances wanted."""
        leads = self.values.shape[1]
        weights = np.repeat(self.weights, leads) / max(1, leads)
        return share_reaching(self.values[:, :, profile].ravel(), weights)

    def sampled(self, number: int) -> NDArray[np.float64]:
        """Return so many scenarios of equal weight, drawn at even steps of the weights."""
        if not len(self.weights):
            return self.values[:0]
        heights = (np.arange(number) + 0.5) / max(1, number)
        chosen = np.searchsorted(np.cumsum(self.weights), heights, side="left")
        return self.values[np.minimum(chosen, len(self.weights) - 1)]


def scenarios(samples: FloatArray, grid: Grid, leads: int, recall: Recall) -> Scenarios:
    """Return what may follow the end of the samples.

    Parameters
    ----------
    samples
        Instances wanted, one row a point of the grid, one column a profile; NaN where
        not known.
    grid
        Points in time; the last one is now.
    leads
        How many steps to look ahead, at least 1.
    recall
        How the past is remembered.

    Returns
    -------
    Scenarios
        Empty when no stretch of the past is known as a whole.
    """
    every = max(1, round(HOUR_S / grid.step_s))
    last = grid.number - 1
    origins = np.arange(last % every, last - leads + 1, every, dtype=np.int64)
    now, age = _latest(samples, grid)
    stretches = origins[:, None] + 1 + np.arange(leads)[None, :]
    values = samples[stretches]
    present = samples[origins]
    known = ~np.isnan(values).any(axis=(1, 2)) & ~np.isnan(present).any(axis=1)
    origins, values, present = origins[known], values[known], present[known]
    if not len(origins):
        empty = np.empty((0, leads, samples.shape[1]))
        return Scenarios(empty, np.empty(0), 0.0)
    lasting = _lasting(samples, leads, age)
    moved = values + lasting[None, :, :] * (now - present)[:, None, :]
    weights, alike = _weights(origins, grid, recall)
    return Scenarios(np.maximum(0.0, moved), weights, alike)


def share_reaching(values: FloatArray, weights: FloatArray) -> tuple[float, ...]:
    """Return the share of the weights whose value is at least 1, 2, … up to the largest.

    Parameters
    ----------
    values
        Half an instance and more counts as one.
    weights
        One a value.
    """
    whole = np.floor(values + 0.5).astype(np.int64)
    if not len(whole) or not weights.sum() > 0:
        return ()
    at = np.bincount(np.maximum(whole, 0), weights=weights) / weights.sum()
    reached = np.cumsum(at[::-1])[::-1][1:]
    return tuple(float(min(1.0, share)) for share in reached)


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, shares: Sequence[float]
) -> FloatArray:
    """Return the smallest values that at least these shares of the weights do not exceed."""
    if not len(values):
        return np.full(len(shares), np.nan)
    order = np.argsort(values, kind="stable")
    heights = np.cumsum(weights[order])
    # A hair below, so that the rounding of a sum does not skip a value.
    places = np.searchsorted(heights / heights[-1], np.array(shares) - 1e-12)
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])


def _latest(samples: FloatArray, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return the last known value of each profile and its age in steps; NaN when stale."""
    oldest = max(1, round(FRESH_S / grid.step_s))
    now = np.zeros(samples.shape[1])
    age = np.full(samples.shape[1], np.nan)
    for place, column in enumerate(samples.T):
        recent = np.flatnonzero(~np.isnan(column[-oldest:]))
        if len(recent):
            age[place] = min(oldest, len(column)) - 1 - recent[-1]
            now[place] = column[-oldest:][recent[-1]]
    return now, age


def _lasting(samples: FloatArray, leads: int, age: FloatArray) -> FloatArray:
    """Return the share of a deviation that was left after each lead, by profile.

    It is the autocorrelation: 1 when things stay as they are, 0 when they forget. Where
    nothing ever changed, or the present is not known, nothing is carried on.
    """
    found = np.zeros((leads, samples.shape[1]))
    for place, column in enumerate(samples.T):
        if np.isnan(age[place]):
            continue
        deviation = column - np.nanmean(column)
        for lead in range(1, leads + 1):
            lag = lead + int(age[place])
            pairs = deviation[:-lag] * deviation[lag:]
            both = ~np.isnan(pairs)
            spread = float((deviation[:-lag][both] ** 2).sum())
            if spread > 0:
                share = float(pairs[both].sum()) / spread
                found[lead - 1, place] = min(1.0, max(0.0, share))
    return found


def _weights(
    origins: NDArray[np.int64], grid: Grid, recall: Recall
) -> tuple[FloatArray, float]:
    """Return the weight of each origin, and how many hours of the week stand behind them.

    The fewer of those there are, the more all other hours count: so the forecast widens.
    """
    times_s = grid.times_s()
    zone = ZoneInfo(recall.time_zone)
    now_s = float(times_s[-1])
    age_s = now_s - times_s[origins]
    # Counted from the youngest, so that a short half-life does not make all of them 0.
    fading = 0.5 ** ((age_s - age_s.min()) / recall.half_life_s)
    this_hour = hour_of_week(now_s, zone)
    same = np.array([hour_of_week(float(times_s[o]), zone) == this_hour for o in origins])
    own = fading * same
    alike = float(own.sum() ** 2 / (own**2).sum()) if own.any() else 0.0
    weights = recall.prior_hours * fading / fading.sum()
    if alike:
        weights = weights + alike * own / own.sum()
    if not weights.sum() > 0:
        weights = fading
    return weights / weights.sum(), alike


def hour_of_week(at_s: float, zone: ZoneInfo) -> int:
    """Return the hour of the week that clocks in a zone show, 0 for Monday midnight."""
    local = datetime.fromtimestamp(at_s, UTC).astimezone(zone)
    return local.weekday() * 24 + local.hour
