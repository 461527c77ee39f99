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

from autoscaler.domain.policy import ForecastRules
from autoscaler.domain.quantity import format_duration
from autoscaler.planning.demand_history import DemandHistory, FloatArray, Grid
from autoscaler.planning.scenarios import (
    HOUR_S,
    Recall,
    Scenarios,
    scenarios,
    share_reaching,
    weighted_quantiles,
)

SHARES = (0.1, 0.5, 0.9)
# The days that a forecast is tried on before it counts, and how far apart the tries are.
TRIAL_S = 3 * 86400.0
TRIAL_STEP_S = 3 * HOUR_S


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


def forecast(
    history: DemandHistory, pool: str, rules: ForecastRules, *, try_out: bool = True
) -> Forecast:
    """Return what is expected of a pool after the end of its history.

    Parameters
    ----------
    history
        The past; its last point is now.
    pool
        Name of the pool.
    rules
        How far back and ahead to look.
    try_out
        Whether to compare it with the plain share of time before it is relied on.
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
    recall = Recall(rules.half_life_s, rules.prior_hours, rules.time_zone)
    leads = max(1, round(rules.horizon_s / grid.step_s))
    futures = scenarios(samples, grid, leads, recall)
    if not len(futures.weights):
        text = (
            f"no stretch of {format_duration(rules.horizon_s)} of the past is known as a whole"
        )
        return replace(found, reason=text)
    reason = _weakness(samples, grid, leads, recall) if try_out else ""
    return replace(found, futures=futures, reason=reason)


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


def _weakness(samples: FloatArray, grid: Grid, leads: int, recall: Recall) -> str:
    """Return why a forecast is not to be relied on, empty when nothing speaks against it.

    It is tried on the last days: at each moment with what was known then.
    """
    step = max(1, round(TRIAL_STEP_S / grid.step_s))
    first = max(1, grid.number - round(TRIAL_S / grid.step_s))
    own = plain = 0.0
    tries = 0
    for end in range(first, grid.number - leads, step):
        past = Grid(grid.start_s, grid.step_s, end)
        futures = scenarios(samples[:end], past, leads, recall)
        truth = samples[end + leads - 1]
        if not len(futures.weights) or np.isnan(truth).any():
            continue
        tries += 1
        for place, value in enumerate(truth):
            own += pinball(futures.at_lead(leads - 1, place, SHARES), value).sum()
            plain += pinball(_plain(samples[:end, place]), value).sum()
    if not tries:
        return "it could not be tried on the last days, because too little of them is known"
    if own < plain or own == plain == 0:
        return ""
    ratio = own / plain if plain > 0 else inf
    return (
        f"in {tries} tries on the last days it was off {ratio:.2f} times as far as the"
        " plain share of time"
    )


def _plain(column: FloatArray) -> FloatArray:
    known = column[~np.isnan(column)]
    return weighted_quantiles(known, np.ones(len(known)), SHARES)


def share_of_time(samples: FloatArray) -> tuple[float, ...]:
    """Return the share of the known time with at least 1, 2, … instances wanted.

    Parameters
    ----------
    samples
        Instances wanted at even points in time; NaN where not known.
    """
    known = samples[~np.isnan(samples)]
    return share_reaching(known, np.ones(len(known)))


def _recent(samples: FloatArray, grid: Grid, history_s: float) -> tuple[FloatArray, Grid]:
    """Return the end of the samples, as far back as is looked."""
    number = min(grid.number, max(1, round(history_s / grid.step_s)))
    first = grid.number - number
    kept = samples[first:] if samples.ndim == 2 else np.empty((0, 0))
    start_s = grid.start_s + first * grid.step_s
    return kept, Grid(start_s, grid.step_s, len(kept))


def _present(own: Mapping[str, FloatArray]) -> dict[str, float]:
    return {name: float(column[-1]) if len(column) else np.nan for name, column in own.items()}
