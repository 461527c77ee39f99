"""Events: on the right object, once, and again only after a while."""

from dataclasses import replace

from autoscaler.control.events import EVENTS_A_CYCLE, due, node_events, plan_events
from autoscaler.control.rollouts import Progress
from autoscaler.domain.cluster.objects import Container, Owner, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.reasons import Block, PodNote, Reason
from autoscaler.domain.rollout.steps import Notice
from autoscaler.ports import ClusterEvent
from tests.builders import NOW_S, node, pod
from tests.rollouts import change

EVENT = ClusterEvent("Node", "", "node-a", "uid-1", "MigRolloutStarted", "closed")
NODES = {"node-a": node()}


def plan(*changes, **more):
    """Return a plan of these changes."""
    return Plan("p", NOW_S, "policy", "hash", "auto", changes=changes, **more)


def test_the_same_event_is_said_once_and_again_after_a_while():
    """A budget that blocks a drain would say so in every cycle."""
    first = due([EVENT, EVENT], {}, NOW_S)
    assert first.events == (EVENT,)
    assert due([EVENT], first.said, NOW_S + 899).events == ()
    assert due([EVENT], first.said, NOW_S + 900).events == (EVENT,)


def test_other_values_or_another_object_are_another_event():
    """The key is object, reason and message."""
    first = due([EVENT], {}, NOW_S)
    others = [replace(EVENT, message="open"), replace(EVENT, uid="uid-2")]
    assert due(others, first.said, NOW_S).events == tuple(others)


def test_what_is_too_old_is_forgotten():
    """The memory does not grow for ever."""
    first = due([EVENT], {}, NOW_S)
    assert due([], first.said, NOW_S + 1000).said == {}


def test_a_cycle_sends_a_bounded_number():
    """The rest follows in the next ones."""
    many = [replace(EVENT, uid=f"uid-{i}") for i in range(EVENTS_A_CYCLE + 5)]
    first = due(many, {}, NOW_S)
    assert len(first.events) == EVENTS_A_CYCLE
    assert due(many, first.said, NOW_S).events == tuple(many[EVENTS_A_CYCLE:])


def test_notices_become_events_on_their_node():
    """With its uid, since kubectl describe shows no others."""
    said = Notice("MigNodeQuarantined", "offers nothing", warning=True)
    (event,) = node_events([Progress("node-a", node=node()).noting(said)])
    assert (event.kind, event.uid, event.warning) == ("Node", "uid-node-a", True)


def test_waiting_pods_are_told_through_their_owner():
    """A hundred pods of one ReplicaSet are one event."""
    owner = Owner("ReplicaSet", "web", "uid-web")
    pods = {p.ref: p for p in (pod("a", owner=owner), pod("b", owner=owner))}
    events = plan_events(plan(change(serves=tuple(pods))), NODES, pods)
    planned = [e for e in events if e.reason == "MigCapacityPlanned"]
    assert len(due(planned, {}, NOW_S).events) == 1
    assert (planned[0].kind, planned[0].name, planned[0].uid) == (
        "ReplicaSet",
        "web",
        "uid-web",
    )


def test_a_pod_without_an_owner_is_told_itself():
    """And why it stays unserved, when it does."""
    alone = pod("a")
    note = PodNote(alone.ref, Reason.IMPOSSIBLE_PROFILE, "no GPU has it")
    gone = PodNote(PodRef("x", "gone"), Reason.NO_CAPACITY, "full")
    (event,) = plan_events(plan(unserved=(note, gone)), NODES, {alone.ref: alone})
    assert (event.kind, event.name) == ("Pod", "a")
    assert event.message == "ImpossibleProfile: no GPU has it"


def test_c04_several_instances_in_one_container_are_warned_of_on_the_owner():
    """Whether the pod is served or not; one instance is no reason for a word."""
    two = Container("main", Counts({"nvidia.com/mig-1g.5gb": 2}))
    served, waits = pod("a", containers=(two,)), pod("b", containers=(two,))
    note = PodNote(waits.ref, Reason.NO_CAPACITY, "full")
    pods = {p.ref: p for p in (served, waits, pod("c"))}
    own = change(serves=(served.ref, pod("c").ref))
    events = plan_events(plan(own, unserved=(note,)), NODES, pods)
    warned = [e for e in events if e.reason == "MigSeveralInstances"]
    assert [(e.name, e.warning) for e in warned] == [("a", True), ("b", True)]
    assert warned[0].message == (
        "container main asks for 2xnvidia.com/mig-1g.5gb; a CUDA process uses one"
    )


def test_messages_with_running_numbers_are_left_out():
    """They would make every cycle's event a new one."""
    served = pod("a")
    counted = Block(Reason.DOES_NOT_FIT_WINDOW, "only 73 s are left")
    steady = Block(Reason.OUTSIDE_WINDOW, "opens at 22:00")
    for block, said in ((counted, "DoesNotFitWindow"), (steady, "opens at 22:00")):
        own = change(serves=(served.ref,), blocked_by=(block,))
        *_, event = plan_events(plan(own), NODES, {served.ref: served})
        assert event.message.endswith(f"not yet: {said}")
