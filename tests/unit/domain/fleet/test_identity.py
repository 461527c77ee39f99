"""Which GPU model a node has, and how many."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.identity import identify, whole_number
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Reason
from tests.builders import node

PRODUCT = "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"
MEMORY = "nvidia.com/gpu.memory"


def identified(known=None, **labels):
    """Return the identity of a node with these labels instead of the usual ones."""
    usual = {PRODUCT: "NVIDIA-A100-SXM4-40GB", COUNT: "4", "nvidia.com/mig.strategy": "mixed"}
    changed = {**usual, **{k: v for k, v in labels.items() if v is not None}}
    for key in [k for k, v in labels.items() if v is None]:
        changed.pop(key)
    own = node()
    return identify(
        type(own)(name="node-a", labels=changed, allocatable=own.allocatable),
        Strategy.MIXED,
        known,
    )


def test_product_and_count_tell_model_and_boards():
    """Under mixed the count is that of the boards."""
    found = identified()
    assert found.model is not None
    assert (found.model.key, found.num_gpus, found.holds) == ("a100-40gb", 4, ())


def test_an_unknown_product_is_told_by_name():
    """No geometry is known for it."""
    found = identified(**{PRODUCT: "NVIDIA-X999"})
    assert found.model is None
    (hold,) = found.holds
    assert hold.reason is Reason.UNKNOWN_MODEL
    assert "NVIDIA-X999" in hold.message


def test_a_missing_product_is_unknown():
    """A node without labels says nothing of its GPUs."""
    found = identified(**{PRODUCT: None})
    assert [hold.reason for hold in found.holds] == [Reason.UNKNOWN_MODEL]


@pytest.mark.parametrize("text", ["0", "-4", "four", "4.0", "", "²"])
def test_a_count_that_is_no_number_of_boards_is_unreadable(text):
    """It is never rounded or guessed."""
    found = identified(**{COUNT: text})
    assert found.num_gpus is None
    assert [hold.reason for hold in found.holds] == [Reason.UNREADABLE]


def test_a_missing_count_leaves_the_geometry_unknown():
    """The number of boards cannot be had from sums."""
    found = identified(**{COUNT: None})
    assert [hold.reason for hold in found.holds] == [Reason.GEOMETRY_UNKNOWN]


def test_an_unknown_strategy_is_unreadable():
    """The policy's is used in its place and the node is held."""
    found = identified(**{"nvidia.com/mig.strategy": "both"})
    assert found.strategy is Strategy.MIXED
    assert [hold.reason for hold in found.holds] == [Reason.UNREADABLE]


def test_under_single_the_count_is_of_instances():
    """Twenty-eight instances of which seven fit on a board are four boards."""
    labels = {
        PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        COUNT: "28",
        "nvidia.com/mig.strategy": "single",
    }
    found = identified(**labels)
    assert (found.num_gpus, found.strategy) == (4, Strategy.SINGLE)
    odd = identified(**{**labels, COUNT: "27"})
    assert odd.num_gpus is None
    assert [hold.reason for hold in odd.holds] == [Reason.GEOMETRY_UNKNOWN]


def gb200(allocatable, **labels):
    """Return the identity of a node whose product stands for two name tables."""
    changed = {PRODUCT: "NVIDIA-GB200", COUNT: "1", **labels}
    return identify(
        type(node())(name="node-a", labels=changed, allocatable=Counts(allocatable)),
        Strategy.MIXED,
    )


def test_two_name_tables_are_told_apart_by_what_the_node_advertises():
    """3g.93gb exists in one of them only."""
    found = gb200({"nvidia.com/mig-3g.93gb": 2})
    assert found.model is not None
    assert found.model.key == "gb200-186gb"


def test_two_name_tables_are_told_apart_by_memory():
    """Where profiles are the same in both, or nothing is cut."""
    found = gb200({"nvidia.com/gpu": 1}, **{MEMORY: str(189 * 1024)})
    assert found.model is not None
    assert found.model.key == "gb200-189gb"


def test_two_name_tables_that_nothing_tells_apart_are_held():
    """Never a guess."""
    found = gb200({"nvidia.com/gpu": 1})
    assert found.model is None
    (hold,) = found.holds
    assert "gb200-186gb or gb200-189gb" in hold.message


def test_the_model_that_this_node_had_before_decides():
    """While it is being changed it advertises nothing."""
    changed = {PRODUCT: "NVIDIA-GB200", COUNT: "1"}
    own = type(node())(name="node-a", labels=changed)
    found = identify(own, Strategy.MIXED, "gb200-189gb")
    assert found.model is not None
    assert found.model.key == "gb200-189gb"


def test_whole_numbers_have_digits_only():
    """Signs, spaces and other scripts are none."""
    assert whole_number("12") == 12
    assert [whole_number(t) for t in ("-1", "+1", " 1", "1e3", "\u0661")] == [None] * 5
