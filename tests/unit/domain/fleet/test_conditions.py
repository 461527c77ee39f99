"""Why a node as it stands should be left alone for now."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.objects import Taint
from autoscaler.domain.fleet.conditions import (
    Circumstances,
    condition_holds,
    is_down,
    is_leaving,
    with_conditions_left_out,
)
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.policy.policy import Driver, RolloutRules
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node
from tests.rollouts import BEFORE_NAME, TARGET_NAME, journal

CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
PLUGIN = "nvidia.com/gpu.deploy.device-plugin"


def seen(own=None, journal=None):
    """Return a node in its circumstances."""
    return Circumstances(own or node(), journal, RolloutRules(), NOW_S)


def held(own=None, journal=None):
    """Return the reasons to leave a node alone."""
    return [hold.reason for hold in condition_holds(seen(own, journal))]


def text(own, journal=None):
    """Return the only message."""
    (hold,) = condition_holds(seen(own, journal))
    return hold.message


def test_a_node_in_order_has_no_hold():
    """Old, ready, open, and nothing under way."""
    assert held() == []


def test_faults_of_reading_are_told_one_by_one():
    """Negative and fractional amounts end there."""
    own = node(faults=("status.allocatable[nvidia.com/mig-1g.5gb] = '-1': negative",))
    assert "allocatable[nvidia.com/mig-1g.5gb] = '-1'" in text(own)


@pytest.mark.parametrize(("value", "holds"), [("true", True), ("why", True), ("false", False)])
def test_a_person_holds_a_node_by_an_annotation(value, holds):
    """Whatever is not a clear no means yes; a reason is repeated."""
    own = node(annotations={"mig-autoscaler.io/hold": value})
    assert held(own) == ([Reason.HELD] if holds else [])
    if value == "why":
        assert text(own).endswith(": why")


def quarantine(reason, until_s):
    """Return a node in quarantine."""
    own = Quarantine(reason, "it failed", NOW_S - 10.0, until_s)
    return node(annotations={"mig-autoscaler.io/quarantine": own.to_text()})


def test_quarantine_holds_until_its_time_is_over():
    """A foreign configuration keeps its own reason; unreadable text never ends."""
    assert held(quarantine("RollbackFailed", NOW_S + 1.0)) == [Reason.QUARANTINED]
    assert held(quarantine("RollbackFailed", NOW_S)) == []
    assert held(quarantine("ForeignConfig", NOW_S + 1.0)) == [Reason.FOREIGN_CONFIG]
    by_hand = node(annotations={"mig-autoscaler.io/quarantine": "keep out"})
    assert held(by_hand) == [Reason.QUARANTINED]


@pytest.mark.parametrize(
    ("key", "leaves"),
    [
        ("ToBeDeletedByClusterAutoscaler", True),
        ("karpenter.sh/disrupted", True),
        ("DeletionCandidateOfClusterAutoscaler", False),
        ("dedicated", False),
    ],
)
def test_nodes_that_an_autoscaler_deletes_are_leaving(key, leaves):
    """A candidate may still be spared."""
    own = node(taints=(Taint(key, "NoSchedule"),))
    assert is_leaving(own) is leaves
    assert held(own) == ([Reason.NODE_LEAVING] if leaves else [])


def test_a_cordon_of_others_is_respected_and_ours_is_no_hold_of_its_own():
    """A node that was cordoned before us stays theirs."""
    own = node(unschedulable=True)
    assert held(own) == [Reason.CORDONED]
    assert Reason.CORDONED not in held(own, journal())
    assert Reason.CORDONED in held(own, journal(was_unschedulable=True))


@pytest.mark.parametrize("ready", [False, None])
def test_a_node_is_down_unless_it_says_ready(ready):
    """Unknown is not ready."""
    own = node(ready=ready)
    assert is_down(seen(own))
    assert held(own) == [Reason.NOT_READY]
    assert not is_down(seen())


def test_conditions_that_a_file_leaves_out_are_no_bad_sign():
    """A condition that reads Unknown is not left out, and neither is a taint."""
    out = node(ready=None, ready_since_s=None)
    assert with_conditions_left_out(out).ready is True
    unknown = node(ready=None, ready_since_s=NOW_S - 5000.0)
    tainted = replace(out, taints=(Taint("node.kubernetes.io/unreachable", "NoExecute"),))
    down = node(ready=False)
    for own in (unknown, tainted, down):
        assert with_conditions_left_out(own) == own


def test_e05_a_stopped_kubelet_is_part_of_a_change():
    """The change is told, and not as a crash."""
    changing = node(labels={STATE: "pending"}, ready=None)
    assert held(changing) == [Reason.CHANGE_IN_PROGRESS]
    assert held(node(ready=False), journal()) == [Reason.CHANGE_IN_PROGRESS]


def test_young_and_newly_ready_nodes_warm_up():
    """Ages count from the later of the two."""
    assert held(node(created_s=NOW_S - 599.0, ready_since_s=None)) == [Reason.WARMING_UP]
    assert held(node(created_s=NOW_S - 600.0, ready_since_s=None)) == []
    assert held(node(ready_since_s=NOW_S - 60.0)) == [Reason.WARMING_UP]
    assert held(node(created_s=0.0, ready_since_s=None)) == []


@pytest.mark.parametrize("state", ["pending", "rebooting"])
def test_a_manager_at_work_is_a_change_in_progress(state):
    """Whoever asked for it; paused components are named."""
    own = node(labels={STATE: state, PLUGIN: "paused-for-mig-change"})
    assert held(own) == [Reason.CHANGE_IN_PROGRESS]
    assert f"{state}; paused: {PLUGIN}" in text(own)


@pytest.mark.parametrize("state", ["success", "failed"])
def test_components_that_stay_paused_are_not_settled(state):
    """The manager is done and never brought them back."""
    own = node(labels={STATE: state, PLUGIN: "paused-for-mig-change"})
    assert held(own) == [Reason.NOT_SETTLED]


def test_an_open_rollout_is_a_change_in_progress():
    """Its state is told."""
    own = journal(state=State.DRAINING)
    assert held(node(), own) == [Reason.CHANGE_IN_PROGRESS]
    assert "is draining" in text(node(), own)


def test_a_journal_that_is_not_of_this_node_is_unreadable():
    """Written by another version, or carried over from another node."""
    own = node(annotations={"mig-autoscaler.io/rollout": "{}"})
    assert held(own) == [Reason.UNREADABLE]


def test_e09_a_configuration_that_someone_else_set_during_our_rollout_is_foreign():
    """Who did it is told where the API server knows."""
    own = node(labels={CONFIG: "all-1g.10gb"}, config_writer="pool-controller")
    applying = journal(state=State.APPLYING)
    assert held(own, applying) == [Reason.CHANGE_IN_PROGRESS, Reason.FOREIGN_CONFIG]
    holds = condition_holds(seen(own, applying))
    assert "set to all-1g.10gb by pool-controller" in holds[1].message


def test_our_own_configurations_are_not_foreign():
    """Each state has its own name, and the repair takes the label away."""
    by_state = {
        State.APPLYING: TARGET_NAME,
        State.REPAIRING: TARGET_NAME,
        State.ROLLING_BACK: BEFORE_NAME,
        State.DRAINING: "anything",
    }
    for state, config in by_state.items():
        own = node(labels={CONFIG: config})
        assert Reason.FOREIGN_CONFIG not in held(own, journal(state=state)), state
    bare = replace(node(), labels={})
    assert Reason.FOREIGN_CONFIG not in held(bare, journal(state=State.REPAIRING))
    assert Reason.FOREIGN_CONFIG in held(bare, journal(state=State.APPLYING))


def test_a_label_is_foreign_to_no_rollout_of_the_agent():
    """Nobody obeys it there."""
    own = node(labels={"nvidia.com/mig.config": "someone-elses"})
    applying = replace(journal(state=State.APPLYING), driver=Driver.AGENT)
    assert Reason.FOREIGN_CONFIG not in held(own, applying)
