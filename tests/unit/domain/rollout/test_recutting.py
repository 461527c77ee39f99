"""A rollout that the node agent carries out, step by step."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.inventory import render_inventory
from autoscaler.domain.cluster.marks import ABORT, AGENT, INVENTORY, MIG_CONFIG, QUARANTINE
from autoscaler.domain.cluster.objects import Owner, PodRef
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.rollout.aftermath import infer_end
from autoscaler.domain.rollout.agent_report import Phase, Report, Way
from autoscaler.domain.rollout.situation import AGENT_DEADLINE_S
from autoscaler.domain.rollout.steps import Evict, PatchNode, Wait, WaitReason
from tests.agents import order
from tests.builders import NOW_S, pod
from tests.rollouts import closed_node, rules, seen, step_at

ONES = Geometry((GpuInstance(0, 1, "1g.5gb"), GpuInstance(1, 1, "1g.5gb")))
HELD = GpuInstance(4, 4, "3g.20gb")
BEFORE = ONES.plus(HELD)
TARGET = Geometry((GpuInstance(0, 2, "2g.10gb"), HELD))
# The first GPU changes, the second stays as it is.
PLACES, WISHED = (BEFORE, ONES), (TARGET, ONES)


def rollout(state, **changes):
    """Return the journal of the change."""
    return order(PLACES, WISHED, state, **{"deadline_s": NOW_S + 900.0} | changes)


def shown(places, holders):
    """Return the inventory annotation; holders by GPU index and start."""
    boards, held = [], {}
    for index, geometry in enumerate(places):
        instances = []
        for place in geometry.instances if geometry else ():
            device = f"MIG-{index}-{place.start}"
            instances.append(BoardInstance(place.start, place, (device,)))
            name = holders.get((index, place.start))
            if name:
                held[device] = PodRef("default", name)
        product = "NVIDIA-A100-SXM4-40GB"
        is_cut = geometry is not None
        boards.append(Board(index, f"GPU-{index}", product, is_cut, tuple(instances)))
    return render_inventory("580.1", boards, held)


def node(places=PLACES, phase=None, way=None, holders=None, **changes):
    """Return the closed node with what the agent has said of it."""
    annotations = {INVENTORY: shown(places, holders or {})}
    if phase is not None:
        changes_of_report = changes.pop("report", {})
        report = Report("node-a-1", phase, way, **{"since_s": NOW_S} | changes_of_report)
        annotations[AGENT] = report.to_text()
    annotations |= changes.pop("annotations", {})
    counts = [None if g is None else g.counts for g in places]
    amounts = changes.pop("offers", supply_of(counts))
    own = closed_node(counts, **changes)
    return replace(
        own,
        allocatable=amounts,
        capacity=amounts,
        annotations={**own.annotations, **annotations},
    )


def step(state, own, after_s=0.0, pods=(), by=None, **changes):
    """Return the next step some time after the state began."""
    look = seen(own, pods=pods, configurations={})
    return step_at(rollout(state, **changes), look, after_s, by)


def holder(name="web", profile="3g.20gb", **changes):
    """Return a pod on the node."""
    return pod(name, profile, node="node-a", **changes)


# Before the order.


def test_closing_needs_no_configuration():
    """The agent reads the journal; no ConfigMap has a part in it."""
    found = step(State.CLOSED, node())
    assert isinstance(found, PatchNode)
    assert (found.journal.state, found.journal.config_written_at_s) == (State.DRAINING, None)


def test_the_agents_look_is_waited_for():
    """Whatever the inventory shows, it may be from before the cordon."""
    found = step(State.DRAINING, node(), 20.0)
    assert isinstance(found, Wait)
    assert (found.reason, found.until_s) == (WaitReason.NODE_AGENT, NOW_S + 300.0)


def test_where_no_agent_looks_the_node_is_opened_again():
    """Nothing was changed, and the node rests."""
    found = step(State.DRAINING, node(), 300.0)
    assert (found.finish.result, found.finish.reason) == (Result.NO_RESPONSE, "NoAgent")
    assert (found.unschedulable, found.notice.reason) == (False, "MigAgentMissing")
    assert QUARANTINE in found.annotations


def test_an_empty_node_is_ordered_without_a_label():
    """The journal is the order; MIG manager's label stays as it is."""
    found = step(State.DRAINING, node(phase=Phase.SEEN), 20.0)
    assert found.journal.state is State.APPLYING
    assert found.journal.deadline_s == NOW_S + 20.0 + AGENT_DEADLINE_S
    assert (found.labels, found.unschedulable) == ({}, None)


