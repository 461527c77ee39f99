"""From pending pods to demand."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import Gang, Owner
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node, pod
from tests.fleets import demanded, metrics, policy
from tests.rollouts import journal

SMALL = "nvidia.com/mig-1g.5gb"


def names(group):
    """Return the names of a group's pods."""
    return [ref.name for ref in group.pods]


def test_pods_alike_are_one_group_with_the_oldest_first():
    """Ties go by name."""
    pods = [
        pod("young", created_s=NOW_S - 10.0),
        pod("b", created_s=NOW_S - 99.0),
        pod("a", created_s=NOW_S - 99.0),
    ]
    (group,) = demanded(node(), *pods).groups
    assert names(group) == ["a", "b", "young"]
    assert (group.number, group.weight, group.gang) == (3, 1.0, "")


def test_groups_differ_by_bundle_nodes_and_weight():
    """And come in order of their oldest pod."""
    nodes = [node("n1", labels={"zone": "a"}), node("n2")]
    pods = [
        pod("plain", created_s=NOW_S - 1.0),
        pod("large", "3g.20gb", created_s=NOW_S - 2.0),
        pod("zoned", node_selector={"zone": "a"}, created_s=NOW_S - 3.0),
        pod("urgent", priority_class="high-priority", created_s=NOW_S - 4.0),
    ]
    rules = policy(priorities={"high-priority": 10.0})
    groups = demanded(*nodes, *pods, under=rules).groups
    assert [names(g) for g in groups] == [["urgent"], ["zoned"], ["large"], ["plain"]]
    assert [g.weight for g in groups] == [10.0, 1.0, 1.0, 1.0]
    assert groups[1].eligible == {"n1"}


def test_a_gang_of_different_pods_is_one_gang_in_several_groups():
    """The number is that of the gang, in each of them."""
    pods = [
        pod("leader", "1g.5gb", gang=Gang("g", 3)),
        *(pod(f"w{i}", "3g.20gb", gang=Gang("g", 3)) for i in range(2)),
    ]
    groups = demanded(node(), *pods).groups
    assert {(g.gang, g.gang_min) for g in groups} == {("default/g", 3)}
    assert sorted(g.number for g in groups) == [1, 2]


def test_a_gang_with_a_member_that_nothing_can_serve_is_no_demand():
    """Both the member and the others are told why."""
    pods = [
        pod("odd", "9g.99gb", gang=Gang("g", 2)),
        pod("fine", gang=Gang("g", 2)),
    ]
    demand = demanded(node(), *pods)
    assert demand.groups == ()
    assert [n.pod.name for n in demand.impossible] == ["odd"]
    assert [(n.pod.name, n.reason) for n in demand.ignored] == [
        ("fine", Reason.GANG_INCOMPLETE)
    ]


def test_pods_that_keep_apart_are_told_and_avoid_their_own_kind():
    """One node already has one of them."""
    labels = {"app": "spread", "statefulset.kubernetes.io/pod-name": "s-0"}
    first = pod("s-0", node="n1", labels=labels, anti_affinity_self=True)
    other = {**labels, "statefulset.kubernetes.io/pod-name": "s-1"}
    second = pod("s-1", labels=other, anti_affinity_self=True)
    third = pod("s-2", labels={**labels, "app": "other"}, anti_affinity_self=True)
    groups = demanded(node("n1"), node("n2"), first, second, third).groups
    assert [(names(g), sorted(g.eligible), g.one_per_node) for g in groups] == [
        (["s-1"], ["n2"], True),
        (["s-2"], ["n1", "n2"], True),
    ]
    nowhere = demanded(node("n1"), first, second)
    assert nowhere.groups == ()
    assert "pod of its kind already" in nowhere.impossible[0].message


def test_running_counts_what_bound_pods_hold_by_pool():
    """Terminating pods still hold theirs; ended ones do not."""
    pods = [
        pod("a", node="node-a"),
        pod("b", {SMALL: 2}, node="node-a", deletion_s=NOW_S),
        pod("c", node="node-a", phase="Succeeded"),
    ]
    assert demanded(node(), *pods).running == {"pool": Counts({SMALL: 3})}


def test_queued_work_comes_from_metrics():
    """Unknown is nothing to hedge for."""
    queued = Counts({SMALL: 4})
    assert demanded(node(), metrics=metrics(queued=queued)).queued == queued
    assert demanded(node(), metrics=metrics()).queued == Counts()
    assert demanded(node()).queued == Counts()


def test_pods_on_nodes_that_are_not_known_are_bound():
    """A dump may leave their node out."""
    demand = demanded(node(), pod("far", node="elsewhere"))
    assert [(n.pod.name, n.reason) for n in demand.ignored] == [("far", Reason.BOUND)]
    assert demand.running == {"pool": Counts()}


def test_pods_without_gpus_are_not_mentioned():
    """There are thousands of them."""
    demand = demanded(node(), pod("web", {}, owner=Owner("ReplicaSet", "web")))
    assert (demand.ignored, demand.impossible, demand.groups) == ((), (), ())


def test_a_node_that_our_rollout_closed_stays_eligible_and_takes_nobody_now():
    """Its room is not there today."""
    text = journal_to_text(journal())
    own = node(layout=[{"1g.5gb": 7}] * 2, annotations={"mig-autoscaler.io/rollout": text})
    closed = replace(own, unschedulable=True)
    demand = demanded(closed, pod("waits"))
    assert demand.groups[0].eligible == {"node-a"}
    assert demand.fits_today == ()


def test_pods_that_cannot_be_read_are_told_with_those_that_cannot_be_served():
    """A negative amount is nobody's demand, and somebody should know."""
    fault = "spec.containers[0].resources.limits[nvidia.com/mig-1g.5gb] = '-1': negative"
    demand = demanded(node(), pod("neg", {}, faults=(fault,)))
    (note,) = demand.impossible
    assert (note.pod.name, note.reason, note.message) == ("neg", Reason.UNREADABLE, fault)
    assert demand.groups == demand.ignored == ()
