"""What the program says of one node, one pod, and the fleet."""

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.resource import resource_name
from autoscaler.planning.inquiry import inquire
from autoscaler.planning.planner import PlannerSettings
from autoscaler.planning.solving.answer import Answer, Status
from tests.builders import NOW_S, SEVEN_SMALL, fleet_node, snapshot, waiting
from tests.fleets import policy

HORIZON_S, CLOSED_S, MARGIN = 12000.0, 270.0, 1.5
SMALL, LARGE = resource_name("1g.5gb"), resource_name("7g.40gb")


def asked(fleet, *groups, **changes):
    """Return an inquiry into the plan for pods that wait."""
    found = inquire(fleet, Demand(groups, **changes), policy(), NOW_S)
    assert found is not None
    return found


def test_a_node_that_stays_has_a_best_alternative_with_its_price():
    """Seven small pods keep the GPU; a whole one would lose all of them."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    own = asked(fleet, waiting("1g.5gb", 7), waiting("4g.20gb", weight=0.5)).of_node("node-a")
    assert own is not None
    assert (own.node, own.gpu, dict(own.before)) == ("node-a", 0, SEVEN_SMALL)
    # A 4g beside three small ones serves four slices at half weight and not four others;
    # the seven slices in use by waiting pods are out of service meanwhile.
    assert dict(own.after) == {"4g.20gb": 1, "1g.5gb": 3}
    assert own.difference == pytest.approx(-2 * HORIZON_S - MARGIN * 7 * CLOSED_S)


def test_a_node_without_options_has_no_alternative():
    """Its only GPU is in use."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 1}]))
    assert asked(fleet, waiting("7g.40gb")).of_node("node-a") is None
    assert asked(fleet).of_node("node-x") is None


def test_a_pod_is_told_the_cheapest_change_that_would_serve_it():
    """It waits because it is worth less than that."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    pod = PodRef("default", "1x7g.40gb-000")
    own = asked(fleet, waiting("7g.40gb", weight=0.01)).of_pod(pod)
    assert own is not None
    assert (own.node, dict(own.after)) == ("node-a", {"7g.40gb": 1})
    assert own.cost.disturbance == 7 * CLOSED_S
    assert asked(fleet).of_pod(pod) is None


def test_what_is_scarce_has_the_worth_of_one_more():
    """One more small instance would serve one more pod."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [SEVEN_SMALL]))
    (scarce,) = asked(fleet, waiting("1g.5gb", 3)).scarcities()
    assert (scarce.pool, scarce.resource) == ("pool", SMALL)
    assert scarce.worth == pytest.approx(HORIZON_S)
    assert asked(snapshot(fleet_node()), waiting("1g.5gb", 3)).scarcities() == ()


def test_the_fewest_gpus_count_what_runs_and_what_waits():
    """Eight small instances need two GPUs, and one is there."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL], [{"1g.5gb": 4}]))
    running = {"pool": Counts({SMALL: 4})}
    (need,) = asked(fleet, waiting("1g.5gb", 4), running=running).needs()
    assert (need.pool, need.model, need.gpus, need.fewest) == ("pool", "a100-40gb", 1, 2)
    assert need.binding == "compute"


def test_one_more_node_brings_what_waits():
    """Two large pods wait and one GPU can be had; a node with one more serves the other."""
    fleet = snapshot(fleet_node("node-a", [SEVEN_SMALL]))
    (more,) = asked(fleet, waiting("7g.40gb", 2)).one_more()
    assert (more.pool, more.gpus, more.pods) == ("pool", 1, 1)
    assert more.worth == pytest.approx(7 * HORIZON_S - MARGIN * 7 * CLOSED_S)
    (nothing,) = asked(fleet).one_more()
    assert (nothing.pods, nothing.worth) == (0, pytest.approx(0.0))


def test_a_solver_that_fails_leaves_nothing_to_ask():
    """Nothing is known then."""
    settings = PlannerSettings(solver=lambda program, gap, nodes: Answer(Status.FAILURE))
    fleet = snapshot(fleet_node())
    assert inquire(fleet, Demand(), policy(), NOW_S, settings) is None