def test_pods_on_instances_that_stay_do_not_have_to_leave():
    """Neither on the GPU that changes nor on the other."""
    holders = {(0, 4): "web", (1, 0): "job"}
    pods = (holder(), holder("job", "1g.5gb"))
    own = node(phase=Phase.SEEN, holders=holders)
    assert step(State.DRAINING, own, 20.0, pods).journal.state is State.APPLYING


def test_a_binding_that_was_under_way_is_waited_for():
    """Also when nobody is to be seen."""
    found = step(State.DRAINING, node(phase=Phase.SEEN), 5.0)
    assert (found.reason, found.until_s) == (WaitReason.BIND_GRACE, NOW_S + 10.0)


@pytest.mark.parametrize(
    ("late", "holders"),
    [
        (holder("late", "1g.5gb"), {}),
        (holder("late", {"nvidia.com/mig-1g.5gb": 2}), {(1, 0): "late"}),
        (holder("late", {}, gpu_runtime=True), {}),
    ],
    ids=["not shown", "one of two shown", "asked for none"],
)
def test_a_pod_that_is_not_mapped_may_be_anywhere(late, holders):
    """It is waited for; nothing is destroyed under it."""
    own = node(phase=Phase.SEEN, holders=holders)
    found = step(State.DRAINING, own, 20.0, (late,))
    assert found.reason is WaitReason.HOLDERS_UNPROVEN
    assert "default/late" in found.message


def test_a_pod_on_a_whole_gpu_sits_on_no_instance():
    """Where there are boards with MIG off, which are never cut; else it is an instance."""
    pods = (holder("whole", {"nvidia.com/gpu": 1}),)
    look = seen(node((BEFORE, None), Phase.SEEN), pods=pods, configurations={})
    own = order((BEFORE, None), (TARGET, None), State.DRAINING, deadline_s=NOW_S + 900.0)
    assert step_at(own, look, 20.0).journal.state is State.APPLYING
    found = step(State.DRAINING, node(phase=Phase.SEEN), 20.0, pods)
    assert found.reason is WaitReason.HOLDERS_UNPROVEN


def test_a_pod_that_came_to_an_instance_that_was_to_go_ends_the_rollout():
    """A new plan cuts around it; the node need not stay closed until it ends."""
    own = node(phase=Phase.SEEN, holders={(0, 1): "late"})
    found = step(State.DRAINING, own, 20.0, (holder("late", "1g.5gb"),))
    assert (found.finish.result, found.finish.reason) == (Result.ABORTED, "GpusBusy")
    assert found.unschedulable is False


def test_a_pod_that_is_ending_is_waited_for():
    """Its instance is free soon."""
    own = node(phase=Phase.SEEN, holders={(0, 1): "late"})
    ending = holder("late", "1g.5gb", deletion_s=NOW_S + 30.0)
    found = step(State.DRAINING, own, 20.0, (ending,))
    assert (found.reason, found.message) == (
        WaitReason.DEVICE_HOLDERS,
        "default/late to leave",
    )


def test_a_planned_eviction_is_asked_for():
    """Of the pod on the instance that goes, not of its neighbor."""
    web = holder("web", "1g.5gb", owner=Owner("ReplicaSet", "web"))
    own = node(phase=Phase.SEEN, holders={(0, 1): "web", (0, 4): "other"})
    pods = (web, holder("other"))
    by = rules(enabled=True)
    found = step(State.DRAINING, own, 20.0, pods, by, evictions=("default/web",))
    assert found == Evict((web.ref,))


def test_what_the_agent_finds_wrong_before_the_order_ends_it():
    """The boards are not as the plan saw them."""
    report = {"message": "GPU 0 holds nothing"}
    found = step(State.DRAINING, node(phase=Phase.FAILED, report=report), 20.0)
    assert (found.finish.result, found.finish.message) == (
        Result.ABORTED,
        "GPU 0 holds nothing",
    )


