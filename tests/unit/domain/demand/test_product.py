"""Pods that select a product, on nodes whose product follows from their instances."""

from autoscaler.domain.cluster.objects import Expression, SelectorTerm
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Reason
from tests.builders import node, pod
from tests.fleets import assessed, demanded, metrics, only, policy, pool, reasons, sample

PRODUCT = "nvidia.com/gpu.product"
BASE = "NVIDIA-A100-SXM4-40GB"
OWN = policy(pool(strategy=Strategy.SINGLE))


def single(name="node-a", profile="1g.5gb", each=7, gpus=2):
    """Return a node as feature discovery labels it under strategy single."""
    labels = {PRODUCT: f"{BASE}-MIG-{profile}", "nvidia.com/gpu.count": str(gpus * each)}
    return node(name, [{profile: each}] * gpus, strategy=Strategy.SINGLE, labels=labels)


def selecting(profile, name="pod-a", **changes):
    """Return a pod that asks for a device of a product."""
    product = f"{BASE}-MIG-{profile}" if profile else BASE
    return pod(name, {GPU: 1}, node_selector={PRODUCT: product}, **changes)


def groups(*objects, **changes):
    """Return unit and nodes of each group."""
    demand = demanded(*objects, under=OWN, **changes)
    return [(group.unit, set(group.eligible)) for group in demand.groups]


def test_a_pod_may_run_where_its_product_could_be():
    """The node has other instances today, and may have these after a change."""
    assert groups(single(), selecting("3g.20gb")) == [("3g.20gb", {"node-a"})]
    assert groups(single(), selecting("1g.5gb")) == [("1g.5gb", {"node-a"})]


def test_a_pod_that_selects_nothing_takes_any_device():
    """Its group has no unit."""
    assert groups(single(), pod("any", {GPU: 1})) == [("", {"node-a"})]


def test_of_several_products_the_smallest_is_asked_for():
    """Any of them will do, and the smallest leaves most for others."""
    values = tuple(f"{BASE}-MIG-{profile}" for profile in ("3g.20gb", "2g.10gb"))
    term = SelectorTerm((Expression(PRODUCT, "In", values),))
    wish = pod("several", {GPU: 1}, affinity=(term,))
    assert groups(single(), wish) == [("2g.10gb", {"node-a"})]


def test_a_product_that_no_node_can_have_is_told():
    """A whole GPU with MIG off is never made, nor a profile of another board."""
    for profile in ("", "9g.90gb"):
        demand = demanded(single(), selecting(profile), under=OWN)
        assert demand.groups == ()
        (note,) = demand.impossible
        assert note.reason is Reason.NO_ELIGIBLE_NODE


def test_profiles_that_the_pool_does_not_allow_are_no_products():
    """What is there may stay, and nothing else is made."""
    own = policy(pool(strategy=Strategy.SINGLE, profiles=("3g.20gb",)))
    fleet = (single(), selecting("1g.5gb", "a"), selecting("2g.10gb", "b"))
    demand = demanded(*fleet, under=own)
    assert [group.unit for group in demand.groups] == ["1g.5gb"]
    assert [note.pod.name for note in demand.impossible] == ["b"]


def test_only_pods_of_the_present_product_fit_today():
    """Free devices of another kind are no place for a pod that selects its product."""
    demand = demanded(single(), selecting("1g.5gb", "a"), selecting("3g.20gb", "b"), under=OWN)
    assert [note.pod.name for note in demand.fits_today] == ["a"]


def test_a_node_of_strategy_single_is_changeable_and_its_holders_are_seen():
    """Its pods ask for plain GPUs and sit on instances."""
    there = pod("serve", {GPU: 1}, node="node-a")
    seen = metrics(sample(1, "serve"))
    found = only(assessed(single(), there, under=OWN, metrics=seen))
    assert reasons(found) == set()
    assert found.unit == "1g.5gb"
    assert [dict(gpu.held) for gpu in found.gpus] == [{}, {"1g.5gb": 1}]
    assert found.free == Counts({GPU: 13})


def test_without_metrics_a_holder_may_be_on_any_gpu_of_the_node():
    """Every GPU that could hold it counts as held."""
    there = pod("serve", {GPU: 1}, node="node-a")
    found = only(assessed(single(), there, under=OWN))
    assert [dict(gpu.held) for gpu in found.gpus] == [{"1g.5gb": 1}] * 2
