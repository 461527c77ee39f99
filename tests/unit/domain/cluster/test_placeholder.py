"""Placeholders: which pods are ours, and what they keep."""

import pytest

from autoscaler.domain.cluster.marks import PLACEHOLDER
from autoscaler.domain.cluster.objects import Expression, SelectorTerm
from autoscaler.domain.cluster.placeholder import (
    placeholder_name,
    placeholder_of,
    without_placeholders,
)
from autoscaler.domain.cluster.selector import NAME_FIELD
from autoscaler.domain.counts import Counts
from tests.builders import pod

WHOLE = "nvidia.com/mig-7g.40gb"
MINE = {PLACEHOLDER: "true"}


def placeholder(name="p-0", node=None, **changes):
    """Return a placeholder pod for node-a."""
    term = SelectorTerm(fields=(Expression(NAME_FIELD, "In", ("node-a",)),))
    changes = {"namespace": "ours", "labels": MINE, "affinity": (term,)} | changes
    return pod(name, {WHOLE: 1}, node, **changes)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, (False, False, False)),
        ({"node": "node-a"}, (True, False, False)),
        ({"node": "node-a", "deletion_s": 1.0}, (True, True, False)),
        ({"node": "node-a", "phase": "Failed"}, (True, False, True)),
    ],
    ids=["waits", "bound", "going", "over"],
)
def test_what_it_keeps_and_how_far_it_is(changes, state):
    """The node is the one it is for, bound or not."""
    own = placeholder_of(placeholder(**changes))
    assert (own.node, own.holds) == ("node-a", Counts({WHOLE: 1}))
    assert (own.is_bound, own.is_going, own.is_over) == state


def test_one_that_names_no_node_is_for_none():
    """Somebody changed it: it will be removed."""
    assert placeholder_of(placeholder(affinity=())).node == ""


def test_only_those_in_our_namespace_are_ours():
    """The mark alone is anyone's to set; of files it is not known which namespace is ours."""
    own, other = placeholder(), placeholder("p-1", namespace="team")
    plain = pod("plain")
    ours, others = without_placeholders((other, plain, own), "ours")
    assert (ours, others) == ((own,), (other, plain))
    ours, others = without_placeholders((other, plain, own))
    assert (ours, others) == ((own, other), (plain,))


def test_names_differ_by_node_resource_and_number():
    """And are names that the API takes, whatever the node is called."""
    names = {placeholder_name(u, r, n) for u in "ab" for r in (WHOLE, "x") for n in (0, 1)}
    assert len(names) == 8
    assert all(len(name) < 63 for name in names)
