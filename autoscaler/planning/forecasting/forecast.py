"""Forecasts: how many instances of each profile will be wanted in the coming hours.

With little history the range is wide, and below a minimum there is none: a reason
instead. A forecast decides nothing unless it has been closer to the truth of late than
the plain share of time, which is what it would replace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from autoscaler.domain.policy.policy import ForecastRules
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.planning.forecasting.record import Recall, Record, record_of
from autoscaler.planning.forecasting.scenarios import (
    Scenarios,
    scenarios,
    weighted_quantiles,
)
from autoscaler.planning.forecasting.season import HOUR_S
from autoscaler.planning.past.demand_history import DemandHistory, FloatArray, Grid

SHARES = (0.1, 0.5, 0.9)
# The days that ways to forecast are tried on, and how far apart the tries are.
TRIAL_S = 7 * 86400.0
TRIAL_STEP_S = 3 * HOUR_S
# Of a short past the first part is needed to have something to go by.
LEAST_BEFORE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected of one pool.

    Parameters
    ----------
    pool
        Name of the pool.
    made_at_s
        The moment it is made for, epoch seconds.
    horizon_s
        How far it looks.
    resources
        In the order of the scenarios' profiles.
    now
        Instances wanted at the last known moment, by resource; NaN when not known.
    futures
        Scenarios; ``None`` when there is no forecast.
    reason
        Why there is none, or why it is not relied on; empty when it is.
    known_s
        Time of the past that is known.
    """

    pool: str
    made_at_s: float
    horizon_s: float
    resources: tuple[str, ...] = ()
    now: Mapping[str, float] = field(default_factory=dict)
    futures: Scenarios | None = None
    reason: str = ""
    known_s: float = 0.0

    @property
    def is_confident(self) -> bool:
        """Whether plans may rely on it."""
        return self.futures is not None and not self.reason

    def quantiles(
        self, resource: str, shares: Sequence[float] = SHARES
    ) -> tuple[float, ...] | None:
        """Return the numbers that these shares of the horizon stay within, ``None`` unknown."""
        if self.futures is None or resource not in self.resources:
            return None
        found = self.futures.quantiles(self.resources.index(resource), shares)
        return tuple(float(value) for value in found)

    def reach(self) -> dict[str, tuple[float, ...]]:
        """Return the share of the horizon with at least 1, 2, … wanted, by resource."""
        if self.futures is None:
            return {}
        return {name: self.futures.reach(i) for i, name in enumerate(self.resources)}


def forecast(history: DemandHistory, pool: str, rules: ForecastRules) -> Forecast:
    """Return what is expected of a pool after the end of its history.

    Parameters
    ----------
    history
        The past; its last point is now.
    pool
        Name of the pool.
    rules
        How far back and ahead to look.

    Returns
    -------
    Forecast
        Made in the way that would have been off least on the last days.
    """
    own = history.of_pool(pool)
    resources = tuple(own)
    grid = history.grid
    now_s = grid.start_s + grid.step_s * max(0, grid.number - 1)
    samples, grid = _recent(np.array(list(own.values())).T, grid, rules.history_s)
    known_s = float((~np.isnan(samples).any(axis=1)).sum()) * grid.step_s if own else 0.0
    found = Forecast(pool, now_s, rules.horizon_s, resources, _present(own), known_s=known_s)
    if known_s < rules.min_history_s:
        have, need = format_duration(known_s), format_duration(rules.min_history_s)
        return replace(found, reason=f"only {have} of the past are known, {need} are needed")
    leads = max(1, round(rules.horizon_s / grid.step_s))
    record = record_of(samples, grid, leads, rules.time_zone)
    # Hours are fine enough to tell which way to remember is better.
    hourly = record.hourly()
    hours = max(1, round(rules.horizon_s / hourly.grid.step_s))
    trial = try_recalls(hourly, hours, recalls_of(rules))
    futures = scenarios(record, leads, trial.recall)
    if not len(futures.weights):
        text = (
            f"no stretch of {format_duration(rules.horizon_s)} of the past is known as a whole"
        )
        return replace(found, reason=text)
    return replace(found, futures=futures, reason=trial.weakness)


