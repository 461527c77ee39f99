"""First fit, best fit decreasing and nos on fleets small enough to check by hand."""

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.baselines.greedy import best_fit_decreasing, first_fit
from autoscaler.planning.baselines.nos import nos_fixed, nos_strict
from autoscaler.planning.baselines.score import BASELINES, score
from autoscaler.planning.program.duration import expected_out_of_service_s
from tests.builders import fleet_node, gpu, placed, snapshot, waiting
from tests.fleets import policy, pool

SMALL, WHOLE, HALVES = {"1g.5gb": 7}, {"7g.40gb": 1}, {"3g.20gb": 2}
TWO = ("node-a", "node-b")
OWN = policy(pool(driver=Driver.AGENT))
CLOSED_S = expected_out_of_service_s(Driver.AGENT, OWN)


def agent_node(name, counts, held=()):
    """Return a node of one GPU; held are the starts of instances in use."""
    own = placed(counts)
    pinned = Geometry(tuple(i for i in own.instances if i.start in held))
    cut = gpu(0, counts, pinned.counts, geometry=own, pinned=pinned)
    layout, used = [counts], [dict(pinned.counts)]
    return fleet_node(name, layout, used, driver=Driver.AGENT, gpus=(cut,))


def layouts(fleet):
    """Return what each GPU holds, in order of nodes."""
    return [dict(own.counts) for node in fleet.nodes for own in node.gpus]


def test_first_fit_takes_pods_as_they_come():
    """A small pod that came first splits the GPU that the large one needed."""
    fleet = snapshot(agent_node("node-a", WHOLE))
    small_first = Demand((waiting("1g.5gb"), waiting("7g.40gb")))
    assert layouts(first_fit(fleet, small_first)) == [{"1g.5gb": 1}]
    large_first = Demand((waiting("7g.40gb"), waiting("1g.5gb")))
    assert layouts(first_fit(fleet, large_first)) == [WHOLE]


def test_best_fit_decreasing_takes_large_pods_first():
    """Whatever came first."""
    fleet = snapshot(agent_node("node-a", WHOLE))
    demand = Demand((waiting("1g.5gb"), waiting("7g.40gb")))
    assert layouts(best_fit_decreasing(fleet, demand)) == [WHOLE]


def test_best_fit_fills_the_gpu_with_the_least_room():
    """A small pod goes beside the one that runs, and leaves the idle GPU whole."""
    fleet = snapshot(agent_node("node-a", WHOLE), agent_node("node-b", SMALL, held=(0,)))
    demand = Demand((waiting("1g.5gb", nodes=TWO),))
    assert layouts(best_fit_decreasing(fleet, demand)) == [WHOLE, SMALL]
    assert layouts(first_fit(fleet, demand)) == [{"1g.5gb": 1}, SMALL]


def test_free_instances_are_taken_before_anything_is_cut():
    """Greedy planners change nothing for pods that have room."""
    fleet = snapshot(agent_node("node-a", SMALL, held=(0, 1)))
    demand = Demand((waiting("1g.5gb", 5),))
    assert first_fit(fleet, demand) == fleet
    assert best_fit_decreasing(fleet, demand) == fleet


def test_held_instances_stay_where_they_are():
    """Beside one at slice 0 a 4g has no place, and a 3g has one."""
    fleet = snapshot(agent_node("node-a", SMALL, held=(0,)))
    for baseline in BASELINES.values():
        four = baseline(fleet, Demand((waiting("4g.20gb"),)))
        three = baseline(fleet, Demand((waiting("3g.20gb"),)))
        for after in (four, three):
            instances = after.nodes[0].gpus[0].geometry.instances
            assert GpuInstance(0, 1, "1g.5gb") in instances
        assert four.nodes[0].gpus[0].counts["4g.20gb"] == 0
        assert three.nodes[0].gpus[0].counts["3g.20gb"] == 1


def test_busy_gpus_of_mig_manager_are_left_alone():
    """Only a GPU that nobody holds may be cut."""
    fleet = snapshot(fleet_node("node-a", [SMALL, SMALL], [{"1g.5gb": 1}]))
    for baseline in BASELINES.values():
        after = baseline(fleet, Demand((waiting("7g.40gb", 2),)))
        assert layouts(after) == [SMALL, WHOLE]


def test_several_instances_of_a_pod_are_on_one_node():
    """Two nodes have room for one 7g each; a pod that wants two gets neither."""
    fleet = snapshot(agent_node("node-a", SMALL), agent_node("node-b", SMALL))
    demand = Demand((waiting({"7g.40gb": 2}, nodes=TWO),))
    for baseline in (first_fit, best_fit_decreasing):
        assert baseline(fleet, demand) == fleet


def test_nos_counts_nothing_as_lacking_while_one_instance_is_free():
    """Each pod is compared with all free instances as if it were alone."""
    fleet = snapshot(agent_node("node-a", HALVES), agent_node("node-b", SMALL))
    demand = Demand((waiting("3g.20gb", 4, TWO),))
    assert nos_strict(fleet, demand) == fleet
    assert layouts(nos_fixed(fleet, demand)) == [HALVES, HALVES]


def test_nos_carves_twice_for_the_same_pods():
    """A pod that fits on one node is tried again on the next, and lacks no more there."""
    fleet = snapshot(agent_node("node-a", SMALL), agent_node("node-b", SMALL))
    demand = Demand((waiting("7g.40gb", 1, TWO),))
    assert layouts(nos_strict(fleet, demand)) == [WHOLE, SMALL]
    three = Demand((waiting("3g.20gb", 3, TWO),))
    assert layouts(nos_fixed(fleet, three)) == [HALVES, HALVES]


def test_nos_prefers_many_small_instances_to_one_large():
    """Seven small pods count more than a whole GPU, repaired or not it cannot do both."""
    fleet = snapshot(agent_node("node-a", {"2g.10gb": 3, "1g.5gb": 1}, held=()))
    demand = Demand((waiting("7g.40gb"), waiting("3g.20gb", 2)))
    assert layouts(nos_strict(fleet, demand)) == [HALVES]


def test_a_score_counts_worth_prices_slices_and_nodes():
    """One whole GPU is cut for a large pod; a 4g waits on."""
    fleet = snapshot(agent_node("node-a", SMALL))
    demand = Demand((waiting("7g.40gb"), waiting("4g.20gb")))
    own = score(fleet, first_fit(fleet, demand), demand, OWN)
    assert (own.unmet_slices, own.disturbed_nodes) == (4, 1)
    assert own.objective == pytest.approx(7 * 12000.0 - 1.5 * 7 * CLOSED_S)
    nothing = score(fleet, fleet, demand, OWN)
    assert (nothing.objective, nothing.unmet_slices, nothing.disturbed_nodes) == (0.0, 11, 0)
