"""Backtests: how far forecasts of the past would have been off, beside simple ones.

Each moment is forecast with what was known by then. The simple methods get the spread of
their own past errors: bare numbers would be too easy to beat.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from autoscaler.domain.policy.policy import ForecastRules
from autoscaler.planning.forecasting.forecast import SHARES, pinball, recalls_of, try_recalls
from autoscaler.planning.forecasting.record import Recall, Record, record_of
from autoscaler.planning.forecasting.scenarios import (
    scenarios,
    weighted_quantiles,
)
from autoscaler.planning.forecasting.season import HOUR_S, WEEK_HOURS
from autoscaler.planning.past.demand_history import DemandHistory, FloatArray, Grid

Method = Callable[[Record, int], FloatArray]
"""What is known and a lead in steps; quantiles, one row a profile."""
# How often the way to remember is chosen anew.
CHOICE_S = 86400.0


@dataclass(frozen=True, slots=True)
class Score:
    """How good one method was for one profile.

    Parameters
    ----------
    method
        ``forecast``, ``naive``, ``seasonal-naive`` or ``share-of-time``.
    resource
        Name of the resource.
    pinball
        Mean pinball loss over all quantiles, in instances; less is better.
    coverage
        Share of the truths between the outer quantiles; 0.8 would be right.
    tries
        How many forecasts it is the mean of.
    """

    method: str
    resource: str
    pinball: float
    coverage: float
    tries: int


@dataclass(frozen=True, slots=True)
class Backtest:
    """The scores of a pool, by method and resource, and what they rest on.

    Parameters
    ----------
    first_s, last_s
        The moments of the first and the last forecast; of none both are the end.
    reason
        Why there are no scores; empty when there are.
    """

    pool: str
    scores: tuple[Score, ...]
    first_s: float
    last_s: float
    reason: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, ours first."""
        return tuple(dict.fromkeys(score.method for score in self.scores))

    def total(self, method: str) -> float:
        """Return the loss of a method, all profiles together."""
        return sum(score.pinball for score in self.scores if score.method == method)


def backtest(history: DemandHistory, pool: str, rules: ForecastRules) -> Backtest:
    """Return how forecasts of a pool would have done.

    Parameters
    ----------
    history
        The past. Its grid may be coarser than that of plans; an hour does.
    pool
        Name of the pool.
    rules
        How far back and ahead to look. Trials begin a week after the least history, so
        that every method has errors to learn from.
    """
    own = history.of_pool(pool)
    grid = history.grid
    warm_up_s = rules.min_history_s + WEEK_HOURS * HOUR_S
    first, leads = round(warm_up_s / grid.step_s), _leads(rules, grid)
    ends = range(first, grid.number - max(leads), max(1, round(HOUR_S / grid.step_s)))
    if not own or not len(ends):
        reason = f"the history is shorter than {warm_up_s / 86400:g} days and the horizon"
        return Backtest(pool, (), grid.end_s, grid.end_s, reason)
    record = record_of(np.array(list(own.values())).T, grid, max(leads), rules.time_zone)
    times_s = grid.times_s()
    trials = _Trials(tuple(own), record, ends, leads)
    scores = tuple(
        score
        for name, method in methods_of(rules).items()
        for score in trials.scores(name, method)
    )
    return Backtest(pool, scores, float(times_s[ends[0] - 1]), float(times_s[ends[-1] - 1]))


def methods_of(rules: ForecastRules) -> dict[str, Method]:
    """Return all methods by name, ours first."""
    chosen: dict[int, Recall] = {}

    def ours(record: Record, lead: int) -> FloatArray:
        step_s = record.grid.step_s
        first = max(0, record.number - round(rules.history_s / step_s))
        part = record.between(first, record.number)
        day = int((record.grid.end_s) // CHOICE_S)
        if day not in chosen:
            leads = max(1, round(rules.horizon_s / step_s))
            chosen[day] = try_recalls(part, leads, recalls_of(rules)).recall
        found = scenarios(part, lead, chosen[day])
        rows = [found.at_lead(lead - 1, p, SHARES) for p in range(part.samples.shape[1])]
        return np.array(rows)

    def naive(record: Record, lead: int) -> FloatArray:
        samples = record.samples
        return _with_errors(samples[-1], samples[lead:] - samples[:-lead])

    def seasonal(record: Record, lead: int) -> FloatArray:
        samples, week = record.samples, round(WEEK_HOURS * HOUR_S / record.grid.step_s)
        return _with_errors(samples[lead - 1 - week], samples[week:] - samples[:-week])

    def plain(record: Record, lead: int) -> FloatArray:
        return _with_errors(np.zeros(record.samples.shape[1]), record.samples)

    return {
        "forecast": ours, "naive": naive, "seasonal-naive": seasonal, "share-of-time": plain
    }  # fmt: skip


def _leads(rules: ForecastRules, grid: Grid) -> tuple[int, ...]:
    """Return whole hours up to the horizon, in steps; at least one."""
    every = max(1, round(HOUR_S / grid.step_s))
    last = max(every, round(rules.horizon_s / grid.step_s))
    return tuple(range(every, last + 1, every))


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """The moments to forecast, each with what was known by then."""

    resources: tuple[str, ...]
    record: Record
    ends: Sequence[int]
    leads: Sequence[int]

    def scores(self, name: str, method: Method) -> Iterator[Score]:
        """Yield the score of a method for each profile that it could be tried on."""
        loss = np.zeros(len(self.resources))
        inside = np.zeros(len(self.resources))
        tries = np.zeros(len(self.resources), dtype=np.int64)
        for end in self.ends:
            past = self.record.between(0, end)
            for lead in self.leads:
                quantiles = method(past, lead)
                truth = self.record.samples[end - 1 + lead]
                known = ~(np.isnan(truth) | np.isnan(quantiles).any(axis=1))
                losses = pinball(quantiles, truth[:, None]).mean(axis=1)
                loss += np.where(known, losses, 0.0)
                inside += known & (quantiles[:, 0] <= truth) & (truth <= quantiles[:, -1])
                tries += known
        for place, resource in enumerate(self.resources):
            number = int(tries[place])
            if number:
                mean, share = float(loss[place]) / number, float(inside[place]) / number
                yield Score(name, resource, mean, share, number)


def _with_errors(centre: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the quantiles of a guess with the spread of past errors around it."""
    rows = []
    for place, guess in enumerate(centre):
        own = errors[:, place]
        own = own[~np.isnan(own)]
        spread = weighted_quantiles(own, np.ones(len(own)), SHARES)
        rows.append(np.maximum(0.0, guess + spread))
    return np.array(rows)
