"""Which nodes may take a pod."""

import pytest

from autoscaler.domain.cluster.objects import (
    Container,
    Expression,
    SelectorTerm,
    Taint,
    Toleration,
)
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.eligibility import (
    Eligibility,
    needs_of,
    standing_taints,
    tolerates,
)
from autoscaler.domain.journal.rollout import State
from tests.builders import fleet_node, node, pod
from tests.rollouts import journal

DEDICATED = Taint("dedicated", "NoSchedule", "gpu")
CORDON = Taint("node.kubernetes.io/unschedulable", "NoSchedule")


def placed(own, *nodes):
    """Return the names of the nodes that may take a pod."""
    return Eligibility(nodes).nodes_for(needs_of(own))


def with_node(name="node-a", **changes):
    """Return a node of the fleet with a changed API object."""
    return fleet_node(name, node=node(name, **changes))


def test_a_node_selector_needs_all_its_labels():
    """One of two labels is not enough."""
    nodes = [with_node("a", labels={"x": "1", "y": "1"}), with_node("b", labels={"x": "1"})]
    assert placed(pod(node_selector={"x": "1", "y": "1"}), *nodes) == {"a"}
    assert placed(pod(node_selector={"z": "1"}), *nodes) == frozenset()
    assert placed(pod(), *nodes) == {"a", "b"}


def test_required_affinity_is_followed():
    """Terms are alternatives over labels and names."""
    nodes = [with_node("a", labels={"x": "1"}), with_node("b"), with_node("c")]
    by_label = SelectorTerm((Expression("x", "Exists"),))
    by_name = SelectorTerm((), (Expression("metadata.name", "In", ("c",)),))
    assert placed(pod(affinity=(by_label, by_name)), *nodes) == {"a", "c"}


def test_only_tolerated_taints_are_passed():
    """A preference does not keep pods away."""
    nodes = [
        with_node("a", taints=(DEDICATED,)),
        with_node("b", taints=(Taint("soft", "PreferNoSchedule"),)),
    ]
    assert placed(pod(), *nodes) == {"b"}
    own = pod(tolerations=(Toleration("dedicated", "Equal", "gpu"),))
    assert placed(own, *nodes) == {"a", "b"}


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration("dedicated", "Exists"), True),
        (Toleration("dedicated", "Exists", effect="NoSchedule"), True),
        (Toleration("dedicated", "Exists", effect="NoExecute"), False),
        (Toleration("dedicated", "Equal", "gpu"), True),
        (Toleration("dedicated", "Equal", "cpu"), False),
        (Toleration("other", "Exists"), False),
    ],
)
def test_tolerations_cover_taints_as_documented(toleration, covers):
    """Key, value and effect all count."""
    assert tolerates(toleration, DEDICATED) is covers


def test_a_cordon_of_others_keeps_pods_away_though_no_taint_says_so():
    """The taint follows the field a moment later."""
    assert placed(pod(), with_node(unschedulable=True)) == frozenset()
    own = pod(tolerations=(Toleration(CORDON.key, "Exists"),))
    assert placed(own, with_node(unschedulable=True)) == {"node-a"}


def test_what_only_our_rollout_did_is_looked_through():
    """It opens the node again; a taint of others stays."""
    closed = node(unschedulable=True, taints=(CORDON, DEDICATED))
    ours = fleet_node(node=closed, journal=journal())
    assert standing_taints(ours) == (DEDICATED,)
    before_us = fleet_node(node=closed, journal=journal(was_unschedulable=True))
    assert CORDON in standing_taints(before_us)
    given_up = fleet_node(node=closed, journal=journal(state=State.QUARANTINED))
    assert CORDON in standing_taints(given_up)


def test_a_pod_larger_than_the_node_does_not_fit_there():
    """CPU and memory count against the whole node; unknown sizes pass."""
    big = Container("m", Counts({"nvidia.com/gpu": 1}), cpu_milli=8000, memory_bytes=100)
    own = pod(containers=(big,))
    assert placed(own, with_node(cpu_milli=4000)) == frozenset()
    assert placed(own, with_node(memory_bytes=99)) == frozenset()
    assert placed(own, with_node(cpu_milli=8000, memory_bytes=100)) == {"node-a"}
    assert placed(own, with_node()) == {"node-a"}


def test_each_filter_says_how_many_nodes_it_turns_down():
    """For people who ask why nothing is eligible."""
    nodes = [with_node("a", taints=(DEDICATED,)), with_node("b", taints=(DEDICATED,))]
    text = Eligibility(nodes).explain(needs_of(pod()))
    assert text == "of 2 GPU nodes 2 with a taint it does not tolerate"


@pytest.mark.parametrize(
    ("cpu_milli", "taken", "may"),
    [
        (4000, 4000, True),
        (4000, 4001, False),
        (0, 9000, True),
        (9000, 0, False),
    ],
)
def test_what_pods_without_gpus_take_is_not_there(cpu_milli, taken, may):
    """A node that is over-full still takes a pod that asks for nothing."""
    container = Container("main", cpu_milli=cpu_milli)
    own = fleet_node(node=node(cpu_milli=8000))
    eligibility = Eligibility([own], {"node-a": (taken, 0)})
    needs = needs_of(pod(containers=(container,)))
    assert bool(eligibility.nodes_for(needs)) is may
    if cpu_milli == 4000 and not may:
        assert "too few CPUs beside pods without GPUs" in eligibility.explain(needs)
