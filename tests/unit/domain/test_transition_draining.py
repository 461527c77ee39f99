"""A rollout before the label: closing, emptying, and everything that undoes it."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.marks import ABORT, KARPENTER_DO_NOT_DISRUPT, MIG_CONFIG_STATE
from autoscaler.domain.cluster.objects import LabelSelector, Owner, PodDisruptionBudget
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.reasons import Block, Reason
from autoscaler.domain.rollout.situation import OUR_MARKS
from autoscaler.domain.rollout.steps import (
    Evict,
    Finish,
    HolderProof,
    PatchNode,
    Wait,
    WaitReason,
    WriteConfiguration,
)
from autoscaler.domain.rollout.transition import next_step
from tests.builders import NOW_S, pod
from tests.rollouts import (
    BEFORE_NAME,
    TARGET_NAME,
    closed_node,
    journal,
    labelled_node,
    rules,
    seen,
    step_at,
)

DRAINING = State.DRAINING
REPLICAS = Owner("ReplicaSet", "web-1")


def on_node(name="job-1", **changes):
    """Return a pod that holds an instance of the node."""
    return pod(name, node="node-a", owner=REPLICAS, **changes)


def waits_for(step, reason):
    """Say whether a step waits for that reason."""
    return isinstance(step, Wait) and step.reason is reason


def test_a_closed_node_starts_draining_once_its_cordon_is_seen():
    """The cordon counts from the fresh read, and the configuration from its write."""
    step = step_at(journal(), seen(closed_node()), after_s=3.0)
    assert isinstance(step, PatchNode)
    assert step.journal.state is DRAINING
    assert step.journal.cordoned_at_s == NOW_S + 3.0
    assert step.journal.config_written_at_s == NOW_S - 600.0


def test_both_configurations_are_written_before_anything_else():
    """The way back is written together with the way forward."""
    step = step_at(journal(), seen(closed_node(), configurations={}))
    assert isinstance(step, WriteConfiguration)
    assert [x.config_name for x in step.layouts] == [TARGET_NAME, BEFORE_NAME]


def test_marks_for_node_autoscalers_are_put_back_while_draining():
    """A mark that went missing is set again."""
    bare = closed_node(annotations={KARPENTER_DO_NOT_DISRUPT: ""})
    step = step_at(journal(DRAINING), seen(bare), after_s=20.0)
    assert step.annotations == {KARPENTER_DO_NOT_DISRUPT: "true"}


def test_an_empty_node_is_labelled_after_the_bind_grace():
    """One patch carries the journal's step, the label, and the old state's removal."""
    step = step_at(journal(DRAINING), seen(closed_node()), after_s=10.0)
    assert step.journal.state is State.APPLYING
    assert step.labels == {"nvidia.com/mig.config": TARGET_NAME, MIG_CONFIG_STATE: None}


def test_a_read_within_the_bind_grace_proves_nothing():
    """A binding that was under way may still arrive."""
    step = step_at(journal(DRAINING), seen(closed_node()), after_s=9.9)
    assert waits_for(step, WaitReason.BIND_GRACE)
    assert step.until_s == NOW_S + 10.0


def test_a_read_that_began_too_early_does_not_count_though_it_ended_late():
    """What counts is the moment before the reads were sent."""
    look = replace(seen(closed_node()), read_at_s=NOW_S + 5.0)
    step = next_step(journal(DRAINING), look, rules(), NOW_S + 30.0)
    assert waits_for(step, WaitReason.BIND_GRACE)


def test_the_label_waits_until_the_configuration_reached_the_node():
    """Too early a label ends in failed."""
    own = journal(DRAINING, config_written_at_s=NOW_S)
    look = seen(closed_node(), configurations={TARGET_NAME: NOW_S, BEFORE_NAME: None})
    step = step_at(own, look, after_s=60.0)
    assert waits_for(step, WaitReason.CONFIG_SYNC)
    assert step.until_s == NOW_S + 120.0


def test_a_configuration_that_was_written_again_counts_from_then():
    """Somebody removed it from the ConfigMap in between."""
    look = seen(closed_node(), configurations={TARGET_NAME: NOW_S + 50.0, BEFORE_NAME: 0.0})
    step = step_at(journal(DRAINING), look, after_s=60.0)
    assert step.journal.config_written_at_s == NOW_S + 50.0


def test_a_rebooting_or_busy_manager_is_waited_for():
    """Its run is not ours, and the label of another state must not be taken away."""
    for state in ("rebooting", "pending"):
        node = closed_node(labels={MIG_CONFIG_STATE: state})
        step = step_at(journal(DRAINING), seen(node), after_s=20.0)
        assert waits_for(step, WaitReason.MANAGER_BUSY)


def test_a_node_that_is_not_ready_is_not_labelled():
    """Its kubelet could not tell us of the result."""
    step = step_at(journal(DRAINING), seen(closed_node(ready=None)), after_s=20.0)
    assert waits_for(step, WaitReason.NODE_NOT_READY)


def test_device_holders_are_waited_for_without_a_right_to_evict():
    """By default pods finish by themselves."""
    own = journal(DRAINING, gpus=(0, 1))
    step = step_at(own, seen(closed_node(), pods=(on_node(),)), after_s=20.0)
    assert waits_for(step, WaitReason.DEVICE_HOLDERS)
    assert "default/job-1" in step.message
    assert step.until_s == own.deadline_s


def test_finished_pods_hold_nothing():
    """A pod that succeeded gave its device back."""
    own = journal(DRAINING, gpus=(0, 1))
    gone = on_node(phase="Succeeded")
    step = step_at(own, seen(closed_node(), pods=(gone,)), after_s=20.0)
    assert step.journal.state is State.APPLYING


def test_a_terminating_pod_still_holds_its_device():
    """An accepted eviction is not an empty board, and nothing is evicted twice."""
    own = journal(DRAINING, gpus=(0, 1), evictions=("default/job-1",))
    leaving = on_node(deletion_s=NOW_S + 900.0)
    step = step_at(
        own, seen(closed_node(), pods=(leaving,)), after_s=20.0, by=rules(enabled=True)
    )
    assert waits_for(step, WaitReason.DEVICE_HOLDERS)


def test_planned_pods_are_evicted_where_the_policy_allows():
    """Each with its uid; a pod that the plan did not name is left alone."""
    own = journal(DRAINING, gpus=(0, 1), evictions=("default/job-1",))
    pods = (on_node(), on_node("job-2"))
    step = step_at(own, seen(closed_node(), pods=pods), after_s=20.0, by=rules(enabled=True))
    assert isinstance(step, Evict)
    assert [(p.name, p.uid) for p in step.pods] == [("job-1", "uid-job-1")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"paused": True}, WaitReason.PAUSED),
        ({"may_evict_from_s": NOW_S + 70.0}, WaitReason.NOT_LEADER),
        ({"has_metrics": False}, WaitReason.DEVICE_HOLDERS),
    ],
)
def test_nobody_is_evicted_while(changes, reason):
    """A pause, a new leader's first minute, and missing metrics forbid it."""
    own = journal(DRAINING, gpus=(0, 1), evictions=("default/job-1",))
    look = seen(closed_node(), pods=(on_node(),), **changes)
    step = step_at(own, look, after_s=20.0, by=rules(enabled=True))
    assert waits_for(step, reason)


