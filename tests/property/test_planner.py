"""The planner against exhaustive search, and what must hold of every plan."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.mig.layouts import maximal_multisets, multisets
from autoscaler.domain.mig.resource import parse_resource, supply_of
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, fleet_node, model, snapshot, waiting
from tests.fleets import policy

A30 = "a30-24gb"
NAMES = ("node-a", "node-b")
# Seconds that a node is closed by the default policy: 120 for kubelet to copy the
# configuration, 120 for MIG manager, 30 to settle.
CLOSED_S = 270.0
HORIZON_S = 12000.0
# What a change must gain, as a multiple of its cost.
MARGIN = 1.5


@st.composite
def fleets(draw: st.DrawFn) -> Snapshot:
    """Draw up to three A30 GPUs on one or two nodes, partly in use."""
    gpu_model = model(A30)
    layouts = [dict(counts) for counts in maximal_multisets(gpu_model, gpu_model.plain_names)]
    sizes = draw(st.sampled_from([(1,), (2,), (3,), (1, 1), (1, 2), (2, 1)]))
    nodes = []
    for name, size in zip(NAMES, sizes, strict=False):
        layout = [draw(st.sampled_from(layouts)) for _ in range(size)]
        held = [
            {profile: draw(st.integers(0, number)) for profile, number in counts.items()}
            if draw(st.booleans())
            else {}
            for counts in layout
        ]
        nodes.append(fleet_node(name, layout, held, key=A30))
    return snapshot(*nodes)


BUNDLES = st.sampled_from(
    [{"1g.6gb": 1}, {"2g.12gb": 1}, {"4g.24gb": 1}, {"1g.6gb": 3}, {"1g.6gb": 1, "2g.12gb": 1}]
)


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    """Draw up to three groups with at most four pods in all."""
    groups, left = [], 4
    for index in range(draw(st.integers(0, 3))):
        number = draw(st.integers(1, 2))
        if number > left:
            break
        left -= number
        group = waiting(
            draw(BUNDLES),
            number,
            draw(st.sampled_from([NAMES, NAMES[:1], NAMES[1:]])),
            weight=draw(st.sampled_from([1.0, 2.5])),
            prefix=f"group-{index}",
        )
        if draw(st.integers(0, 3)) == 0:
            group = replace(group, gang=f"default/gang-{index}", gang_min=number)
        groups.append(group)
    return Demand(tuple(groups))


def slices(name: str) -> int:
    """Return the compute slices of a resource of an A30."""
    gpu_model = model(A30)
    profile = gpu_model.profile(parse_resource(gpu_model, name) or "")
    assert profile is not None
    return profile.compute_slices


def total_slices(amounts: Counts) -> int:
    """Return the compute slices of amounts by resource."""
    return sum(slices(name) * number for name, number in amounts.items())


def pods_of(demand: Demand) -> list[DemandGroup]:
    """Return the group of each pod."""
    return [group for group in demand.groups for _ in group.pods]


def serve(demand: Demand, free: dict[str, Counts]) -> float:
    """Return the most that placing pods on free instances is worth, by trying all ways."""
    pods = pods_of(demand)
    best = 0.0
    places = [[None, *sorted(group.eligible & free.keys())] for group in pods]
    for chosen in product(*places):
        used: dict[str, Counts] = {}
        for group, name in zip(pods, chosen, strict=True):
            if name is not None:
                used[name] = used.get(name, Counts()).plus(group.bundle)
        if any(not free[name].covers(amounts) for name, amounts in used.items()):
            continue
        started = {g.gang: 0 for g in pods}
        for group, name in zip(pods, chosen, strict=True):
            started[group.gang] += name is not None
        if any(g.gang and 0 < started[g.gang] < g.gang_min for g in pods):
            continue
        worth = sum(
            HORIZON_S * group.weight * total_slices(group.bundle)
            for group, name in zip(pods, chosen, strict=True)
            if name is not None
        )
        best = max(best, worth)
    return best


def share(demand: Demand, fleet: Sequence[FleetNode], node: FleetNode, resource: str) -> float:
    """Return the share of a node's free instances that waiting pods would take."""
    used = 0.0
    for group in demand.groups:
        if node.name in group.eligible:
            free = sum(n.free[resource] for n in fleet if n.name in group.eligible)
            used += group.bundle[resource] * group.number / free if free else 0.0
    return min(1.0, used)


def price(
    demand: Demand, fleet: Sequence[FleetNode], node: FleetNode, cut: Sequence[int]
) -> float:
    """Return what re-cutting some GPUs of a node must gain."""
    lost = 0.0
    for resource, number in node.free.items():
        elsewhere = number - sum(supply_of([node.gpus[i].counts])[resource] for i in cut)
        lost += elsewhere * slices(resource) * share(demand, fleet, node, resource)
    return MARGIN * CLOSED_S * (len(cut) * model(A30).compute_slices + lost)


def ways(node: FleetNode) -> Iterator[list[Counts]]:
    """Yield every layout a node may have: idle GPUs as they please, others as they are."""
    gpu_model = model(A30)
    every = multisets(gpu_model, gpu_model.plain_names)
    yield from map(list, product(*[every if g.is_idle else (g.counts,) for g in node.gpus]))


