"""A rollout whose leader dies after any write ends as if it had not."""

from dataclasses import dataclass, replace

import pytest

from autoscaler.domain.cluster.marks import (
    DEPLOY_PREFIX,
    MIG_CONFIG,
    MIG_CONFIG_STATE,
    PAUSED_FOR_CHANGE,
    QUARANTINE,
)
from autoscaler.domain.cluster.objects import Owner
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.rollout.steps import Evict, EvictManagerPod, Wait
from tests.builders import NOW_S, pod
from tests.rollouts import (
    BEFORE_NAME,
    TARGET_NAME,
    Bench,
    before,
    closed_node,
    journal,
    rules,
    target,
)

PLUGIN = DEPLOY_PREFIX + "device-plugin"
RUN_S, CYCLE_S = 90.0, 30.0
OFFERS = {TARGET_NAME: target().resources, BEFORE_NAME: before().resources}
RESULTS = {
    "well": Result.DONE,
    "fails the target": Result.ROLLED_BACK,
    "wedges until restarted": Result.DONE,
    "fails always": Result.QUARANTINED,
    "is not there": Result.NO_RESPONSE,
}


@dataclass
class Manager:
    """MIG manager as far as a rollout meets it: one run for each change of the label."""

    manner: str
    label: str = BEFORE_NAME
    pod_uid: str = "uid-manager"
    ends_at_s: float | None = None

    def act(self, bench):
        """Start or end a run on the node."""
        label = bench.node.labels.get(MIG_CONFIG, "")
        restarted = bench.manager_pod.uid != self.pod_uid
        if label and self.manner != "is not there" and (label != self.label or restarted):
            self.ends_at_s = bench.now_s + RUN_S
            paused = {MIG_CONFIG_STATE: "pending", PLUGIN: PAUSED_FOR_CHANGE}
            show(bench, paused, Counts())
        self.label, self.pod_uid = label, bench.manager_pod.uid
        if self.ends_at_s is not None and bench.now_s >= self.ends_at_s:
            self.end(bench)

    def end(self, bench):
        """End a run as this manager does."""
        wedges = self.manner == "wedges until restarted" and self.pod_uid == "uid-manager"
        if wedges:
            return
        self.ends_at_s = None
        bad = self.manner == "fails always" or (
            self.manner == "fails the target" and self.label == TARGET_NAME
        )
        state = {MIG_CONFIG_STATE: "failed" if bad else "success", PLUGIN: "true"}
        show(bench, state, Counts() if bad else OFFERS[self.label])


def show(bench, labels, amounts):
    """Let kubelet and MIG manager update the node."""
    bench.node = replace(
        bench.node,
        labels={**bench.node.labels, **labels},
        allocatable=amounts,
        capacity=amounts,
    )


def new_bench():
    """Return a node just closed, with one pod that the plan may evict."""
    holder = pod("web-1", node="node-a", owner=Owner("ReplicaSet", "web"))
    own = journal(gpus=(0, 1), evictions=("default/web-1",), deadline_s=NOW_S + 1200.0)
    node = closed_node(labels={PLUGIN: "true"})
    return Bench(node, own, pods=(holder,), configurations={BEFORE_NAME: None})


def run(manner, crash_after=None, crashes_before=False):
    """Run a rollout to its end; the leader dies around one of its effects."""
    bench, manager = new_bench(), Manager(manner)
    epoch = effects = 0
    for _ in range(400):
        while bench.journal is not None:
            if crashes_before and effects == crash_after and epoch == 0:
                # It dies with the decision in hand: nothing was sent.
                epoch = 1
                break
            by = rules(epoch=1 + epoch, holder=f"leader-{epoch}", enabled=True)
            step = bench.take(by)
            if isinstance(step, Wait):
                break
            effects += 1
            if effects == crash_after and not crashes_before:
                epoch = 1
                break
            if isinstance(step, Evict | EvictManagerPod):
                break
        if bench.journal is None:
            return bench, effects
        bench.now_s += CYCLE_S
        manager.act(bench)
    raise AssertionError(f"no end: {bench.steps[-3:]}")


def end_of(bench):
    """Return what must be the same at the end, however it was reached."""
    annotations = {k: v for k, v in bench.node.annotations.items() if k != QUARANTINE}
    labels = dict(bench.node.labels)
    return (
        bench.finish.result,
        labels,
        annotations,
        bench.node.unschedulable,
        bench.node.allocatable,
        QUARANTINE in bench.node.annotations,
    )


@pytest.mark.parametrize("manner", RESULTS)
def test_each_manner_of_the_manager_has_its_end(manner):
    """Undisturbed, the rollout ends as the manager's manner calls for."""
    bench, _ = run(manner)
    assert bench.finish.result is RESULTS[manner]
    is_dead = bench.finish.result is Result.QUARANTINED
    assert bench.node.unschedulable is is_dead
    good = TARGET_NAME if bench.finish.result is Result.DONE else BEFORE_NAME
    assert bench.node.labels[MIG_CONFIG] == good
    assert bench.node.allocatable == (Counts() if is_dead else OFFERS[good])


@pytest.mark.parametrize("before_sending", [False, True])
@pytest.mark.parametrize("manner", RESULTS)
def test_a_leader_that_dies_at_any_effect_changes_nothing(manner, before_sending):
    """The next leader goes on from the journal to the very same end."""
    undisturbed, effects = run(manner)
    assert effects >= 6
    for k in range(effects + 1):
        bench, _ = run(manner, crash_after=k, crashes_before=before_sending)
        assert end_of(bench) == end_of(undisturbed), f"crash at effect {k}"


def test_the_states_of_a_failed_rollout_follow_the_table():
    """Closed, draining, applying, repairing, rolling back, and the end."""
    bench, _ = run("fails always")
    states = [step.journal.state for step in bench.steps if getattr(step, "journal", None)]
    order = list(dict.fromkeys(states))
    assert order == [
        State.CLOSED,
        State.DRAINING,
        State.APPLYING,
        State.REPAIRING,
        State.ROLLING_BACK,
    ]
