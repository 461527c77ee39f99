"""The first patch of a rollout."""

from dataclasses import replace

from autoscaler.domain.cluster.marks import KARPENTER_DO_NOT_DISRUPT, QUARANTINE
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Layout, State
from autoscaler.domain.plan.plan import Eviction
from autoscaler.domain.rollout.opening import Start, open_rollout
from autoscaler.domain.rollout.situation import OUR_MARKS
from tests.builders import NOW_S, node
from tests.rollouts import BEFORE, BEFORE_NAME, before, change, rules, target


def start(own, **changes):
    """Return the start of the planned change on a node."""
    return Start("plan-1", change(**changes), own, BEFORE, BEFORE_NAME)


def two_gpus(**changes):
    """Return the node as it is before."""
    return node(layout=[dict(c) for c in BEFORE], **changes)


def test_journal_and_cordon_are_one_patch():
    """With the marks that keep node autoscalers away."""
    step = open_rollout(start(two_gpus()), rules(epoch=3), NOW_S)
    assert (step.unschedulable, step.annotations) == (True, dict(OUR_MARKS))
    own = step.journal
    assert (own.state, own.epoch, own.node_uid) == (State.CLOSED, 3, "uid-node-a")
    assert (own.before, own.target) == (before(), target())
    assert own.deadline_s == NOW_S + 1200.0
    assert own.gpus == (0,)


def test_what_was_before_is_remembered():
    """A cordon, marks, and failures in a row."""
    entry = Quarantine("x", "y", 0.0, 1.0, attempt=3).to_text()
    annotations = {KARPENTER_DO_NOT_DISRUPT: "1h", QUARANTINE: entry}
    own = open_rollout(
        start(two_gpus(unschedulable=True, annotations=annotations)), rules(), NOW_S
    ).journal
    assert own.was_unschedulable
    assert own.marks == {**dict.fromkeys(OUR_MARKS), KARPENTER_DO_NOT_DISRUPT: "1h"}
    assert own.attempt == 3


def test_the_way_back_is_measured_by_capacity():
    """A device that is unhealthy today may be back after the plugin's restart."""
    whole = two_gpus()
    sick = replace(whole, allocatable=whole.allocatable.minus({"nvidia.com/mig-1g.5gb": 1}))
    own = open_rollout(start(sick), rules(), NOW_S).journal
    assert own.before == Layout(BEFORE_NAME, BEFORE, Counts({"nvidia.com/mig-1g.5gb": 14}))


def test_pods_are_remembered_by_name():
    """Those that may be evicted and those that the change is for."""
    leaving = Eviction(PodRef("b", "y"), "in the way")
    own = open_rollout(
        start(two_gpus(), evictions=(leaving,), serves=(PodRef("a", "x", "u"),)), rules(), NOW_S
    ).journal
    assert (own.evictions, own.serves) == (("b/y",), ("a/x",))
