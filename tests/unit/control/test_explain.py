"""Why a node is, or is not, changed, and a pod is, or is not, served."""

import pytest

from autoscaler.control.explain import Sight, explain_node, explain_pod
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.reasons import Block, Hold, PodNote, Reason
from tests.builders import NOW_S, fleet_node, node, observation, pod, snapshot
from tests.outcomes import plan
from tests.rollouts import change, journal

WAITING = pod("a")
BLOCK = Block(Reason.OUTSIDE_WINDOW, "no window is open until 22:00")
HELD = Hold(Reason.HELD, "a person holds it", "node-a")
ENTRY = Quarantine("RolledBack", "it failed", 0.0, NOW_S + 60.0, 2)
ROLLING = {"mig-autoscaler.io/rollout": journal_to_text(journal(State.APPLYING))}


def sight(*objects, member=None, changes=(), notes=(), history=(), **demand):
    """Return what an explanation rests on."""
    return Sight(
        observation(*(objects or (node(), WAITING))),
        snapshot(member or fleet_node()),
        Demand(**demand),
        plan(*changes, unserved=tuple(notes)),
        tuple(history),
    )


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (sight(), "its present layout is the best there is for the demand"),
        (sight(member=fleet_node(holds=(HELD,))), "it is left alone: a person holds it"),
        (sight(member=fleet_node(reserved=True)), "it is reserved for whole GPUs"),
        (sight(member=fleet_node("other")), "it is in no pool of the policy"),
        (sight(changes=[change()]), "is proposed and may start"),
        (sight(changes=[change(blocked_by=(BLOCK,))]), "no window is open until 22:00"),
        (sight(node(annotations=ROLLING)), "it is being changed to"),
    ],
)
def test_a_node_gets_the_sentence_that_matters_most(seen, verdict):
    """What is under way, then what is proposed, then why not."""
    assert verdict in explain_node("node-a", seen).verdict


def test_a_node_that_does_not_exist():
    """Not an error: an answer."""
    assert explain_node("node-x", sight()).verdict == "there is no node node-x"


def test_a_node_comes_with_its_past():
    """Newest first, and with its quarantine."""
    records = [
        RolloutRecord("node-a", 0.0, 1.0, Result.ABORTED),
        RolloutRecord("node-a", 2.0, 3.0, Result.DONE),
        RolloutRecord("node-b", 2.0, 3.0, Result.DONE),
    ]
    ill = node(annotations={"mig-autoscaler.io/quarantine": ENTRY.to_text()})
    found = explain_node("node-a", sight(ill, history=records))
    assert [r.result for r in found.history] == [Result.DONE, Result.ABORTED]
    assert found.quarantine == ENTRY


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (sight(changes=[change(serves=(WAITING.ref,))]), "and the change may start"),
        (
            sight(changes=[change(serves=(WAITING.ref,), blocked_by=(BLOCK,))]),
            "but not yet: no window is open until 22:00",
        ),
        (sight(notes=[PodNote(WAITING.ref, Reason.NO_CAPACITY, "all is full")]), "all is full"),
        (sight(ignored=(PodNote(WAITING.ref, Reason.GATED, "it is gated"),)), "it is gated"),
        (sight(impossible=(PodNote(WAITING.ref, Reason.WHOLE_GPU, "too big"),)), "too big"),
        (sight(fits_today=(PodNote(WAITING.ref, Reason.FITS_TODAY, "it fits"),)), "it fits"),
        (sight(), "no change is needed for it"),
    ],
)
def test_a_pod_gets_the_sentence_that_matters_most(seen, verdict):
    """The change that is for it, or the reason why there is none."""
    assert verdict in explain_pod(PodRef("default", "a"), seen).verdict


def test_a_bound_pod_and_one_that_does_not_exist():
    """Neither waits for anything."""
    bound = pod("a", node="node-a")
    note = PodNote(bound.ref, Reason.BOUND, "bound")
    assert explain_pod(bound.ref, sight(bound, ignored=(note,))).verdict.endswith("node node-a")
    missing = explain_pod(PodRef("x", "y"), sight())
    assert missing.verdict == "there is no pod x/y"
