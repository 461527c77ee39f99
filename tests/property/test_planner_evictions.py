"""Plans that may evict, against exhaustive search: who leaves, for what, at which price.

The search knows nothing of programs: it tries every layout of every GPU, evicts whoever
is in its way, and puts all pods that then wait where they are worth most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import layouts, maximal_layouts, multisets
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, fleet_node, gpu, holder, model, snapshot, waiting
from tests.fleets import policy, pool

A30 = "a30-24gb"
NAMES = ("node-a", "node-b")
SLICES = {"1g.6gb": 1, "2g.12gb": 2, "4g.24gb": 4}
RESOURCES = {f"nvidia.com/mig-{name}": number for name, number in SLICES.items()}
# Seconds that a node is closed: what MIG manager takes by default, and the agent.
CLOSED_S = {Driver.MIG_MANAGER: 270.0, Driver.AGENT: 70.0}
HORIZON_S, RESTART_S, MARGIN = 12000.0, 60.0, 1.5
BUDGET = "default/serve"


@dataclass(frozen=True)
class Moment:
    """A fleet with those who hold it and those who wait."""

    fleet: Snapshot
    demand: Demand
    driver: Driver


@dataclass(frozen=True)
class Way:
    """What one GPU may become, and who leaves for it; nobody and nothing by default."""

    after: Counts | None = None
    leaving: tuple[Holder, ...] = ()


@st.composite
def holders(draw: st.DrawFn, node: str, own: Gpu) -> tuple[Holder, ...]:
    """Draw who holds the instances of a GPU; some may not be evicted."""
    found = []
    assert own.pinned is not None
    for place, instance in enumerate(own.pinned.instances):
        name = f"serve-{node}-{own.index}-{place}"
        refused = PodNote(PodRef("default", name), Reason.EVICTION_DISABLED, "off")
        found.append(
            holder(
                name,
                instance.profile,
                node,
                own.index,
                places=Geometry((instance,)),
                refusal=draw(st.sampled_from([None, None, None, refused])),
                lost_work_s=draw(st.sampled_from([0.0, 100.0, 4000.0, 30000.0])),
                grace_s=draw(st.sampled_from([0.0, 30.0, 600.0])),
                weight=draw(st.sampled_from([1.0, 1.0, 0.25])),
                eligible=frozenset(draw(st.sampled_from([NAMES, NAMES, (node,)]))),
                budgets=draw(st.sampled_from([(), (BUDGET,)])),
            )
        )
    return tuple(found)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    """Draw up to three A30 GPUs, mostly in use, and up to three pods that wait."""
    driver = draw(st.sampled_from(list(Driver)))
    every = maximal_layouts(model(A30), model(A30).plain_names)
    nodes, all_holders, most = [], [], 4
    for name, size in zip(NAMES, draw(st.sampled_from([(1, 1), (2,), (2, 1)])), strict=False):
        gpus = []
        for index in range(size):
            geometry = draw(st.sampled_from(every))
            held = tuple(i for i in geometry.instances if draw(st.integers(0, 3)) and most > 0)
            most -= len(held)
            counts = Geometry(held).counts
            own = gpu(index, geometry.counts, counts, geometry=geometry, pinned=Geometry(held))
            gpus.append(own)
            all_holders += draw(holders(name, own))
        layout, used = [g.counts for g in gpus], [g.held for g in gpus]
        nodes.append(fleet_node(name, layout, used, key=A30, gpus=tuple(gpus), driver=driver))
    groups = []
    for index in range(draw(st.integers(1, 2))):
        group = waiting(
            draw(st.sampled_from([*SLICES, "4g.24gb"])),
            draw(st.integers(1, 2 - index)),
            draw(st.sampled_from([NAMES, NAMES, NAMES[:1]])),
            weight=draw(st.sampled_from([1.0, 3.0])),
            prefix=f"group-{index}",
        )
        groups.append(group)
    demand = Demand(
        tuple(groups),
        holders=tuple(sorted(all_holders, key=lambda h: h.pod)),
        room={BUDGET: draw(st.integers(0, 2))},
    )
    return Moment(snapshot(*nodes), demand, driver)


def ways_of(moment: Moment, node: FleetNode, own: Gpu) -> Iterator[Way]:
    """Yield all that a GPU may become, staying as it is first."""
    yield Way()
    held_by = [h for h in moment.demand.holders if (h.node, h.gpu) == (node.name, own.index)]
    if moment.driver is Driver.MIG_MANAGER:
        if all(h.may_be_evicted for h in held_by):
            for counts in multisets(model(A30), model(A30).plain_names):
                # Whoever evicts only to have fewer of the same has no need of a cut.
                if not own.counts.covers(counts):
                    yield Way(counts, tuple(held_by))
        return
    seen = set()
    for geometry in layouts(model(A30), model(A30).plain_names):
        kept = set(geometry.instances)
        leaving = tuple(h for h in held_by if not kept >= set(h.places.instances))
        way = Way(geometry.counts, leaving)
        is_change = leaving or way.after != own.counts
        if is_change and way not in seen and all(h.may_be_evicted for h in leaving):
            seen.add(way)
            yield way


def slices_of(bundle: Counts) -> int:
    """Return the compute slices of amounts by resource."""
    return sum(RESOURCES[name] * number for name, number in bundle.items())


def shares_on(moment: Moment, node: FleetNode) -> dict[str, float]:
    """Return the share of a node's free instances that waiting pods would take."""
    shares = {}
    for name in RESOURCES:
        used = 0.0
        for group in moment.demand.groups:
            free = sum(n.free[name] for n in moment.fleet.nodes if n.name in group.eligible)
            if node.name in group.eligible and free:
                used += group.bundle[name] * group.number / free
        shares[name] = min(1.0, used)
    return shares


