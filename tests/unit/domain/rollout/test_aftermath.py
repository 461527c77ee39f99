"""How a rollout ended that nobody was there to record."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.marks import QUARANTINE
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.rollout.aftermath import infer_end
from tests.rollouts import AFTER, closed_node, journal, labelled_node, seen, step_at

OWN = journal(State.APPLYING)


def opened(own, **changes):
    """Return a node after its release."""
    return replace(own, unschedulable=False, annotations={}, **changes)


@pytest.mark.parametrize(
    ("node", "result"),
    [
        (None, Result.GONE),
        (closed_node(uid="uid-other"), Result.GONE),
        (opened(labelled_node(AFTER, "success")), Result.DONE),
        (opened(closed_node()), Result.ABORTED),
        (closed_node(), Result.GONE),
        (opened(closed_node(labels={"nvidia.com/mig.config": "x"})), Result.FOREIGN),
    ],
)
def test_the_node_tells(node, result):
    """Done, undone, taken over, or left cordoned by whoever removed the journal."""
    assert infer_end(OWN, node).result is result


@pytest.mark.parametrize("result", [Result.ROLLED_BACK, Result.QUARANTINED, Result.FOREIGN])
def test_a_quarantine_of_this_rollout_says_how_it_ended(result):
    """One of another rollout does not."""
    entry = Quarantine("Reason", "m", 0.0, 1.0, rollout=OWN.id, result=result)
    node = opened(closed_node())
    there = replace(node, annotations={QUARANTINE: entry.to_text()})
    assert infer_end(OWN, there).result is result
    older = replace(entry, rollout="another")
    before = replace(node, annotations={QUARANTINE: older.to_text()})
    assert infer_end(OWN, before).result is Result.ABORTED


def test_it_agrees_with_what_the_machine_would_have_recorded():
    """The last write, landed but unanswered."""
    own = replace(OWN, settled_since_s=OWN.state_since_s)
    node = labelled_node(AFTER, "success")
    step = step_at(own, seen(node), after_s=60.0)
    assert infer_end(own, opened(node)).result is step.finish.result