def best_by_search(fleet: Snapshot, demand: Demand) -> float:
    """Return the worth of the best plan, by trying all of them."""
    best = float("-inf")
    for layouts in product(*[list(ways(node)) for node in fleet.nodes]):
        cost, free = 0.0, {}
        for node, layout in zip(fleet.nodes, layouts, strict=True):
            cut = [i for i, counts in enumerate(layout) if counts != node.gpus[i].counts]
            if cut:
                cost += price(demand, fleet.nodes, node, cut)
            before = supply_of([node.gpus[i].counts for i in cut])
            free[node.name] = node.free.plus(supply_of([layout[i] for i in cut])).minus(before)
        best = max(best, serve(demand, free) - cost)
    return best


@settings(max_examples=40)
@given(fleets(), demands())
def test_a_plan_is_worth_what_exhaustive_search_finds(fleet, demand):
    """On small fleets the plan is the best one there is, to the last slice-second."""
    plan = make_plan(fleet, demand, policy(), NOW_S)
    assert plan.optimality is not None
    assert abs(plan.optimality.objective - best_by_search(fleet, demand)) < 0.01


def applied(fleet: Snapshot, plan) -> Snapshot:
    """Return the fleet after all changes of a plan."""
    changes = {change.node: change for change in plan.changes}
    nodes = []
    for node in fleet.nodes:
        change = changes.get(node.name)
        if change is not None:
            gpus = tuple(
                replace(gpu, counts=counts)
                for gpu, counts in zip(node.gpus, change.layout, strict=True)
            )
            node = replace(node, gpus=gpus, supply=change.resources)
        nodes.append(node)
    return replace(fleet, nodes=tuple(nodes))


@given(fleets(), demands())
def test_a_plan_gains_what_it_costs_and_says_how(fleet, demand):
    """The terms of all changes add up to the difference to doing nothing."""
    plan = make_plan(fleet, demand, policy(), NOW_S)
    prices = [change.price for change in plan.changes]
    gained = sum(price.gain - price.cost - price.churn for price in prices)
    assert gained >= 0
    nothing = serve(demand, {node.name: node.free for node in fleet.nodes})
    assert abs(plan.optimality.objective - nothing - gained) < 0.01


@given(fleets(), demands())
def test_held_instances_are_never_removed(fleet, demand):
    """No change touches a GPU of which a pod holds an instance."""
    plan = make_plan(fleet, demand, policy(), NOW_S)
    for change in plan.changes:
        node = fleet.node(change.node)
        assert all(node.gpus[gpu.index].is_idle for gpu in change.gpus)


@given(fleets(), demands())
def test_a_plan_applied_and_planned_again_is_empty(fleet, demand):
    """What a plan makes of a fleet is what the next plan wants."""
    plan = make_plan(fleet, demand, policy(), NOW_S)
    again = make_plan(applied(fleet, plan), demand, policy(), NOW_S)
    assert again.changes == ()


@given(fleets(), demands())
def test_planning_twice_gives_the_same_plan(fleet, demand):
    """Nothing but the solver's seconds differs between two runs."""
    first, second = (make_plan(fleet, demand, policy(), NOW_S) for _ in range(2))
    timeless = replace(second.optimality, seconds=first.optimality.seconds)
    assert first == replace(second, optimality=timeless)


@given(fleets(), demands())
def test_other_node_names_give_the_same_plan(fleet, demand):
    """Swapping the names of nodes changes nothing else."""
    swap = {"node-a": "node-b", "node-b": "node-a"}
    nodes = tuple(
        replace(node, node=replace(node.node, name=swap[node.name])) for node in fleet.nodes
    )
    groups = tuple(
        replace(group, eligible=frozenset(swap[name] for name in group.eligible))
        for group in demand.groups
    )
    renamed = make_plan(
        replace(fleet, nodes=tuple(sorted(nodes, key=lambda node: node.name))),
        replace(demand, groups=groups),
        policy(),
        NOW_S,
    )
    plan = make_plan(fleet, demand, policy(), NOW_S)
    assert abs(renamed.optimality.objective - plan.optimality.objective) < 0.01
    shapes = [
        sorted(tuple(c.layout) and [str(counts) for counts in c.layout] for c in own.changes)
        for own in (plan, renamed)
    ]
    assert shapes[0] == shapes[1]


@given(fleets(), demands())
def test_every_pod_is_served_or_has_a_reason(fleet, demand):
    """Pods without a reason are just those that the plan or the fleet serves."""
    plan = make_plan(fleet, demand, policy(), NOW_S)
    unserved = {note.pod for note in plan.unserved}
    assert all(note.message for note in plan.unserved)
    left = tuple(
        replace(group, pods=tuple(pod for pod in group.pods if pod not in unserved))
        for group in demand.groups
    )
    served = replace(demand, groups=tuple(group for group in left if group.pods))
    everything = sum(
        HORIZON_S * group.weight * total_slices(group.bundle) for group in pods_of(served)
    )
    free = {node.name: node.free for node in applied(fleet, plan).nodes}
    assert abs(serve(served, free) - everything) < 0.01