def price(moment: Moment, node: FleetNode, ways: Sequence[Way]) -> float:
    """Return what changing some GPUs of a node must gain."""
    closed_s, shares = CLOSED_S[moment.driver], shares_on(moment, node)

    def used(free: Counts) -> float:
        return sum(n * RESOURCES[name] * shares[name] for name, n in free.items())

    elsewhere = used(node.free)
    total = closed_s * elsewhere
    for own, way in zip(node.gpus, ways, strict=True):
        if way.after is None:
            continue
        free = supply_of([own.counts.minus(own.held)])
        idle = 4 - slices_of(supply_of([own.held])) - used(free)
        leaving = sum(slices_of(h.bundle) for h in way.leaving)
        wait_s = max((h.grace_s for h in way.leaving), default=0.0)
        total += closed_s * (idle + leaving)
        total += wait_s * (idle + elsewhere) if way.leaving else 0.0
        for leaver in way.leaving:
            own_s = wait_s - leaver.grace_s + leaver.lost_work_s + leaver.grace_s + RESTART_S
            total += slices_of(leaver.bundle) * own_s
    return MARGIN * total


Pod = tuple[Counts, frozenset[str], float]


def serve(pods: Sequence[Pod], free: dict[str, Counts], known: dict) -> float:
    """Return the most that placing pods one after the other is worth, by trying all ways."""
    key = (tuple(pods), tuple(sorted(free.items(), key=lambda item: item[0])))
    if key not in known:
        known[key] = 0.0
        if pods:
            bundle, eligible, weight = pods[0]
            best = serve(pods[1:], free, known)
            for name in sorted(eligible & free.keys()):
                if free[name].covers(bundle):
                    left = {**free, name: free[name].minus(bundle)}
                    worth = HORIZON_S * weight * slices_of(bundle)
                    best = max(best, worth + serve(pods[1:], left, known))
            known[key] = best
    return known[key]


def best_by_search(moment: Moment) -> float:
    """Return the worth of the best plan, by trying all of them."""
    waiting_pods = [
        (g.bundle, g.eligible, g.weight) for g in moment.demand.groups for _ in g.pods
    ]
    places = [(node, own) for node in moment.fleet.nodes for own in node.gpus]
    best, known = float("-inf"), {}
    for chosen in product(*[list(ways_of(moment, *place)) for place in places]):
        evicted = [h for way in chosen for h in way.leaving]
        if sum(1 for h in evicted if h.budgets) > moment.demand.room[BUDGET]:
            continue
        cost, free = 0.0, {}
        for node in moment.fleet.nodes:
            own = [w for (n, _), w in zip(places, chosen, strict=True) if n is node]
            free[node.name] = node.free
            if any(way.after is not None for way in own):
                cost += price(moment, node, own)
            for cut, way in zip(node.gpus, own, strict=True):
                if way.after is not None:
                    gone = supply_of([h.held for h in way.leaving])
                    before, after = supply_of([cut.counts]), supply_of([way.after])
                    free[node.name] = free[node.name].plus(gone).plus(after).minus(before)
        again = [(h.bundle, h.eligible, h.weight) for h in evicted]
        cost += sum(HORIZON_S * weight * slices_of(bundle) for bundle, _, weight in again)
        best = max(best, serve([*waiting_pods, *again], free, known) - cost)
    return best


@settings(max_examples=40)
@given(moments())
def test_a_plan_with_evictions_is_worth_what_exhaustive_search_finds(moment):
    """To the last slice-second, for both drivers, within the disruption budgets."""
    plan = make_plan(moment.fleet, moment.demand, policy(pool(driver=moment.driver)), NOW_S)
    assert plan.optimality is not None
    assert abs(plan.optimality.objective - best_by_search(moment)) < 0.01


@settings(max_examples=40)
@given(moments())
def test_who_is_evicted_may_be_evicted_and_is_named(moment):
    """Nobody else loses an instance, and no budget is overdrawn."""
    plan = make_plan(moment.fleet, moment.demand, policy(pool(driver=moment.driver)), NOW_S)
    by_name = {h.pod: h for h in moment.demand.holders}
    evicted = [by_name[e.pod] for change in plan.changes for e in change.evictions]
    assert len({h.pod for h in evicted}) == len(evicted)
    assert all(h.may_be_evicted for h in evicted)
    assert sum(1 for h in evicted if h.budgets) <= moment.demand.room[BUDGET]
    for change in plan.changes:
        gone = {h.pod for h in evicted if h.node == change.node}
        for cut in change.gpus:
            staying = [
                h
                for h in moment.demand.holders
                if (h.node, h.gpu) == (change.node, cut.index) and h.pod not in gone
            ]
            assert cut.after.covers(
                Geometry(tuple(h.places.instances[0] for h in staying)).counts
            )
            if moment.driver is Driver.MIG_MANAGER:
                assert not staying
            else:
                after = set(cut.placements_after.instances)
                assert all(set(h.places.instances) <= after for h in staying)


@settings(max_examples=40)
@given(moments())
def test_evictions_that_are_allowed_never_make_a_plan_worse(moment):
    """Who may not be evicted leaves fewer ways, and none of them is better."""
    own = policy(pool(driver=moment.driver))
    off = PodNote(PodRef("default", "x"), Reason.EVICTION_DISABLED, "off")
    protected = tuple(replace(h, refusal=off) for h in moment.demand.holders)
    plan = make_plan(moment.fleet, moment.demand, own, NOW_S)
    without = make_plan(moment.fleet, replace(moment.demand, holders=protected), own, NOW_S)
    assert all(change.evictions == () for change in without.changes)
    assert without.optimality.objective <= plan.optimality.objective + 0.01
