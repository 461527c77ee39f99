"""A rollout after the label: verify, repair, roll back, quarantine."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.marks import (
    ABORT,
    DEPLOY_PREFIX,
    MIG_CONFIG,
    MIG_CONFIG_STATE,
    QUARANTINE,
)
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Layout, Result, State
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.steps import (
    EvictManagerPod,
    PatchNode,
    Wait,
    WaitReason,
    WriteConfiguration,
)
from autoscaler.domain.rollout.transition import next_step
from tests.builders import NOW_S
from tests.rollouts import (
    AFTER,
    BEFORE,
    BEFORE_NAME,
    MANAGER,
    TARGET_NAME,
    before,
    closed_node,
    journal,
    labelled_node,
    rules,
    seen,
    step_at,
)

APPLYING, REPAIRING, ROLLING_BACK = State.APPLYING, State.REPAIRING, State.ROLLING_BACK
PLUGIN, GFD = DEPLOY_PREFIX + "device-plugin", DEPLOY_PREFIX + "gpu-feature-discovery"
PAUSED = {PLUGIN: "paused-for-mig-change", GFD: "paused-for-mig-change"}
NOTHING = (Counts(), Counts())


def waits_for(step, reason):
    """Say whether a step waits for that reason."""
    return isinstance(step, Wait) and step.reason is reason


def rolled_back_node(layout=BEFORE, **changes):
    """Return the node after the patch that asks for what was before."""
    node = closed_node(layout, **changes)
    labels = {k: v for k, v in node.labels.items() if k != MIG_CONFIG_STATE}
    state = changes.get("labels", {}).get(MIG_CONFIG_STATE)
    return replace(
        node, labels=labels if state is None else {**labels, MIG_CONFIG_STATE: state}
    )


def entry_of(step):
    """Return the quarantine that a step writes."""
    return Quarantine.from_text(step.annotations[QUARANTINE])


def test_the_target_is_believed_only_after_it_stayed():
    """First sight is noted in the journal; the release comes after the settle time."""
    node = labelled_node(AFTER, "success")
    first = step_at(journal(APPLYING), seen(node), after_s=100.0)
    assert first.journal.settled_since_s == NOW_S + 100.0
    waiting = step_at(first.journal, seen(node), after_s=129.0)
    assert waits_for(waiting, WaitReason.SETTLING)
    assert waiting.until_s == NOW_S + 130.0
    last = step_at(first.journal, seen(node), after_s=130.0)
    assert last.finish.result is Result.DONE
    assert (last.journal, last.unschedulable) == (None, False)


def test_success_without_the_resources_is_no_success():
    """The label says success, kubelet offers nothing."""
    step = step_at(journal(APPLYING), seen(labelled_node(NOTHING, "success")), after_s=60.0)
    assert waits_for(step, WaitReason.RECONFIGURATION)


def test_resources_without_a_success_are_a_success():
    """The state label is wrong at times; resources are not."""
    node = labelled_node(AFTER, None)
    own = journal(APPLYING, settled_since_s=NOW_S)
    assert step_at(own, seen(node), after_s=30.0).finish.result is Result.DONE


def test_a_target_that_went_away_again_starts_settling_anew():
    """Flapping resources never count as settled."""
    own = journal(APPLYING, settled_since_s=NOW_S)
    step = step_at(own, seen(labelled_node(NOTHING, "pending")), after_s=29.0)
    assert isinstance(step, PatchNode)
    assert step.journal.settled_since_s is None


def test_kubelet_away_is_normal_and_proves_nothing():
    """A node that is not ready shows what it had; we wait, and evict nobody."""
    node = labelled_node(AFTER, "pending", ready=None)
    step = step_at(journal(APPLYING), seen(node), after_s=140.0)
    assert waits_for(step, WaitReason.RECONFIGURATION)


def test_media_variants_folded_into_the_plain_resource_count():
    """Some device plugins drop the ``.me``."""
    wanted = Counts({"nvidia.com/mig-1g.5gb.me": 1, "nvidia.com/mig-1g.5gb": 6})
    own = journal(APPLYING, target=Layout(TARGET_NAME, AFTER, wanted), settled_since_s=NOW_S)
    plain = Counts({"nvidia.com/mig-1g.5gb": 7})
    node = labelled_node(AFTER, "success", allocatable=plain, capacity=plain)
    assert step_at(own, seen(node), after_s=30.0).finish.result is Result.DONE


def test_an_unhealthy_device_does_not_fail_the_change():
    """The capacity is exact and one device is not allocatable."""
    node = labelled_node(AFTER, "success")
    short = node.allocatable.minus({"nvidia.com/mig-1g.5gb": 1})
    own = journal(APPLYING, settled_since_s=NOW_S)
    step = step_at(own, seen(replace(node, allocatable=short)), after_s=30.0)
    assert step.finish.result is Result.DONE


def test_a_stopped_device_plugin_is_not_taken_for_unhealthy_devices():
    """All devices of a resource at once are never allowed for."""
    node = labelled_node(AFTER, "success")
    gone = replace(node, allocatable=Counts({"nvidia.com/mig-1g.5gb": 7}))
    step = step_at(journal(APPLYING), seen(gone), after_s=30.0)
    assert waits_for(step, WaitReason.RECONFIGURATION)


def test_operands_that_are_still_paused_mean_not_finished():
    """Resources may be those that kubelet still remembers."""
    node = labelled_node(AFTER, "pending", labels=PAUSED)
    step = step_at(journal(APPLYING), seen(node), after_s=60.0)
    assert waits_for(step, WaitReason.RECONFIGURATION)


def test_same_sums_need_the_managers_answer():
    """Two layouts may offer the same; only a fresh success tells them apart."""
    swapped = Layout(TARGET_NAME, (BEFORE[0], AFTER[0]), before().resources)
    own = journal(APPLYING, target=swapped)
    silent = step_at(own, seen(labelled_node(BEFORE, None)), after_s=20.0)
    assert waits_for(silent, WaitReason.RECONFIGURATION)
    answered = step_at(own, seen(labelled_node(BEFORE, "success")), after_s=20.0)
    assert answered.journal.settled_since_s == NOW_S + 20.0


@pytest.mark.parametrize(
    ("state", "labels", "after_s"), [("failed", {}, 60.0), ("pending", PAUSED, 1800.0)]
)
def test_failed_or_late_leads_to_the_one_repair(state, labels, after_s):
    """Exactly the paused operands come back, and the label goes away."""
    node = labelled_node(NOTHING, state, labels={**labels, DEPLOY_PREFIX + "nvsm": "false"})
    step = step_at(journal(APPLYING), seen(node), after_s=after_s)
    assert step.journal.state is REPAIRING
    unpaused = dict.fromkeys(labels, "true")
    assert step.labels == {**unpaused, MIG_CONFIG: None, MIG_CONFIG_STATE: None}
    assert step.notice.warning


def test_a_rebooting_state_is_never_removed():
    """It is the manager's memory across the reboot."""
    node = labelled_node(NOTHING, "rebooting")
    step = step_at(journal(APPLYING), seen(node), after_s=1800.0)
    assert step.labels == {MIG_CONFIG: None}