def test_a_full_budget_is_waited_for_and_named_at_the_deadline():
    """The owner said no; the pod is never deleted instead."""
    own = journal(DRAINING, gpus=(0, 1), evictions=("default/job-1",))
    full = PodDisruptionBudget("default", "web", LabelSelector(), 0, 2, 2, 2)
    look = seen(closed_node(), pods=(on_node(),), budgets=(full,))
    assert waits_for(
        step_at(own, look, after_s=20.0, by=rules(enabled=True)), WaitReason.DEVICE_HOLDERS
    )
    late = step_at(own, look, after_s=1800.0, by=rules(enabled=True))
    assert late.finish.result is Result.ABORTED
    assert "default/job-1" in late.finish.message


def test_without_proof_the_whole_node_must_be_empty():
    """A pod on the other GPU cannot be told from one on this GPU."""
    step = step_at(journal(DRAINING), seen(closed_node(), pods=(on_node(),)), after_s=20.0)
    assert waits_for(step, WaitReason.HOLDERS_UNPROVEN)


def test_a_pod_proven_on_another_gpu_does_not_matter():
    """Its GPU keeps its instances, so it runs on."""
    holder = on_node()
    proof = HolderProof({holder.ref: 1})
    look = seen(closed_node(), pods=(holder,), proof=proof)
    assert step_at(journal(DRAINING), look, after_s=20.0).journal.state is State.APPLYING


def test_a_pod_that_asked_for_nothing_may_sit_anywhere():
    """Pods of the NVIDIA runtime class count as users of every GPU."""
    holder = on_node()
    guest = on_node("dbg-0", requests={"cpu": 1}, gpu_runtime=True)
    proof = HolderProof({holder.ref: 1})
    look = seen(closed_node(), pods=(guest, holder), proof=proof)
    step = step_at(journal(DRAINING), look, after_s=20.0)
    assert waits_for(step, WaitReason.DEVICE_HOLDERS)
    assert step.message == "default/dbg-0 to leave"


def test_the_operators_own_pods_do_not_count():
    """MIG manager stops them itself."""
    plugin = pod("nvidia-device-plugin-x1", node="node-a", gpu_runtime=True)
    plugin = replace(plugin, namespace="gpu-operator", owner=Owner("DaemonSet", "plugin"))
    step = step_at(journal(DRAINING), seen(closed_node(), pods=(plugin,)), after_s=20.0)
    assert step.journal.state is State.APPLYING