def test_an_answer_to_another_rollout_is_none():
    """It is what the last one has left."""
    old = {AGENT: Report("node-a-0", Phase.SEEN).to_text()}
    found = step(State.DRAINING, node(annotations=old), 20.0)
    assert found.reason is WaitReason.NODE_AGENT


def test_a_foreign_label_does_not_matter():
    """Nobody obeys it on a node of the agent."""
    own = node(phase=Phase.SEEN, labels={MIG_CONFIG: "all-disabled"})
    assert step(State.DRAINING, own, 20.0).journal.state is State.APPLYING
    own = node(WISHED, Phase.DONE, Way.FORWARD, labels={MIG_CONFIG: "all-disabled"})
    assert step(State.APPLYING, own, 60.0).journal.settled_since_s == NOW_S + 60.0


# Under the order.


def test_done_means_places_amounts_and_a_new_plugin():
    """All three, and they must stay so for a while."""
    own = node(WISHED, Phase.DONE, Way.FORWARD)
    found = step(State.APPLYING, own, 60.0)
    assert found.journal.settled_since_s == NOW_S + 60.0
    waiting = step(State.APPLYING, own, 80.0, settled_since_s=NOW_S + 60.0)
    assert (waiting.reason, waiting.until_s) == (WaitReason.SETTLING, NOW_S + 90.0)
    end = step(State.APPLYING, own, 90.0, settled_since_s=NOW_S + 60.0)
    assert (end.finish.result, end.journal, end.unschedulable) == (Result.DONE, None, False)


@pytest.mark.parametrize(
    "own",
    [
        node(WISHED, Phase.RESTARTING, Way.FORWARD),
        node(PLACES, Phase.DONE, Way.FORWARD),
        node(WISHED, Phase.DONE, Way.BACK),
        node(WISHED, Phase.DONE, Way.FORWARD, offers=supply_of([ONES.counts])),
        node(WISHED, Phase.DONE, Way.FORWARD, ready=False),
        node(WISHED),
    ],
    ids=["old plugin", "old places", "other way", "other amounts", "not ready", "no answer"],
)
def test_less_than_all_of_it_is_not_done(own):
    """It is waited for."""
    found = step(State.APPLYING, own, 60.0)
    assert (type(found), found.reason) == (Wait, WaitReason.RECONFIGURATION)


def test_same_amounts_elsewhere_are_told_apart():
    """What the node offers is the same before and after."""
    moved = Geometry((GpuInstance(2, 1, "1g.5gb"), GpuInstance(3, 1, "1g.5gb"), HELD))
    own = order([BEFORE], [moved], deadline_s=NOW_S + 900.0)
    still = replace(node([BEFORE], Phase.DONE, Way.FORWARD))
    assert isinstance(step_at(own, seen(still), 60.0), Wait)
    there = node([moved], Phase.DONE, Way.FORWARD)
    assert step_at(own, seen(there), 60.0).journal.settled_since_s == NOW_S + 60.0


def test_what_the_agent_refuses_is_undone_at_once():
    """With its words."""
    own = node(PLACES, Phase.FAILED, Way.FORWARD, report={"message": "no room"})
    found = step(State.APPLYING, own, 60.0)
    assert (found.journal.state, found.journal.reason) == (State.ROLLING_BACK, "no room")
    assert (found.labels, found.notice.warning) == ({}, True)


def test_what_blocks_the_agent_is_undone_after_a_while():
    """Someone may let go of it by then."""
    own = node(PLACES, Phase.BLOCKED, Way.FORWARD, report={"message": "in use"})
    waiting = step(State.APPLYING, own, 299.0)
    assert (waiting.reason, waiting.until_s) == (WaitReason.RECONFIGURATION, NOW_S + 300.0)
    assert "in use" in waiting.message
    found = step(State.APPLYING, own, 300.0)
    assert found.journal.reason == "the node agent cannot go on: in use"


