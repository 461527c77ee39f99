"""Expectation: what likely work counts, and when it steps back behind pods that wait."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Driver, PlanningRules
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.expectation import hedges_of
from autoscaler.planning.program.worth import Worth
from tests.builders import NOW_S, fleet_node, gpu, placed, snapshot, waiting
from tests.fleets import policy, pool

FULL, HALF, SMALL = "7g.40gb", "3g.20gb", "1g.5gb"
WHOLE = resource_name(FULL)
PAST = ValueHistory(
    # A whole GPU runs so long that short requests are worth more, each time they come.
    service_s={WHOLE: 300_000.0, resource_name(HALF): 3000.0, resource_name(SMALL): 3000.0},
    home={("pool", WHOLE): 1, ("pool", resource_name(HALF)): 2},
    reach={("pool", resource_name(HALF)): (0.9,) * 6, ("pool", resource_name(SMALL)): (0.5,)},
)


def likely(demand, pending):
    """Return how many likely instances count, by profile."""
    own = Worth(12000.0, {}, PAST)
    hedges = hedges_of(demand, own, {("pool", name): n for name, n in pending.items()})
    return {hedge.resource.partition("mig-")[2]: hedge.number for hedge in hedges}


def test_all_that_is_likely_counts_while_nobody_of_the_home_share_waits():
    """Neither without pods, nor when those that wait are beyond the share."""
    assert likely(Demand(), {}) == {HALF: 6, SMALL: 1}
    has_share = Demand(running={"pool": Counts({WHOLE: 1})})
    assert likely(has_share, {WHOLE: 130}) == {HALF: 6, SMALL: 1}


def test_only_the_home_share_is_likely_while_others_wait_for_theirs():
    """The whole home mix has room at once."""
    assert likely(Demand(), {WHOLE: 1}) == {HALF: 2}
    one_runs = Demand(running={"pool": Counts({resource_name(HALF): 1})})
    assert likely(one_runs, {WHOLE: 1}) == {HALF: 1}
    other = Demand(running={"other": Counts({WHOLE: 1})})
    assert likely(other, {WHOLE: 1}) == {HALF: 2}


@pytest.mark.parametrize("driver", list(Driver))
def test_no_fleet_stays_idle_for_likely_work_while_somebody_waits_for_their_share(driver):
    """However long they run: a fixed mix would have served them."""
    own = placed({HALF: 2}) if driver is Driver.AGENT else None
    cut = tuple(gpu(index, {HALF: 2}, geometry=own) for index in range(2))
    node = fleet_node("node-a", [{HALF: 2}] * 2, driver=driver, gpus=cut)
    rules = policy(pool(driver=driver), planning=PlanningRules(min_gain=1.0))
    asked = Demand((waiting(FULL, 130),))
    plan = make_plan(snapshot(node), asked, rules, NOW_S, PlannerSettings(history=PAST))
    (change,) = plan.changes
    assert [dict(gpu.after) for gpu in change.gpus] == [{FULL: 1}]