def test_a_daemon_set_on_a_changing_gpu_ends_the_rollout_at_once():
    """It would never end, and come back evicted."""
    edge = replace(on_node("edge-x1"), owner=Owner("DaemonSet", "edge"))
    own = journal(DRAINING, gpus=(0, 1))
    step = step_at(own, seen(closed_node(), pods=(edge,)), after_s=20.0)
    assert step.finish.result is Result.ABORTED
    assert step.finish.reason == Reason.DAEMON_SET_POD


@pytest.mark.parametrize("state", [State.CLOSED, State.DRAINING])
@pytest.mark.parametrize(
    ("node_changes", "seen_changes", "after_s", "reason"),
    [
        ({"unschedulable": False}, {}, 20.0, "Uncordoned"),
        ({"annotations": {ABORT: "true"}}, {}, 20.0, "AbortRequested"),
        ({"labels": {"nvidia.com/mig.config": "x"}}, {}, 20.0, Reason.FOREIGN_CONFIG),
        ({}, {"verdict": Block(Reason.NOT_WORTH_IT, "gone")}, 20.0, Reason.NOT_WORTH_IT),
        ({}, {"configuration_problem": "not ours"}, 20.0, "ConfigurationProblem"),
        ({}, {}, 1800.0, "DrainDeadline"),
    ],
)
def test_before_the_label_everything_is_undone(
    state, node_changes, seen_changes, after_s, reason
):
    """The journal goes, the marks are restored, and our cordon is taken away."""
    node = closed_node(**node_changes)
    step = step_at(journal(state), seen(node, **seen_changes), after_s=after_s)
    assert step.journal is None
    assert step.finish == Finish(Result.ABORTED, reason, step.finish.message)
    assert step.annotations == dict.fromkeys((*OUR_MARKS, *extra(node)))
    assert step.unschedulable is (False if node.unschedulable else None)
    assert step.labels == {}


def extra(node):
    """Return the annotations besides the marks that a release removes."""
    return [ABORT] if ABORT in node.annotations else []


def test_a_node_that_was_cordoned_before_stays_so():
    """We uncordon only what we cordoned."""
    own = journal(DRAINING, was_unschedulable=True)
    step = step_at(own, seen(closed_node()), after_s=1800.0)
    assert step.finish.result is Result.ABORTED
    assert step.unschedulable is None


def test_marks_get_their_previous_values_back():
    """Unless somebody changed them meanwhile."""
    scale_down = next(name for name in OUR_MARKS if name != KARPENTER_DO_NOT_DISRUPT)
    own = journal(DRAINING, marks={KARPENTER_DO_NOT_DISRUPT: "1h", scale_down: None})
    node = closed_node(annotations={scale_down: "false"})
    step = step_at(own, seen(node), after_s=1800.0)
    assert step.annotations == {KARPENTER_DO_NOT_DISRUPT: "1h"}


def test_a_pause_stops_an_empty_node_before_the_label():
    """A pause stops disruptions that have not begun."""
    step = step_at(journal(DRAINING), seen(closed_node(), paused=True), after_s=20.0)
    assert waits_for(step, WaitReason.PAUSED)


def test_a_deleted_or_replaced_node_is_closed_without_a_write():
    """Another uid is another node."""
    for node in (None, closed_node(uid="uid-other")):
        step = step_at(journal(DRAINING), seen(node))
        assert isinstance(step, Finish)
        assert step.result is Result.GONE


def test_a_new_leader_stamps_the_journal_first():
    """So that every patch of the old one is stale."""
    step = step_at(journal(DRAINING), seen(closed_node()), by=rules(epoch=2, holder="you"))
    assert (step.journal.epoch, step.journal.holder) == (2, "you")
    assert (step.labels, step.unschedulable) == ({}, None)


def test_an_old_leader_does_not_touch_a_journal_of_a_newer_one():
    """A higher epoch has taken over."""
    step = step_at(journal(DRAINING, epoch=5), seen(closed_node()), after_s=20.0)
    assert waits_for(step, WaitReason.NOT_LEADER)


def test_an_aborted_rollout_leaves_the_count_of_failures_alone():
    """Somebody else's pods are no fault of the node."""
    entry = Quarantine("x", "y", 0.0, 1.0, attempt=2).to_text()
    node = closed_node(annotations={"mig-autoscaler.io/quarantine": entry})
    step = step_at(journal(DRAINING), seen(node), after_s=1800.0)
    assert "mig-autoscaler.io/quarantine" not in step.annotations


def test_the_label_of_a_labelled_node_is_no_longer_the_machine_s_to_undo():
    """After the label an uncordon does not abort."""
    node = labelled_node(unschedulable=False)
    step = step_at(journal(State.APPLYING), seen(node), after_s=20.0)
    assert step.finish is None
