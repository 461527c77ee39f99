"""The policy that counts when nobody gives one, and the examples."""

from dataclasses import replace
from pathlib import Path

import pytest

from autoscaler.adapters.default_policy import (
    default_policy_for,
    default_policy_in,
    default_policy_text,
)
from autoscaler.adapters.policy_file import load_policy, parse_policy
from autoscaler.domain.cluster.marks import ROLLOUT
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.memory import CAPABLE, PRODUCT
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Mode
from tests.builders import node, observation
from tests.rollouts import journal

POLICIES = Path(__file__).parents[3] / "policies"


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.yaml")), ids=lambda p: p.name)
def test_the_examples_are_right_and_say_for_whom_they_are(path):
    """No error, no warning, and a comment that starts with it."""
    assert load_policy(path).warnings == ()
    assert path.read_text(encoding="utf-8").startswith("# For ")


def test_there_are_the_promised_examples():
    """One for each kind of fleet."""
    names = {path.stem for path in POLICIES.glob("*.yaml")}
    assert names >= {"default", "inference", "training", "research", "ci", "observe"}


def test_the_file_that_is_shipped_is_the_example():
    """One file, not two that drift apart."""
    assert (POLICIES / "default.yaml").read_text(encoding="utf-8") == default_policy_text()


def test_the_default_file_has_a_pool_for_every_known_product():
    """In the order of the profile table, by the names that code gives them."""
    labels = list(dict.fromkeys(p for model in load_models() for p in model.products))
    policy = parse_policy(default_policy_text(), "default.yaml").policy
    written = {pool.name: pool.node_selector["nvidia.com/gpu.product"] for pool in policy.pools}
    assert list(written.values()) == labels
    made = {
        pool.name: pool.node_selector["nvidia.com/gpu.product"]
        for pool in default_policy_for(labels).pools
    }
    assert made == written


def test_only_products_that_are_there_get_a_pool():
    """One pool a label, whatever the order in which labels come."""
    policy = default_policy_for(["NVIDIA-A30", "NVIDIA-A100-SXM4-40GB", "NVIDIA-A30"])
    assert [pool.name for pool in policy.pools] == ["a100-sxm4-40gb", "a30"]
    assert policy.mode is Mode.DRY_RUN


def test_unknown_products_and_strategies_are_shown_not_hidden():
    """A pool for each, so that their nodes appear with a reason."""
    labels = ["Tesla-V100", "NVIDIA-A30-MIG-1g.6gb", "A30", "NVIDIA-A30"]
    pools = {pool.name: pool.strategy for pool in default_policy_for(labels).pools}
    assert pools == {
        "a30": Strategy.MIXED,
        "a30-2": Strategy.MIXED,
        "a30-mig-1g.6gb": Strategy.SINGLE,
        "tesla-v100": Strategy.MIXED,
    }


def test_without_any_product_the_file_counts_as_it_is():
    """A policy needs a pool."""
    assert len(default_policy_for([]).pools) > 20


def seen(*nodes):
    """Return the pools of the default policy for these nodes, by name."""
    return [pool.name for pool in default_policy_in(observation(*nodes)).pools]


def test_boards_without_mig_have_a_pool_only_where_nothing_else_is_there():
    """Their nodes would be told as odd, cycle after cycle, and nothing is odd about them."""
    old = node("old", labels={CAPABLE: "false", PRODUCT: "Tesla-T4"})
    assert seen(old, node("new")) == ["a100-sxm4-40gb"]
    assert seen(old) == ["tesla-t4"]


def test_without_any_gpu_there_is_one_pool_to_say_so():
    """Not one line for each product that is not there."""
    assert seen(Node(name="plain", labels={"kubernetes.io/os": "linux"})) == ["gpus"]


def test_a_node_that_is_rolled_keeps_its_pool_while_its_label_is_away():
    """Another product is there, so the file with all products does not help."""
    rolled = node("a")
    own = journal(pool="a100-sxm4-40gb", model="a100-40gb", node_uid=rolled.uid)
    labels = {k: v for k, v in rolled.labels.items() if k != PRODUCT}
    away = replace(rolled, labels=labels, annotations={ROLLOUT: journal_to_text(own)})
    assert seen(away, node("b", [{"1g.10gb": 7}], "h100-80gb")) == [
        "a100-sxm4-40gb",
        "h100-80gb-hbm3",
    ]