def test_the_label_comes_back_in_a_write_of_its_own():
    """The same value is no change, so it must be seen away first."""
    away = labelled_node(NOTHING)
    away = replace(away, labels={k: v for k, v in away.labels.items() if k != MIG_CONFIG})
    step = step_at(journal(REPAIRING), seen(away), after_s=1.0)
    assert step.labels == {MIG_CONFIG: TARGET_NAME}
    assert step.journal.state is REPAIRING


def test_the_managers_pod_is_named_before_it_is_evicted():
    """A crash between the two neither forgets it nor takes its successor."""
    look = seen(labelled_node(NOTHING, "failed"))
    named = step_at(journal(REPAIRING), look, after_s=60.0)
    assert named.journal.manager_pod == MANAGER.uid
    assert named.labels == {MIG_CONFIG_STATE: None}
    fresh = seen(labelled_node(NOTHING))
    step = next_step(named.journal, fresh, rules(), NOW_S + 61.0)
    assert step == EvictManagerPod(MANAGER)
    successor = replace(fresh, manager_pod=replace(MANAGER, uid="uid-next"))
    after = next_step(named.journal, successor, rules(), NOW_S + 62.0)
    assert waits_for(after, WaitReason.RECONFIGURATION)


def test_a_new_leader_does_not_evict_the_managers_pod_too_early():
    """The old leader may still be about to do the same."""
    own = journal(REPAIRING, manager_pod=MANAGER.uid)
    look = seen(labelled_node(NOTHING), may_evict_from_s=NOW_S + 70.0)
    assert waits_for(step_at(own, look, after_s=61.0), WaitReason.NOT_LEADER)


