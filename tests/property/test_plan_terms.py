"""Terms of a plan: kept apart by whose waiting is avoided, and adding up to its worth."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Announced
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.plan.plan import Scenario, sum_of
from autoscaler.domain.plan.plan_json import parse_plan, render_plan
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.optimizer import settle
from autoscaler.planning.program.problem import Past, state_problem
from tests.builders import NOW_S
from tests.fleets import policy, pool
from tests.property.test_planner_fleets import moments

names = st.sampled_from(["1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"]).map(resource_name)
amounts = st.dictionaries(names, st.integers(1, 4), max_size=2)
falling = st.lists(st.floats(0, 1), min_size=1, max_size=6).map(
    lambda chances: tuple(sorted(chances, reverse=True))
)


@st.composite
def outlooks(draw):
    """Draw a moment with peaks, queued work, and a past."""
    fleet, demand, driver = draw(moments())
    announced = tuple(
        Announced("policy peak", name, number, NOW_S, NOW_S + 3600.0)
        for name, number in sorted(draw(amounts).items())
    )
    demand = replace(demand, announced=announced, queued=Counts(draw(amounts)))
    past = ValueHistory(
        service_s=draw(st.dictionaries(names, st.floats(60, 1e5), max_size=2)),
        home={("pool", name): number for name, number in draw(amounts).items()},
        reach={
            ("pool", name): chances
            for name, chances in draw(st.dictionaries(names, falling, max_size=2)).items()
        },
    )
    return fleet, demand, policy(pool(driver=driver)), past


@settings(max_examples=25)
@given(outlooks())
def test_the_terms_add_up_to_what_the_plan_is_worth_more_than_nothing(outlook):
    """Of each change, and of all together."""
    fleet, demand, own, past = outlook
    plan = make_plan(fleet, demand, own, NOW_S, PlannerSettings(past))
    mix = state_problem(fleet, demand, own, NOW_S, Past(past)).mix
    unchanged = settle(mix).unchanged
    assert plan.terms == sum_of(change.price for change in plan.changes)
    worth = plan.optimality.objective - unchanged.objective
    assert plan.terms.net == pytest.approx(worth, abs=0.01)


@settings(max_examples=25)
@given(outlooks())
def test_waiting_and_hedge_are_the_sums_of_their_parts(outlook):
    """By scenario and resource, and as a reader checks them."""
    fleet, demand, own, past = outlook
    plan = make_plan(fleet, demand, own, NOW_S, PlannerSettings(past))
    for price in (plan.terms, *(change.price for change in plan.changes)):
        pending = [a.worth for a in price.avoided if a.scenario is Scenario.PENDING]
        others = [a.worth for a in price.avoided if a.scenario is not Scenario.PENDING]
        assert price.waiting_avoided == pytest.approx(sum(pending) - price.displaced)
        assert price.hedge == pytest.approx(sum(others))
        scheduled = {a.resource for a in price.avoided if a.scenario is Scenario.SCHEDULED}
        assert scheduled <= {a.resource for a in demand.announced}
    assert parse_plan(render_plan(plan), "plan.json") == plan
