"""The plan with one thing otherwise: what binds it, and what one pod would take."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.reasons import Hold, PodNote, Reason
from autoscaler.planning.inquiry import inquire
from autoscaler.planning.what_if import at_any_price, bindings
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, holder, snapshot, waiting
from tests.fleets import policy, pool

HORIZON_S, CLOSED_S, MARGIN = 12000.0, 270.0, 1.5
# A GPU re-cut as a whole.
CUT = MARGIN * 7 * CLOSED_S


def asked(fleet, *groups, own=None, **demand):
    """Return an inquiry into the plan for pods that wait."""
    found = inquire(fleet, replace(Demand(groups), **demand), own or policy(), NOW_S)
    assert found is not None
    return found


def said(inquiry):
    return {own.what: own.worth for own in bindings(inquiry)}


def test_a_floor_binds_by_what_else_its_instances_could_serve():
    """Seven small instances are kept where a whole GPU is waited for."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    own = policy(pool(floors={"1g.5gb": 7}))
    found = said(asked(fleet, waiting("7g.40gb"), own=own))
    assert found == {"the floor of 7 x 1g.5gb in pool pool": 7 * HORIZON_S - CUT}


def test_a_ceiling_binds_by_whom_it_turns_away():
    """One half may be had, and two are asked for."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    own = policy(pool(ceilings={"3g.20gb": 1}))
    found = said(asked(fleet, waiting("3g.20gb", 2), own=own))
    assert found["the ceiling of 1 x 3g.20gb in pool pool"] == pytest.approx(3 * HORIZON_S)


def test_a_floor_that_cannot_be_kept_binds_no_more_than_it_takes():
    """Its price is that of a rule; what people lose by it is what counts."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    own = policy(pool(floors={"1g.5gb": 1000}))
    found = said(asked(fleet, waiting("7g.40gb"), own=own))
    assert found == {"the floor of 1000 x 1g.5gb in pool pool": 7 * HORIZON_S - CUT}


def test_nodes_on_hold_bind_by_what_they_could_serve():
    """Nothing binds where nobody waits."""
    hold = Hold(Reason.HELD, "node node-a: a person holds it", "node-a")
    fleet = snapshot(replace(fleet_node("node-a", [SEVEN_SMALL]), holds=(hold,)))
    found = said(asked(fleet, waiting("7g.40gb")))
    assert found == {"1 node on hold": 7 * HORIZON_S - CUT}
    assert said(asked(fleet)) == {}


def test_the_switch_of_evictions_binds_by_what_they_would_free():
    """One small pod keeps a GPU on which a large one could run."""
    refusal = PodNote(PodRef("default", "serve-1"), Reason.EVICTION_DISABLED, "it is off")
    stays = holder(refusal=refusal, eligible=frozenset({"node-b"}))
    fleet = snapshot(
        fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 1}]),
        fleet_node("node-b", [SEVEN_SMALL], [{"1g.5gb": 6}]),
    )
    names = ("node-a", "node-b")
    group = waiting("7g.40gb", nodes=names)
    found = said(asked(fleet, group, holders=(stays,)))
    assert set(found) == {"the ban on evictions (disruption.eviction)"}


def test_a_pod_before_all_others_takes_what_they_would_lose():
    """Seven small pods would wait for it."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    found = asked(fleet, waiting("1g.5gb", 7), waiting("7g.40gb", weight=0.5))
    sacrifice = at_any_price(found, PodRef("default", "1x7g.40gb-000"))
    ((node, gpu, before, after),) = sacrifice.changes
    assert (node, gpu, dict(before), dict(after)) == ("node-a", 0, SEVEN_SMALL, {"7g.40gb": 1})
    # The node's slices that waiting pods use are out of service meanwhile.
    assert sacrifice.loss == pytest.approx(7 * HORIZON_S + CUT)
    assert sacrifice.evicted == ()


def test_a_pod_may_take_several_gpus_of_a_node():
    """No single change would serve it."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL] * 3))
    found = asked(fleet, waiting({"7g.40gb": 2}, weight=0.001))
    pod = PodRef("default", "2x7g.40gb-000")
    assert found.of_pod(pod) is None
    assert len(at_any_price(found, pod).changes) == 2


def test_where_nothing_would_do_there_is_nothing_to_give():
    """In use, in a gang, or no demand at all."""
    busy = snapshot(fleet_node("node-a", [SEVEN_SMALL], [SEVEN_SMALL]))
    pod = PodRef("default", "1x7g.40gb-000")
    assert at_any_price(asked(busy, waiting("7g.40gb")), pod) is None
    assert at_any_price(asked(busy), pod) is None
    free = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    gang = waiting("7g.40gb", gang="default/g", gang_min=1)
    assert at_any_price(asked(free, gang), pod) is None