def test_a_wedged_manager_is_restarted_after_half_of_the_time():
    """It still says pending, and will for ever."""
    look = seen(labelled_node(NOTHING, "pending"))
    step = step_at(journal(REPAIRING), look, after_s=900.0)
    assert step.journal.manager_pod == MANAGER.uid


def test_a_repair_that_helps_ends_in_release():
    """And forgets earlier failures."""
    own = journal(REPAIRING, settled_since_s=NOW_S, attempt=2)
    node = labelled_node(AFTER, "success", annotations={QUARANTINE: "{}"})
    step = step_at(own, seen(node), after_s=30.0)
    assert step.finish.result is Result.DONE
    assert step.annotations[QUARANTINE] is None


@pytest.mark.parametrize(
    ("state", "after_s"), [("failed", 60.0), ("pending", 1800.0), (None, 400.0)]
)
def test_a_repair_that_does_not_help_goes_back(state, after_s):
    """The previous configuration is asked for, with deadlines anew."""
    own = journal(REPAIRING, manager_pod="uid-gone")
    step = step_at(own, seen(labelled_node(NOTHING, state)), after_s=after_s)
    assert step.journal.state is ROLLING_BACK
    assert step.labels[MIG_CONFIG] == BEFORE_NAME
    assert step.journal.deadline_s == NOW_S + after_s + 1800.0


def test_the_way_back_waits_for_its_configuration():
    """When somebody removed it, it is written again and given time to arrive."""
    own = journal(REPAIRING, manager_pod="uid-gone")
    gone = seen(labelled_node(NOTHING, "failed"), configurations={TARGET_NAME: None})
    step = step_at(own, gone, after_s=60.0)
    assert isinstance(step, WriteConfiguration)
    assert [x.config_name for x in step.layouts] == [BEFORE_NAME]
    fresh = {TARGET_NAME: None, BEFORE_NAME: NOW_S + 60.0}
    step = step_at(own, replace(gone, configurations=fresh), after_s=61.0)
    assert waits_for(step, WaitReason.CONFIG_SYNC)
    assert step.until_s == NOW_S + 180.0


def test_going_back_is_verified_and_ends_in_a_back_off():
    """The node is open again, and left alone for twice as long as last time."""
    own = journal(ROLLING_BACK, settled_since_s=NOW_S, attempt=1, reason="it failed")
    step = step_at(own, seen(rolled_back_node()), after_s=30.0)
    assert step.finish.result is Result.ROLLED_BACK
    assert step.unschedulable is False
    entry = entry_of(step)
    assert (entry.attempt, entry.until_s) == (2, NOW_S + 30.0 + 1200.0)
    assert not entry.cordoned


@pytest.mark.parametrize(
    ("state", "after_s"), [("failed", 60.0), ("pending", 1800.0), (None, 300.0)]
)
def test_when_the_way_back_fails_too_the_node_is_quarantined(state, after_s):
    """It offers nothing, so it stays cordoned; the alert names the paused labels."""
    labels = {} if state is None else {MIG_CONFIG_STATE: state}
    paused = PAUSED if state == "pending" else {}
    node = rolled_back_node(NOTHING, labels={**labels, **paused})
    step = step_at(journal(ROLLING_BACK, reason="it failed"), seen(node), after_s=after_s)
    assert step.finish.result is Result.QUARANTINED
    assert (step.journal, step.unschedulable) == (None, None)
    assert entry_of(step).cordoned
    assert all(name in step.finish.message for name in paused)


