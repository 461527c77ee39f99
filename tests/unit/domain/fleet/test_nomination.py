"""Pods for which preemption is already making room."""

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.nomination import MARGIN_S, nominations_of
from tests.builders import NOW_S, node, pod

R = "nvidia.com/mig-3g.20gb"
LAYOUT = [{"3g.20gb": 2}]


def nominated(*bound, now_s=NOW_S, **changes):
    """Return the nominations for one pod on a node with these pods."""
    waits = pod("hi-1", "3g.20gb", nominated_node="node-a", **changes)
    own = node(layout=LAYOUT)
    pods = (*bound, waits)
    return nominations_of({"node-a": own}, pods, {"node-a": list(bound)}, now_s)


def user(name, **changes):
    """Return a pod on the node."""
    return pod(name, "3g.20gb", node="node-a", **changes)


def test_a_nomination_holds_while_victims_have_grace():
    """And a margin more: kubelet has to tell that the device is free."""
    bound = (user("a"), user("lo-1", deletion_s=NOW_S))
    found = nominated(*bound, now_s=NOW_S + MARGIN_S - 1.0)
    assert [ref.name for ref in found.pods()] == ["hi-1"]
    assert found.requests("node-a") == Counts({R: 1})
    assert found.requests("node-b") == Counts()
    assert len(found.hold("node-a")) == 1
    assert nominated(*bound, now_s=NOW_S + MARGIN_S).pods() == frozenset()


def test_a_nomination_holds_when_the_room_is_there_already():
    """Victims are gone and the binding is a moment away."""
    assert nominated(user("a")).pods()


def test_a_nomination_without_victims_and_without_room_is_a_leftover():
    """The pod counts as demand again."""
    assert nominated(user("a"), user("b")).pods() == frozenset()


def test_ended_bound_and_going_pods_are_not_nominated():
    """The field stays after the fact."""
    assert nominated(phase="Failed").pods() == frozenset()
    assert nominated(deletion_s=NOW_S).pods() == frozenset()
    assert nominated(node="node-a").pods() == frozenset()


def test_pods_without_gpus_are_not_ours():
    """Preemption for memory changes nothing for GPUs."""
    waits = pod("hi-1", {}, nominated_node="node-a")
    found = nominations_of({"node-a": node()}, (waits,), {}, NOW_S)
    assert found.pods() == frozenset()