def test_an_agent_that_never_begins_has_changed_nothing():
    """So the node is opened again at once."""
    own = node(phase=Phase.SEEN)
    assert isinstance(step(State.APPLYING, own, 299.0), Wait)
    found = step(State.APPLYING, own, 300.0)
    assert (found.finish.result, found.notice.reason) == (Result.NO_RESPONSE, "MigAgentMissing")


def test_an_agent_that_dies_half_way_is_asked_to_go_back_at_the_deadline():
    """It has said that it began, so nobody knows how far it is."""
    own = node(phase=Phase.WORKING, way=Way.FORWARD)
    assert isinstance(step(State.APPLYING, own, 899.0), Wait)
    found = step(State.APPLYING, own, 900.0)
    assert found.journal.state is State.ROLLING_BACK
    assert found.journal.reason == "not done at the deadline, the node agent is working"


def test_an_abort_leads_back():
    """Also in the middle."""
    own = node(phase=Phase.WORKING, way=Way.FORWARD, annotations={ABORT: "true"})
    found = step(State.APPLYING, own, 60.0)
    assert found.journal.state is State.ROLLING_BACK


def test_a_node_that_someone_opens_is_closed_again_once():
    """As with any driver."""
    own = replace(node(phase=Phase.WORKING, way=Way.FORWARD), unschedulable=False)
    found = step(State.APPLYING, own, 60.0)
    assert (found.unschedulable, found.journal.recordoned) == (True, True)
    assert isinstance(step(State.APPLYING, own, 60.0, recordoned=True), Wait)


# The way back.


def test_the_way_back_is_verified_like_the_way_forward():
    """The agent must have gone back, though the amounts never changed."""
    waiting = step(State.ROLLING_BACK, node(PLACES, Phase.FAILED, Way.FORWARD), 60.0)
    assert waiting.reason is WaitReason.RECONFIGURATION
    own = node(PLACES, Phase.DONE, Way.BACK)
    found = step(State.ROLLING_BACK, own, 90.0, settled_since_s=NOW_S + 60.0, reason="no room")
    assert (found.finish.result, found.finish.message.partition(";")[0]) == (
        Result.ROLLED_BACK,
        "no room",
    )


@pytest.mark.parametrize(
    ("own", "after_s", "opened"),
    [
        (node(PLACES, Phase.FAILED, Way.BACK, report={"message": "lost"}), 1.0, False),
        (node(PLACES, Phase.BLOCKED, Way.BACK, report={"message": "in use"}), 900.0, None),
        (node(PLACES, Phase.WORKING, Way.BACK), 900.0, None),
        (node(PLACES, Phase.FAILED, Way.FORWARD), 300.0, None),
    ],
    ids=["refused", "blocked", "late", "silent"],
)
def test_where_the_way_back_fails_too_the_node_is_left_alone(own, after_s, opened):
    """Open only where what it offers is what there is; with both reasons."""
    found = step(State.ROLLING_BACK, own, after_s, reason="no room")
    assert found.finish.result is Result.QUARANTINED
    assert found.finish.message.startswith("no room; the way back failed too: ")
    assert found.unschedulable is opened
    assert ('"cordoned":true' in found.annotations[QUARANTINE]) is (opened is None)


def test_after_a_failed_way_back_kubelet_is_waited_for():
    """It still shows what the device plugin knew before it started anew."""
    stale = supply_of([BEFORE.counts, ONES.counts, ONES.counts])
    report = {"message": "lost"}
    own = node(PLACES, Phase.FAILED, Way.BACK, report=report, offers=stale)
    assert step(State.ROLLING_BACK, own, 1.0).reason is WaitReason.RECONFIGURATION
    found = step(State.ROLLING_BACK, own, 900.0)
    assert (found.finish.result, found.unschedulable) == (Result.QUARANTINED, None)


# The end that nobody saw.


@pytest.mark.parametrize(
    ("places", "result"),
    [(WISHED, Result.DONE), (PLACES, Result.ABORTED), ((ONES, ONES), Result.GONE)],
    ids=["target", "before", "neither"],
)
def test_an_unseen_end_is_told_by_the_places(places, result):
    """The label says nothing here."""
    own = replace(node(places), unschedulable=False)
    assert infer_end(rollout(State.APPLYING), own).result is result
