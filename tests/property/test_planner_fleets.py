"""Plans for fleets too large for exhaustive search: sums, bounds and what is kept."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.placement import is_valid
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.baselines.score import BASELINES, score
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.optimizer import settle
from autoscaler.planning.program.problem import state_problem
from autoscaler.planning.solving.answer import SolverLimits
from autoscaler.planning.solving.scipy_highs import solve_with_scipy
from benchmarks.drawing import draw_fleet
from tests.builders import NOW_S, fleet_node, model, snapshot, waiting
from tests.fleets import policy, pool

ASKED = [
    {"1g.5gb": 1},
    {"2g.10gb": 1},
    {"3g.20gb": 1},
    {"4g.20gb": 1},
    {"7g.40gb": 1},
    {"1g.5gb": 2, "3g.20gb": 1},
    {"7g.40gb": 2},
]


def draw_manager_fleet(random: Random, num_nodes: int, size: int) -> Snapshot:
    """Return nodes of MIG manager; about half of the GPUs are idle."""
    layouts = [dict(counts) for counts in maximal_multisets(model(), model().plain_names)]
    nodes = []
    for index in range(num_nodes):
        layout = [random.choice(layouts) for _ in range(size)]
        held = [
            {} if random.random() < 0.5 else {p: random.randint(0, n) for p, n in own.items()}
            for own in layout
        ]
        nodes.append(fleet_node(f"node-{index}", layout, held))
    return snapshot(*nodes)


def draw_agent_fleet(random: Random, num_nodes: int, size: int) -> Snapshot:
    """Return nodes of the agent with instances in use on most GPUs."""
    fleet = draw_fleet(num_nodes * size, size, random)
    nodes = tuple(replace(node, pool="pool") for node in fleet.nodes)
    return replace(fleet, nodes=nodes, pools_total={"pool": num_nodes})


def draw_demand(random: Random, fleet: Snapshot) -> Demand:
    """Return groups of pods, some of which may not run everywhere."""
    names = [node.name for node in fleet.nodes]
    groups = []
    for index in range(random.randint(1, 6)):
        own = names if random.random() < 0.5 else random.sample(names, 1 + len(names) // 2)
        number = random.randint(1, 6)
        group = waiting(random.choice(ASKED), number, own, prefix=f"group-{index}")
        if random.random() < 0.2:
            group = replace(group, gang=f"default/gang-{index}", gang_min=number)
        groups.append(replace(group, weight=random.choice([1.0, 1.0, 3.0])))
    return Demand(tuple(groups))


@st.composite
def moments(draw: st.DrawFn) -> tuple[Snapshot, Demand, Driver]:
    """Draw a fleet of either driver, and what is asked of it."""
    random = Random(draw(st.integers(0, 2**32)))
    num_nodes, size = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    driver = draw(st.sampled_from(list(Driver)))
    draw_own = draw_agent_fleet if driver is Driver.AGENT else draw_manager_fleet
    fleet = draw_own(random, num_nodes, size)
    return fleet, draw_demand(random, fleet), driver


@settings(max_examples=25)
@given(moments())
def test_gains_and_costs_add_up_to_the_worth_of_the_plan(moment):
    """What each change says of itself is, in all, what the program says of the plan."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    plan = make_plan(fleet, demand, own, NOW_S)
    unchanged = settle(state_problem(fleet, demand, own, NOW_S).mix).unchanged
    prices = [change.price for change in plan.changes]
    gained = sum(price.gain - price.cost - price.churn for price in prices)
    assert gained >= 0
    assert abs(plan.optimality.objective - unchanged.objective - gained) < 0.01
    assert plan.optimality.objective <= plan.optimality.bound + 0.01


