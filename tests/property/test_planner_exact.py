"""What holds exactly of every plan: names play no part, nothing is done twice, and whoever
holds an instance keeps it or is named."""

from collections import Counter
from dataclasses import dataclass, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.control.proposal import Sight, propose
from autoscaler.domain.cluster.objects import Node, Owner, Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.placement import fits
from autoscaler.domain.plan.plan import Plan
from autoscaler.planning.planner import make_plan
from tests.builders import NOW_S, model, node, observation, pod
from tests.fleets import config_map, entry, metrics, policy, pool, sample
from tests.property.test_planner_fleets import moments

LAYOUTS = (
    {"1g.5gb": 7},
    {"3g.20gb": 2},
    {"7g.40gb": 1},
    {"1g.5gb": 3, "4g.20gb": 1},
    {"1g.5gb": 1, "2g.10gb": 3},
)
PROFILES = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
EVICTING = {"disruption": {"eviction": {"enabled": True, "jobs": True, "unowned": True}}}
EVICTING_RULES = policy().model_validate(
    policy().model_dump(by_alias=True) | EVICTING | {"rollout": {"warmUp": "0s"}}
)


@dataclass(frozen=True)
class Cluster:
    """Nodes with their layouts, and pods with their seats as metrics show them."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    seats: tuple[tuple[str, int, str, PodRef | None], ...]
    configurations: dict

    def sight(self, random: Random | None = None) -> Sight:
        """Return it as it is seen, its lists in any order."""
        order = (lambda own: own) if random is None else (lambda o: random.sample(o, len(o)))
        samples = [
            replace(
                sample(index, None, profile, node=name, gpu_uuid=f"{name}-{index}"), pod=ref
            )
            for name, index, profile, ref in order(self.seats)
        ]
        seen = observation(
            config_maps=(config_map(self.configurations),),
            manager_nodes=frozenset(own.name for own in self.nodes),
        )
        lists = {"nodes": tuple(order(self.nodes)), "pods": tuple(order(self.pods))}
        return Sight(replace(seen, **lists), metrics(*samples))


def draw_cluster(random):
    """Return up to three nodes of up to two GPUs, pods that hold some of it, and others."""
    nodes, pods, seats, configurations = [], [], [], {}
    for number in range(random.randint(1, 3)):
        name = f"node-{number}"
        layout = [random.choice(LAYOUTS) for _ in range(random.randint(1, 2))]
        label = f"own-{number}"
        configurations[label] = [entry([i], counts) for i, counts in enumerate(layout)]
        labels = {"nvidia.com/mig.config": label, "zone": random.choice("ab")}
        nodes.append(node(name, layout, labels=labels))
        for index, counts in enumerate(layout):
            held = random.random() < 0.5
            for profile in [p for p, n in counts.items() for _ in range(n)]:
                ref = None
                if held and random.random() < 0.5:
                    own = holding(f"runs-{len(pods):02d}", profile, name, random)
                    pods.append(own)
                    ref = own.ref
                seats.append((name, index, profile, ref))
    for number in range(random.randint(1, 6)):
        own = pod(f"waits-{number:02d}", random.choice(PROFILES))
        where = random.choice([{}, {}, {"zone": "a"}, {"zone": "b"}])
        age_s = random.choice([600.0, 900.0])
        pods.append(replace(own, node_selector=where, created_s=NOW_S - age_s))
    return Cluster(tuple(nodes), tuple(pods), tuple(seats), configurations)


clusters = st.integers(0, 2**32).map(lambda seed: draw_cluster(Random(seed)))


def holding(name, profile, where, random):
    """Return a pod of a Job that runs, has for some time, and may be evicted."""
    started_s = NOW_S - random.choice([100.0, 3000.0])
    owner = Owner("Job", name, f"uid-job-{name}")
    return pod(name, profile, node=where, started_s=started_s, owner=owner)


def planned(cluster: Cluster, random: Random | None = None) -> Plan:
    """Return the plan with its blocks."""
    return propose(cluster.sight(random), EVICTING_RULES, NOW_S).plan


def renamed(cluster: Cluster, random: Random) -> tuple[Cluster, dict[str, str]]:
    """Return the cluster with other names of nodes, pods and namespaces; old ones by new."""
    nodes = _others([own.name for own in cluster.nodes], "host", random)
    names = _others([own.name for own in cluster.pods], "task", random)
    spaces = {own.ref: random.choice(["team-a", "team-b"]) for own in cluster.pods}

    def ref(old: PodRef) -> PodRef:
        return PodRef(spaces[old], names[old.name], f"uid-{names[old.name]}")

    def moved(own: Pod) -> Pod:
        new = ref(own.ref)
        where = None if own.node is None else nodes[own.node]
        return replace(own, namespace=new.namespace, name=new.name, uid=new.uid, node=where)

    def relabelled(own: Node) -> Node:
        name = nodes[own.name]
        labels = {**own.labels, "kubernetes.io/hostname": name}
        return replace(own, name=name, uid=f"uid-{name}", labels=labels)

    other = replace(
        cluster,
        nodes=tuple(map(relabelled, cluster.nodes)),
        pods=tuple(map(moved, cluster.pods)),
        seats=tuple((nodes[n], i, p, r and ref(r)) for n, i, p, r in cluster.seats),
    )
    return other, {new: old for old, new in nodes.items()}


def _others(names, stem, random):
    numbers = random.sample(range(100, 999), len(names))
    return {name: f"{stem}-{number}" for name, number in zip(names, numbers, strict=True)}


def shape(plan: Plan):
    """Return what a plan says, names left out."""
    changes = [
        (
            tuple(map(str, change.layout)),
            tuple((str(gpu.before), str(gpu.after)) for gpu in change.gpus),
            round(change.price.gain),
            round(change.price.cost),
            round(change.estimated_s),
            len(change.evictions),
            len(change.serves),
            tuple(block.reason for block in change.blocked_by),
        )
        for change in plan.changes
    ]
    return Counter(changes), Counter(n.reason for n in plan.unserved), plan.demand


@settings(max_examples=60, deadline=None)
@given(clusters, st.integers(0, 2**32))
def test_other_names_in_any_order_change_only_names(cluster, seed):
    """Of nodes, pods and namespaces; and of what lists are in which order."""
    random = Random(seed)
    other, _ = renamed(cluster, random)
    first, second = planned(cluster), planned(other, random)
    assert shape(first) == shape(second)
    assert abs(first.optimality.objective - second.optimality.objective) < 0.01
    timeless = replace(first.optimality, seconds=0.0)
    again = planned(cluster, random)
    assert replace(first, optimality=timeless) == replace(
        again, optimality=replace(again.optimality, seconds=0.0)
    )


@settings(max_examples=60, deadline=None)
@given(clusters)
def test_whoever_holds_what_is_cut_is_evicted_by_name(cluster):
    """MIG manager takes every instance of a GPU that it cuts; so nobody else is on it."""
    plan = planned(cluster)
    for change in plan.changes:
        cut = {gpu.index for gpu in change.gpus}
        on_it = {r for name, i, _, r in cluster.seats if name == change.node and i in cut and r}
        assert {eviction.pod for eviction in change.evictions} == on_it
        assert all(eviction.reason for eviction in change.evictions)


@settings(max_examples=60, deadline=None)
@given(clusters)
def test_every_state_on_the_way_is_one_that_can_be(cluster):
    """After each change: layouts that fit their GPUs, and all that run have what they hold."""
    plan = planned(cluster)
    layouts = {own.name: cluster.configurations[f"own-{own.name[-1]}"] for own in cluster.nodes}
    counts = {n: [Counts(e["mig-devices"]) for e in own] for n, own in layouts.items()}
    gone: set[PodRef] = set()
    for change in plan.changes:
        gone |= {eviction.pod for eviction in change.evictions}
        for gpu in change.gpus:
            assert counts[change.node][gpu.index] == gpu.before
            counts[change.node][gpu.index] = gpu.after
        assert counts[change.node] == list(change.layout)
        for name, gpus in counts.items():
            assert all(fits(model(), own) for own in gpus)
            for index, own in enumerate(gpus):
                seated = [p for n, i, p, r in cluster.seats if (n, i) == (name, index) and r]
                stay = [
                    p
                    for n, i, p, r in cluster.seats
                    if (n, i) == (name, index) and r and r not in gone
                ]
                assert own.covers(Counter(stay)) or not seated


def applied(fleet, plan, number):
    """Return the fleet after the first changes of a plan."""
    nodes = {own.name: own for own in fleet.nodes}
    for change in plan.changes[:number]:
        own = nodes[change.node]
        cut = {gpu.index: gpu for gpu in change.gpus}
        gpus = tuple(
            replace(g, counts=cut[g.index].after, geometry=cut[g.index].placements_after)
            if g.index in cut
            else g
            for g in own.gpus
        )
        nodes[change.node] = replace(own, gpus=gpus, supply=change.resources)
    return replace(fleet, nodes=tuple(nodes[own.name] for own in fleet.nodes))


@settings(max_examples=40, deadline=None)
@given(moments())
def test_a_plan_of_any_fleet_applied_and_planned_again_is_empty(moment):
    """By both drivers; what a plan makes of a fleet is what the next plan wants."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    plan = make_plan(fleet, demand, own, NOW_S)
    again = make_plan(applied(fleet, plan, len(plan.changes)), demand, own, NOW_S)
    assert again.changes == ()


@settings(max_examples=25, deadline=None)
@given(moments())
def test_a_plan_that_is_half_done_is_gone_on_with(moment):
    """What is done already is not undone, and the end is worth as much."""
    fleet, demand, driver = moment
    own = policy(pool(driver=driver))
    plan = make_plan(fleet, demand, own, NOW_S)
    half = len(plan.changes) // 2
    done = {change.node for change in plan.changes[:half]}
    rest = make_plan(applied(fleet, plan, half), demand, own, NOW_S)
    assert not done & {change.node for change in rest.changes}
