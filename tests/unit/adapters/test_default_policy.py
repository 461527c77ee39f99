"""The policy that counts when nobody gives one, and the examples."""

from pathlib import Path

import pytest

from autoscaler.adapters.default_policy import default_policy_for, default_policy_text
from autoscaler.adapters.policy_file import load_policy, parse_policy
from autoscaler.domain.policy import Mode, Strategy
from autoscaler.domain.profile import load_models

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