def test_a_quarantined_node_that_offers_something_is_opened():
    """It is cordoned only if it advertises nothing sane."""
    half = (Counts(), BEFORE[1])
    node = rolled_back_node(half, labels={MIG_CONFIG_STATE: "failed"})
    step = step_at(journal(ROLLING_BACK), seen(node), after_s=60.0)
    assert step.finish.result is Result.QUARANTINED
    assert step.unschedulable is False
    assert not entry_of(step).cordoned


def test_nobody_answers_the_label():
    """The label reads as before again, and the node is open after five minutes."""
    own = journal(APPLYING, before=before(None))
    early = step_at(own, seen(labelled_node()), after_s=299.0)
    assert waits_for(early, WaitReason.RECONFIGURATION)
    assert early.until_s == NOW_S + 300.0
    step = step_at(own, seen(labelled_node()), after_s=300.0)
    assert step.finish.result is Result.NO_RESPONSE
    assert step.finish.reason == Reason.NO_MIG_MANAGER
    assert (step.labels, step.unschedulable) == ({MIG_CONFIG: None}, False)


@pytest.mark.parametrize("state", [APPLYING, REPAIRING])
def test_an_abort_after_the_label_is_the_way_back(state):
    """There is no other: the GPUs may be half cut."""
    node = labelled_node(NOTHING, "pending", annotations={ABORT: "true"})
    step = step_at(journal(state), seen(node), after_s=60.0)
    assert step.journal.state is ROLLING_BACK
    done = journal(ROLLING_BACK, settled_since_s=NOW_S)
    last = step_at(done, seen(rolled_back_node(annotations={ABORT: "true"})), after_s=30.0)
    assert last.annotations[ABORT] is None


@pytest.mark.parametrize("state", [APPLYING, REPAIRING, ROLLING_BACK])
def test_a_foreign_value_is_never_written_back(state):
    """The node is released as it is, and left alone for a day."""
    labels = {MIG_CONFIG: "all-1g.10gb"}
    node = labelled_node(BEFORE, "success", labels=labels, config_writer="pool-controller")
    step = step_at(journal(state), seen(node), after_s=60.0)
    assert step.finish.result is Result.FOREIGN
    assert "pool-controller" in step.finish.message
    assert (step.labels, step.unschedulable) == ({}, False)
    assert entry_of(step).until_s == NOW_S + 60.0 + 86400.0


def test_while_the_manager_works_on_a_foreign_value_the_node_stays_closed():
    """Its pods would be killed by the change under way."""
    node = labelled_node(NOTHING, "pending", labels={MIG_CONFIG: "all-1g.10gb"})
    assert waits_for(
        step_at(journal(APPLYING), seen(node), after_s=60.0), WaitReason.FOREIGN_CONFIG
    )


def test_after_the_label_a_foreign_uncordon_is_undone_once():
    """The driver's manager uncordons by itself; a person who does it again means it."""
    node = labelled_node(NOTHING, "pending", unschedulable=False)
    first = step_at(journal(APPLYING, was_unschedulable=True), seen(node), after_s=60.0)
    assert first.unschedulable is True
    assert (first.journal.recordoned, first.journal.was_unschedulable) == (True, False)
    second = step_at(first.journal, seen(node), after_s=90.0)
    assert waits_for(second, WaitReason.RECONFIGURATION)


def test_a_pause_does_not_stop_what_is_past_the_label():
    """There is no way but forward or back."""
    look = seen(labelled_node(NOTHING, "failed"), paused=True)
    assert step_at(journal(APPLYING), look, after_s=60.0).journal.state is REPAIRING