@settings(max_examples=25)
@given(moments())
def test_whoever_holds_an_instance_keeps_it(moment):
    """MIG manager's GPUs in use stay whole, the agent's held instances keep their place."""
    fleet, demand, driver = moment
    plan = make_plan(fleet, demand, policy(pool(driver=driver)), NOW_S)
    for change in plan.changes:
        node = fleet.node(change.node)
        for cut in change.gpus:
            gpu = node.gpus[cut.index]
            assert cut.before == gpu.counts
            assert cut.after.covers(gpu.held)
            if driver is Driver.AGENT:
                assert set(gpu.pinned.instances) <= set(cut.placements_after.instances)
                assert is_valid(node.model, cut.placements_after)
            else:
                assert gpu.is_idle


@settings(max_examples=25)
@given(moments())
def test_what_a_node_will_offer_follows_from_its_layout(moment):
    """Nothing that pods hold is missing from it, and changed GPUs are all that changes."""
    fleet, demand, driver = moment
    plan = make_plan(fleet, demand, policy(pool(driver=driver)), NOW_S)
    for change in plan.changes:
        node = fleet.node(change.node)
        assert change.resources.covers(node.allocated)
        changed = {cut.index for cut in change.gpus}
        assert changed
        for gpu, counts in zip(node.gpus, change.layout, strict=True):
            assert (counts != gpu.counts) == (gpu.index in changed)


@settings(max_examples=25)
@given(moments())
def test_each_served_pod_is_named_once(moment):
    """A pod is served by one change, and none of these is unserved."""
    fleet, demand, driver = moment
    plan = make_plan(fleet, demand, policy(pool(driver=driver)), NOW_S)
    served = [pod for change in plan.changes for pod in change.serves]
    assert len(served) == len(set(served))
    unserved = {note.pod for note in plan.unserved}
    assert not unserved & set(served)
    everyone = {pod for group in demand.groups for pod in group.pods}
    assert set(served) | unserved <= everyone


@settings(max_examples=25)
@given(moments())
def test_a_coarse_gap_is_still_a_true_one(moment):
    """A plan stopped early lies within the gap that it reports."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    coarse = PlannerSettings(limits=SolverLimits(gap=0.2, small_gap=0.2))
    plan = make_plan(fleet, demand, own, NOW_S, coarse)
    best = make_plan(fleet, demand, own, NOW_S)
    assert plan.optimality.objective <= best.optimality.objective + 0.01
    assert best.optimality.objective <= plan.optimality.bound + 0.01
    assert plan.optimality.gap <= 0.2


@settings(max_examples=15)
@given(moments())
def test_the_other_backend_finds_plans_of_the_same_worth(moment):
    """SciPy's solver stands in where highspy does not load."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    plan = make_plan(fleet, demand, own, NOW_S)
    other = make_plan(fleet, demand, own, NOW_S, PlannerSettings(solver=solve_with_scipy))
    assert abs(plan.optimality.objective - other.optimality.objective) < 0.01
    assert abs(plan.optimality.bound - other.optimality.bound) < 0.01
    assert other.optimality.gap == 0


@settings(max_examples=25)
@given(moments())
def test_more_capacity_is_never_worth_less(moment):
    """An idle node beside the others adds to the worth of the plan, or changes nothing."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    extra = fleet_node("node-extra", [{"1g.5gb": 7}], driver=driver)
    more = replace(fleet, nodes=(*fleet.nodes, extra), pools_total={"pool": 99})
    groups = tuple(
        replace(group, eligible=group.eligible | {"node-extra"}) for group in demand.groups
    )
    plan = make_plan(fleet, demand, own, NOW_S)
    larger = make_plan(more, replace(demand, groups=groups), own, NOW_S)
    assert plan.optimality.objective <= larger.optimality.objective + 0.01


@settings(max_examples=25)
@given(moments())
def test_a_plan_is_never_worse_than_greedy_planners_and_nos(moment):
    """Up to its gap, at the same prices; and none of them is better than the bound."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    plan = make_plan(fleet, demand, own, NOW_S)
    optimality = plan.optimality
    allowed = optimality.gap * abs(optimality.bound) + 0.01
    for baseline in BASELINES.values():
        other = score(fleet, baseline(fleet, demand), demand, own)
        assert other.objective <= optimality.objective + allowed
        assert other.objective <= optimality.bound + 0.01
