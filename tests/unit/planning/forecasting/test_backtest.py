"""Backtests: on made-up pasts with a known answer, and on the trace that is shipped."""

import numpy as np
import pytest

from autoscaler.domain.policy.policy import ForecastRules
from autoscaler.planning.forecasting.backtest import backtest
from autoscaler.planning.past.demand_history import Grid, history_of_jobs
from autoscaler.planning.past.queue_model import Job
from autoscaler.simulation.traces import Rule, load_openb
from tests.pasts import DAY_S, HOUR_S, ONE, POOL, daily, history

RULES = ForecastRules()


def losses(found):
    """Return the loss of each method."""
    return {method: found.total(method) for method in found.methods}


def test_a_short_past_gets_no_scores_and_a_reason():
    """A week to learn from, and a week for the errors of the simple methods."""
    found = backtest(history({ONE: daily([1.0] * 24, 14)}), POOL, RULES)
    assert found.scores == ()
    assert found.reason == "the history is shorter than 14 days and the horizon"


def test_a_past_that_repeats_itself_is_no_riddle_for_the_season():
    """Week for week the same: the season is right, the last value is not."""
    hours = [float(hour % 24 in range(6)) * 8 + hour // 24 % 7 for hour in range(168)]
    loss = losses(backtest(history({ONE: hours * 4}), POOL, RULES))
    assert loss["seasonal-naive"] == 0
    assert loss["forecast"] < loss["naive"] / 3
    assert loss["forecast"] < loss["share-of-time"] / 3


def test_holes_are_not_scored():
    """Nobody is right or wrong about what is not known."""
    hours = daily([1.0] * 24, 20)
    whole = backtest(history({ONE: hours}), POOL, RULES)
    torn = backtest(history({ONE: [*hours[:-30], *[None] * 20, *hours[-10:]]}), POOL, RULES)
    assert 0 < torn.scores[0].tries < whole.scores[0].tries


def test_coverage_is_the_share_of_truths_within():
    """White noise, of which nothing can be known: eight in ten lie within."""
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 100, 24 * 28).astype(float)
    found = backtest(history({ONE: list(noise)}), POOL, RULES)
    for score in found.scores:
        if score.method in {"forecast", "share-of-time"}:
            assert score.coverage == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("rule", [Rule.V100_EQUIVALENT, Rule.SHARE])
def test_on_the_shipped_trace_the_forecast_beats_the_simple_ones(rule):
    """All profiles together, and its range holds about eight in ten."""
    jobs = {}
    for job in load_openb(rule):
        if job.duration_s <= DAY_S and job.arrival_s >= 115 * DAY_S:
            own = jobs.setdefault((POOL, f"{job.slices}g"), [])
            own += [Job(job.arrival_s, job.duration_s)] * job.instances
    grid = Grid(115 * DAY_S, HOUR_S, 21 * 24)
    found = backtest(history_of_jobs(jobs, grid), POOL, RULES)
    loss = losses(found)
    assert loss["forecast"] < loss["naive"]
    assert loss["forecast"] < 0.7 * loss["seasonal-naive"]
    assert loss["forecast"] < 0.9 * loss["share-of-time"]
    ours = [score.coverage for score in found.scores if score.method == "forecast"]
    assert 0.75 <= sum(ours) / len(ours) <= 0.92
