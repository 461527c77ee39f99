"""Whatever nodes and pods say, there is a view of the fleet, and never a guess."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.cluster.objects import Container, Gang, Node, Pod, Quota, Taint
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.fingerprint import digest
from autoscaler.domain.demand.requests import demand_of
from autoscaler.domain.fleet.assessment import Memory, assess, remember
from tests.builders import NOW_S, model, observation
from tests.fleets import config_map, entry, inventory, metrics, policy, pool, sample

PRODUCTS = (
    "NVIDIA-A100-SXM4-40GB",
    "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
    "NVIDIA-A100-SXM4-40GB-MIG-INVALID",
    "NVIDIA-A100-SXM4-40GB-SHARED",
    "NVIDIA-GB200",
    "NVIDIA-X999",
    "",
)
LABELS = {
    "nvidia.com/gpu.product": PRODUCTS,
    "nvidia.com/gpu.count": ("1", "2", "0", "-1", "two", ""),
    "nvidia.com/gpu.memory": ("40960", "0", "x"),
    "nvidia.com/mig.strategy": ("mixed", "single", "none", "odd"),
    "nvidia.com/mig.config": ("all-1g.5gb", "all-disabled", "mine", "gone", ""),
    "nvidia.com/mig.config.state": ("success", "pending", "failed", "odd"),
    "nvidia.com/gpu.deploy.device-plugin": ("true", "paused-for-mig-change"),
    "nvidia.com/mig-1g.5gb.replicas": ("1", "4"),
    "region": ("east", "west"),
}
RESOURCES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/mig-1g.5gb.me",
    "nvidia.com/mig-3g.20gb",
    "nvidia.com/mig-7g.40gb",
    "nvidia.com/mig-1g.11gb",
    "nvidia.com/hostdev",
)
ANNOTATIONS = {
    "mig-autoscaler.io/hold": ("true", "false", "why"),
    "mig-autoscaler.io/reserved": ("true",),
    "mig-autoscaler.io/rollout": ("{}", "x"),
    "mig-autoscaler.io/quarantine": ("clear", "x", "{}"),
    "mig-autoscaler.io/inventory": (
        "{}",
        *inventory([{"1g.5gb": 7}, None]).values(),
        *inventory([{"3g.20gb": 2}], pods={0: "default/p0"}).values(),
    ),
    "hami.io/node-nvidia-register": ("x",),
}
NAMES = ("n0", "n1", "n2")
amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 15), max_size=3).map(
    Counts
)


def some(choices):
    """Draw some keys with one of their values each."""
    one = {key: st.sampled_from(values) for key, values in choices.items()}
    return st.fixed_dictionaries({}, optional=one)


@st.composite
def nodes(draw):
    """Draw a node that may contradict itself in many ways."""
    allocatable = draw(amounts)
    return Node(
        name=draw(st.sampled_from(NAMES)),
        uid=draw(st.sampled_from(["", "u1", "u2"])),
        created_s=draw(st.sampled_from([0.0, NOW_S - 9.0, NOW_S + 9.0])),
        labels=draw(some(LABELS)),
        annotations=draw(some(ANNOTATIONS)),
        taints=draw(st.sampled_from([(), (Taint("karpenter.sh/disrupted", "NoSchedule"),)])),
        unschedulable=draw(st.booleans()),
        ready=draw(st.sampled_from([True, False, None])),
        allocatable=allocatable,
        capacity=draw(st.sampled_from([allocatable, Counts()]) | amounts),
        faults=draw(st.sampled_from([(), ("odd",)])),
    )


@st.composite
def pods(draw):
    """Draw a pod in any phase, on any node or none."""
    containers = draw(st.lists(amounts, min_size=1, max_size=2))
    return Pod(
        namespace=draw(st.sampled_from(["default", "gpu-operator"])),
        name=draw(st.sampled_from([f"p{i}" for i in range(9)])),
        node=draw(st.sampled_from([None, None, *NAMES, "gone"])),
        phase=draw(st.sampled_from(["Pending", "Running", "Failed", "Succeeded"])),
        reason=draw(st.sampled_from(["", "UnexpectedAdmissionError"])),
        created_s=NOW_S - draw(st.integers(0, 900)),
        deletion_s=draw(st.sampled_from([None, NOW_S])),
        containers=tuple(
            Container(f"c{i}", a, init=draw(st.booleans())) for i, a in enumerate(containers)
        ),
        nominated_node=draw(st.sampled_from(["", *NAMES])),
        gang=draw(st.sampled_from([None, Gang("g", 0), Gang("g", 3)])),
        anti_affinity_self=draw(st.booleans()),
        gpu_runtime=draw(st.booleans()),
        faults=draw(st.sampled_from([(), (), ("nvidia.com/gpu = '-1': negative",)])),
    )


seen_instances = st.builds(
    sample,
    index=st.integers(0, 3),
    pod=st.sampled_from([None, "p0", "p1"]),
    profile=st.sampled_from(["1g.5gb", "1g.6gb", "3g.20gb", ""]),
    node=st.sampled_from(NAMES),
    busy=st.sampled_from([True, False, None]),
    gpu_index=st.sampled_from([0, 1, None]),
)
POLICIES = (
    policy(),
    policy(pool("a", node_selector={"region": "east"}, reserve={"full_gpu_nodes": 2})),
    policy(pool("a", node_selector={"region": "east"}), pool("b", profiles=("1g.5gb",))),
)


@st.composite
def clusters(draw):
    """Draw an observation, a policy and metrics."""
    found = {p.ref: p for p in draw(st.lists(pods(), max_size=9))}
    seen = observation(
        config_maps=(config_map({"mine": [entry("all", {"3g.20gb": 2})]}),),
        quotas=(Quota("default", "q", Counts({"nvidia.com/mig-1g.5gb": 2}), Counts()),),
        mig_config_map=draw(st.sampled_from([None, "default-mig-parted-config"])),
        offline=draw(st.booleans()),
    )
    fleet = tuple(draw(st.lists(nodes(), max_size=4)))
    view = draw(st.none() | st.lists(seen_instances, max_size=4).map(lambda s: metrics(*s)))
    rules = draw(st.sampled_from(POLICIES))
    return replace(seen, nodes=fleet, pods=tuple(found.values())), rules, view


@given(clusters())
def test_every_cluster_has_a_view_with_a_reason_for_every_no(cluster):
    """No node is left out in silence and no pod counted twice."""
    seen, rules, view = cluster
    fleet = assess(seen, rules, view, NOW_S)
    named = {hold.node for hold in fleet.holds}
    for node in fleet.nodes:
        assert node.is_changeable or node.name in named
        assert node.node.allocatable.covers(node.supply)
        assert not (node.reserved and node.is_changeable and is_whole(node))
        for gpu in node.gpus:
            assert gpu.is_idle or gpu.counts.covers(gpu.held) or not is_cut(gpu)
    demand = demand_of(fleet, seen, rules, view, NOW_S)
    counted = [ref for group in demand.groups for ref in group.pods]
    notes = [note.pod for note in (*demand.ignored, *demand.impossible)]
    assert len({*counted, *notes}) == len(counted) + len(notes)
    assert all(group.eligible and group.bundle for group in demand.groups)
    assert {note.pod for note in demand.fits_today} <= set(counted)


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_what_the_api_says_does_not_matter(cluster, chance):
    """Same facts, same fingerprint."""
    seen, rules, view = cluster
    mixed_nodes, mixed_pods = list(seen.nodes), list(seen.pods)
    chance.shuffle(mixed_nodes)
    chance.shuffle(mixed_pods)
    mixed = replace(seen, nodes=tuple(mixed_nodes), pods=tuple(mixed_pods))
    prints = []
    for one in (seen, mixed):
        fleet = assess(one, rules, view, NOW_S)
        prints.append((digest(fleet, demand_of(fleet, one, rules, view, NOW_S)), fleet.holds))
    assert prints[0] == prints[1]


@given(clusters())
def test_metrics_only_add_holders_where_they_are_not_known(cluster):
    """A GPU that is idle by metrics is idle because all holders sit elsewhere."""
    seen, rules, view = cluster
    blind = {n.name: n for n in assess(seen, rules, None, NOW_S).nodes}
    for node in assess(seen, rules, view, NOW_S).nodes:
        before = blind[node.name]
        if not node.holders and not before.holders:
            assert all(gpu.is_idle for gpu in before.gpus)
        assert node.allocated == before.allocated
        assert node.supply == before.supply


@given(clusters())
def test_memory_is_of_nodes_that_are_there(cluster):
    """And makes the same view of them again."""
    seen, rules, view = cluster
    fleet = assess(seen, rules, view, NOW_S)
    memory = remember(fleet, Memory())
    uids = {node.uid for node in seen.nodes}
    assert set(memory.nodes) <= uids
    assert "" not in memory.nodes
    again = assess(seen, rules, view, NOW_S, memory)
    assert [n.name for n in again.nodes] == [n.name for n in fleet.nodes]


def is_whole(node):
    """Say whether a node offers whole GPUs only."""
    whole = Counts({model().whole_gpu.name: 1})
    return bool(node.gpus) and all(g.counts == whole or not g.mig_enabled for g in node.gpus)


def is_cut(gpu):
    """Say whether a GPU holds instances at all."""
    return gpu.mig_enabled and bool(gpu.counts)
