"""Histories that nobody would believe: results with reasons, finite, and no exception."""

from math import inf, isfinite, nan

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.policy.policy import ForecastRules, PlanningRules
from autoscaler.planning.forecasting.backtest import backtest
from autoscaler.planning.forecasting.forecast import forecast
from autoscaler.planning.past.demand_history import (
    MOST_INSTANCES,
    DemandHistory,
    Grid,
    Service,
    on_grid,
)
from autoscaler.planning.past.home_share import gpus_of
from autoscaler.planning.past.past_jobs import mean_service_s, without_waits
from autoscaler.planning.past.value_history import pool_past, values_of
from autoscaler.planning.planner import PlannerSettings, make_plan
from tests.builders import NOW_S, fleet_node, snapshot, waiting
from tests.fleets import policy, pool
from tests.pasts import HOUR_S, MONDAY_S, ONE, POOL, THREE

FLEET = snapshot(fleet_node(layout=[{"1g.5gb": 7}] * 2))
odd = st.sampled_from([nan, inf, -inf, -1.0, -0.0, 0.4, 1e6, 1e18, 1e300])
usual = st.integers(0, 14).map(float)
# Runs of one value each: holes, jumps and spikes.
runs = st.lists(st.tuples(usual | odd, st.integers(1, 60)), min_size=1, max_size=12)
amounts = odd | st.floats(0, 1e7)
services = st.builds(Service, amounts, amounts)


def column(drawn, number):
    """Return so many samples: the runs, again and again."""
    values = [value for value, length in drawn for _ in range(length)]
    return np.resize(np.array(values), number)


@st.composite
def histories(draw):
    """Draw two weeks, or a few hours, of two profiles."""
    number = draw(st.sampled_from([1, 2, 30, 14 * 24]))
    wanted = {(POOL, name): column(draw(runs), number) for name in (ONE, THREE)}
    held = {(POOL, ONE): column(draw(runs), number)} if draw(st.booleans()) else {}
    return DemandHistory(
        grid=Grid(MONDAY_S, HOUR_S, number),
        wanted=wanted,
        held=held,
        services={(POOL, name): draw(services) for name in (ONE, THREE)},
    )


@settings(max_examples=40, deadline=None)
@given(histories())
def test_a_forecast_is_made_of_what_is_known_or_not_at_all(history):
    """With a reason where there is none; quantiles are amounts that can be."""
    rules = ForecastRules()
    found = forecast(history, POOL, rules)
    assert (found.futures is not None) or found.reason
    for name in found.resources:
        numbers = found.quantiles(name)
        assert numbers is None or all(0 <= n <= 3 * MOST_INSTANCES for n in numbers)
    for chances in found.reach().values():
        assert all(0 <= chance <= 1 for chance in chances)


@settings(max_examples=15, deadline=None)
@given(histories())
def test_what_the_past_says_is_finite_and_a_plan_follows(history):
    """The loop plans with it whatever it is."""
    rules = PlanningRules()
    found = pool_past(history, pool(), gpus_of("pool", FLEET), rules, NOW_S)
    assert all(isfinite(n) and n >= 0 for n in found.home.values())
    values = values_of([found], rules)
    assert all(isfinite(s) and s > 0 for s in values.service_s.values())
    demand = Demand((waiting("3g.20gb", 2),))
    plan = make_plan(FLEET, demand, policy(), NOW_S, PlannerSettings(values))
    assert isfinite(plan.optimality.objective)
    assert plan.changes or plan.unserved or plan.notices


@settings(max_examples=15, deadline=None)
@given(histories())
def test_a_backtest_scores_what_can_be_scored(history):
    """Or says why there is nothing to score."""
    found = backtest(history, POOL, ForecastRules(min_history_s=24 * HOUR_S))
    assert found.scores or found.reason
    assert all(score.tries == 0 or isfinite(score.pinball) for score in found.scores)


@given(st.lists(st.tuples(odd | st.floats(MONDAY_S, MONDAY_S + 1e5), odd | usual)))
def test_points_that_cannot_be_are_counted_and_left_out(points):
    """Also those of a clock that went back before the grid, or ahead of it."""
    samples, unused = on_grid(points, Grid(MONDAY_S, HOUR_S, 24))
    known = samples[~np.isnan(samples)]
    assert (known >= 0).all()
    assert np.isfinite(known).all()
    assert len(known) + unused <= len(points)


@given(st.dictionaries(st.sampled_from([ONE, THREE]), services), st.floats(0, 100))
def test_service_times_that_cannot_be_are_not_known(found, prior):
    """One profile's nonsense takes nothing from the others."""
    means = mean_service_s(found, prior)
    assert all(isfinite(mean) for mean in means.values())
    sane = [s for s in found.values() if 1 <= s.number < inf and 1 <= s.total_s <= s.number]
    assert means or not sane


def test_a_spike_costs_neither_memory_nor_time():
    """One sample of a million million instances is a fault, not so many requests."""
    spiked = np.array([2.0, 1e12, 3.0])
    grid = Grid(MONDAY_S, HOUR_S, 3)
    history = DemandHistory(grid, {(POOL, ONE): spiked}, {(POOL, ONE): spiked})
    smooth = without_waits(history, {ONE: HOUR_S})
    assert len(smooth.jobs[POOL, ONE]) == 3
    assert np.isnan(smooth.wanted[POOL, ONE][1])
