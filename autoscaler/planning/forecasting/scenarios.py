"""Scenarios: what demand may do next, as it went on from hours of the past.

Each scenario is one stretch of the past with all profiles together, so what rises and
falls together there does so here. It is moved by what sets the present apart from the
hour it began in, and the more so the nearer: by as much as deviations used to last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.forecasting.record import Recall, Record
from autoscaler.planning.forecasting.season import HOUR_S, season_of
from autoscaler.planning.past.demand_history import FloatArray, Grid
from autoscaler.planning.past.reach import share_reaching

# How long ago the last known sample may be and still stand for now.
FRESH_S = 1800.0


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


def scenarios(record: Record, leads: int, recall: Recall) -> Scenarios:
    """Return what may follow the end of a record.

    Parameters
    ----------
    record
        What is known.
    leads
        How many steps to look ahead, at least 1.
    recall
        How the past is remembered.

    Returns
    -------
    Scenarios
        Empty when no stretch of the past is known as a whole.
    """
    every = max(1, round(HOUR_S / record.grid.step_s))
    last = record.number - 1
    origins = np.arange(last % every, last - leads + 1, every, dtype=np.int64)
    level, rest = _taken_apart(record, leads, recall)
    stretches = origins[:, None] + 1 + np.arange(leads)[None, :]
    values, present = rest[stretches], rest[origins]
    known = ~np.isnan(values).any(axis=(1, 2)) & ~np.isnan(present).any(axis=1)
    origins, values, present = origins[known], values[known], present[known]
    if not len(origins):
        empty = np.empty((0, leads, record.samples.shape[1]))
        return Scenarios(empty, np.empty(0), 0.0)
    now, age = _latest(rest, record.grid)
    lasting = _lasting(rest, leads, age)
    moved = level + values + lasting[None, :, :] * (now - present)[:, None, :]
    weights, alike = _weights(origins, record, recall)
    # Less than a millionth of an instance is the rounding of sums.
    return Scenarios(np.round(np.maximum(0.0, moved), 6), weights, alike)


def _taken_apart(
    record: Record, leads: int, recall: Recall
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the level of each lead by profile, and what the samples have beyond it."""
    if not recall.is_seasonal:
        return np.zeros((leads, record.samples.shape[1])), record.samples
    hours = record.hours[: record.number]
    coming = record.hours[record.number : record.number + leads]
    age_s = record.grid.step_s * np.arange(record.number - 1, -1, -1, dtype=np.float64)
    fading = _fading(age_s, recall)
    found = [season_of(own, hours, fading, record.grid.step_s) for own in record.samples.T]
    level = np.array([own.level[coming] for own in found]).T
    return level, np.array([own.rest for own in found]).T


def _fading(age_s: FloatArray, recall: Recall) -> FloatArray:
    """Return the weight of each age, never all of them 0, whatever the half-life."""
    youngest = age_s.min() if len(age_s) else 0.0
    return np.asarray(np.maximum(0.5 ** ((age_s - youngest) / recall.half_life_s), 1e-12))


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
    origins: NDArray[np.int64], record: Record, recall: Recall
) -> tuple[FloatArray, float]:
    """Return the weight of each origin, and how many hours of the week stand behind them.

    The fewer of those there are, the more all other hours count: so the forecast widens.
    """
    last = record.number - 1
    age_s = np.asarray(record.grid.step_s * (last - origins), dtype=np.float64)
    fading = _fading(age_s, recall)
    own = fading * (record.hours[origins] == record.hours[last])
    alike = float(own.sum() ** 2 / (own**2).sum()) if own.any() else 0.0
    weights = recall.prior_hours * fading / fading.sum()
    if alike:
        weights = weights + alike * own / own.sum()
    if not weights.sum() > 0:
        weights = fading
    return weights / weights.sum(), alike
