"""Which pool each node belongs to."""

from dataclasses import replace

from autoscaler.domain.fleet.pooling import (
    divide,
    has_gpu_signs,
    matching_pools,
    possible_pools,
)
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.reasons import Reason
from tests.builders import node
from tests.fleets import pool
from tests.rollouts import journal

PRODUCT = "nvidia.com/gpu.product"
A100 = pool("a100", node_selector={PRODUCT: "NVIDIA-A100-SXM4-40GB"})
A30 = pool("a30", node_selector={PRODUCT: "NVIDIA-A30"})
EAST = pool("east", node_selector={"region": "east"})


def cpu_node(name="cpu-1"):
    """Return a node of the control plane."""
    own = node(name)
    return replace(
        own, labels={}, allocatable=type(own.allocatable)(), capacity=type(own.capacity)()
    )


def test_a_node_of_one_pool_belongs_to_it():
    """All labels of the selector must be there."""
    found = divide(
        [node("n1"), node("n2", key="a30-24gb", layout=[{"1g.6gb": 4}])], (A100, A30)
    )
    assert {name: p.name for name, p in found.members.items()} == {"n1": "a100", "n2": "a30"}
    assert found.totals == {"a100": 1, "a30": 1}
    assert found.holds == ()


def test_a_node_of_two_pools_belongs_to_neither():
    """Which one is meant is for people to say."""
    found = divide([node("n1", labels={"region": "east"})], (A100, EAST))
    assert found.members == {}
    assert found.strays == {"n1"}
    (hold,) = found.holds
    assert (hold.reason, hold.node) == (Reason.AMBIGUOUS_POOL, "n1")
    assert "a100, east" in hold.message


def test_a_pool_without_nodes_is_told():
    """Its selector is in the message."""
    found = divide([node("n1")], (A100, A30))
    (hold,) = found.holds
    assert (hold.reason, hold.node) == (Reason.POOL_EMPTY, None)
    assert f"a30 ({PRODUCT}=NVIDIA-A30)" in hold.message


def test_a_pool_without_a_selector_takes_gpu_nodes_only():
    """Nodes of the control plane have nothing to plan for."""
    found = divide([node("n1"), cpu_node()], (pool("all"),))
    assert found.members.keys() == {"n1"}
    assert found.strays == frozenset()


def test_a_selected_node_without_gpus_is_a_member():
    """People said that it is one of them, so its lack of GPUs must be told."""
    own = replace(cpu_node("bare"), labels={"region": "east"})
    assert divide([own], (EAST,)).members.keys() == {"bare"}


def test_an_ignored_node_is_neither_supply_nor_target():
    """It does not even count for percentages of its pool."""
    own = node("n1", annotations={"mig-autoscaler.io/ignore": "true"})
    found = divide([own, node("n2")], (A100,))
    assert found.ignored == {"n1"}
    assert found.totals == {"a100": 1}
    assert [hold.reason for hold in found.holds] == [Reason.IGNORED]


def test_decorated_products_are_the_same_board():
    """Strategy single and sharing change the label, not the hardware."""
    for label in ("-MIG-1g.5gb", "-MIG-INVALID", "-SHARED", "-MIG-1g.5gb-SHARED", ""):
        own = node(labels={PRODUCT: f"NVIDIA-A100-SXM4-40GB{label}"})
        assert matching_pools(own, (A100,)) == (A100,)
    other = node(labels={PRODUCT: "NVIDIA-A100-SXM4-40GB-X"})
    assert matching_pools(other, (A100,)) == ()


def test_a_pool_that_names_the_decorated_product_comes_first():
    """Someone meant just those nodes."""
    label = "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    single = pool("single", node_selector={PRODUCT: label})
    assert matching_pools(node(labels={PRODUCT: label}), (A100, single)) == (single,)


def test_missing_labels_of_feature_discovery_are_neither_met_nor_missed():
    """The node may be of several pools, and then nobody guesses."""
    labels = {"nvidia.com/mig.config.state": "pending", "region": "east"}
    away = replace(node(), labels=labels)
    assert matching_pools(away, (A100,)) == ()
    assert possible_pools(away, (A100,)) == (A100,)
    assert possible_pools(away, (A100, A30)) == (A100, A30)
    assert possible_pools(node(), (A30,)) == ()
    # A pool whose selector is met in full is no guess.
    assert divide([away], (A100, EAST)).members == {"node-a": EAST}


def test_a_node_that_may_be_of_several_pools_is_of_none():
    """It is told for its missing labels, not as a mistake of the policy."""
    away = replace(node(), labels={"nvidia.com/mig.config.state": "pending"})
    found = divide([away], (A100, A30))
    assert found.strays == {"node-a"}
    assert found.holds == ()


def test_a_journal_names_the_pool_while_labels_are_away():
    """The rollout knows for whom it works."""
    text = journal_to_text(journal(pool="a30"))
    labels = {"nvidia.com/mig.config.state": "pending"}
    annotations = {"mig-autoscaler.io/rollout": text}
    away = replace(node(), labels=labels, annotations=annotations)
    assert divide([away], (A100, A30)).members == {"node-a": A30}


def test_signs_of_gpus_are_labels_resources_and_our_own_marks():
    """Anything that hints at NVIDIA."""
    assert has_gpu_signs(node())
    assert not has_gpu_signs(cpu_node())
    assert has_gpu_signs(replace(cpu_node(), allocatable=node().allocatable))
    marked = replace(cpu_node(), annotations={"mig-autoscaler.io/rollout": "{}"})
    assert has_gpu_signs(marked)