def pinball(
    quantiles: NDArray[np.float64], truth: float | FloatArray, shares: Sequence[float] = SHARES
) -> FloatArray:
    """Return the pinball loss of quantiles, one for each share.

    References
    ----------
    Koenker and Bassett, "Regression quantiles", Econometrica 46 (1978).
    """
    own = np.array(shares)
    miss = np.asarray(truth) - quantiles
    return np.asarray(np.maximum(own * miss, (own - 1) * miss))


def recalls_of(rules: ForecastRules) -> tuple[Recall, ...]:
    """Return the ways to remember the past, the plainer first: ties go to it."""
    return tuple(
        Recall(rules.half_life_s, rules.prior_hours, is_seasonal)
        for is_seasonal in (False, True)
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of forecasting the last days, each with what was known by then.

    Parameters
    ----------
    recall
        The way to remember that was off least.
    loss
        Its pinball loss, all tries and profiles together.
    plain_loss
        That of the plain share of time.
    tries
        How many moments could be tried.
    """

    recall: Recall
    loss: float
    plain_loss: float
    tries: int

    @property
    def weakness(self) -> str:
        """Why not to rely on it, empty when nothing speaks against it."""
        if not self.tries:
            return "it could not be tried on the last days, because too little of them is known"
        if self.loss < self.plain_loss or self.loss == self.plain_loss == 0:
            return ""
        ratio = self.loss / self.plain_loss if self.plain_loss > 0 else inf
        return (
            f"in {self.tries} tries on the last days it was off {ratio:.2f} times as far as"
            " the plain share of time"
        )


def try_recalls(record: Record, leads: int, recalls: Sequence[Recall]) -> Trial:
    """Return how well each way to remember did on the last days, and which did best.

    Parameters
    ----------
    record
        What is known.
    leads
        How many steps to look ahead; the last and the middle one are compared.
    recalls
        The ways, at least one.
    """
    step = max(1, round(TRIAL_STEP_S / record.grid.step_s))
    first = record.number - round(TRIAL_S / record.grid.step_s)
    first = max(1, first, round(LEAST_BEFORE * record.number))
    losses = [0.0] * len(recalls)
    plain, tries = 0.0, 0
    for end in range(first, record.number - leads, step):
        past = record.between(0, end)
        for lead in sorted({max(1, leads // 2), leads}):
            truth = record.samples[end + lead - 1]
            found = [scenarios(past, lead, recall) for recall in recalls]
            if np.isnan(truth).any() or not all(len(own.weights) for own in found):
                continue
            tries += 1
            for place, own in enumerate(found):
                losses[place] += _loss(own, lead, truth)
            plain += sum(
                pinball(_plain(column), value).sum()
                for column, value in zip(past.samples.T, truth, strict=True)
            )
    best = min(range(len(recalls)), key=lambda place: (losses[place], place))
    return Trial(recalls[best], losses[best], plain, tries)


def _loss(found: Scenarios, lead: int, truth: FloatArray) -> float:
    return sum(
        float(pinball(found.at_lead(lead - 1, place, SHARES), value).sum())
        for place, value in enumerate(truth)
    )


def _plain(column: FloatArray) -> FloatArray:
    known = column[~np.isnan(column)]
    return weighted_quantiles(known, np.ones(len(known)), SHARES)


def _recent(samples: FloatArray, grid: Grid, history_s: float) -> tuple[FloatArray, Grid]:
    """Return the end of the samples, as far back as is looked."""
    number = min(grid.number, max(1, round(history_s / grid.step_s)))
    first = grid.number - number
    kept = samples[first:] if samples.ndim == 2 else np.empty((0, 0))
    start_s = grid.start_s + first * grid.step_s
    return kept, Grid(start_s, grid.step_s, len(kept))


def _present(own: Mapping[str, FloatArray]) -> dict[str, float]:
    return {name: float(column[-1]) if len(column) else np.nan for name, column in own.items()}
