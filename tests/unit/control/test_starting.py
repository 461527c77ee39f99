"""What may start: long enough proposed, in a pool without trouble, on an unchanged node."""

from dataclasses import replace

import pytest

from autoscaler.control.briefing import Briefing, journal_on, open_journals
from autoscaler.control.starting import changed_since, persisted, without_troubled_pools
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.reasons import Block, Reason
from autoscaler.planning.gating.persistence import Sighting, proposal_of
from tests.builders import NOW_S, fleet_node, node
from tests.fleets import policy
from tests.outcomes import plan
from tests.rollouts import BEFORE, BEFORE_NAME, TARGET_NAME, change, journal

LAYOUT = [dict(c) for c in BEFORE]
MEMBER = fleet_node(layout=LAYOUT)
SEEN = change(observed=observed_hash(MEMBER, (0,)))


def rolling(own=None, **changes):
    """Return a node that carries a journal."""
    text = journal_to_text(own or journal())
    return node(annotations={"mig-autoscaler.io/rollout": text}, **changes)


def test_a_proposal_starts_when_it_was_there_for_long_enough():
    """And nothing blocks it."""
    key = proposal_of(SEEN, SEEN.gpus[0])
    for since_s, starts in ((NOW_S - 60.0, True), (NOW_S - 59.0, False)):
        found = persisted(plan(SEEN), {key: Sighting(since_s, 3, NOW_S)}, policy(), NOW_S)
        assert bool(found) is starts
    blocked = replace(SEEN, blocked_by=(Block(Reason.PAUSED, "paused"),))
    assert persisted(plan(blocked), {key: Sighting(0.0, 3, NOW_S)}, policy(), NOW_S) == ()
    assert persisted(plan(SEEN), {}, policy(), NOW_S) == ()


@pytest.mark.parametrize(
    ("state", "is_blocked"),
    [(State.REPAIRING, True), (State.ROLLING_BACK, True), (State.APPLYING, False)],
)
def test_trouble_on_one_node_keeps_its_pool_from_starting_more(state, is_blocked):
    """What is wrong there is likely to be wrong here."""
    troubled = {"node-z": journal(state, pool="pool")}
    (found,) = without_troubled_pools(plan(SEEN), troubled).changes
    assert bool(found.blocked_by) is is_blocked
    elsewhere = {"node-z": journal(state, pool="other")}
    assert without_troubled_pools(plan(SEEN), elsewhere).changes == (SEEN,)


def test_a_node_that_is_as_the_plan_saw_it():
    """Nothing to object."""
    assert changed_since(SEEN, MEMBER) == ""


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (None, "not in the fleet"),
        (fleet_node(layout=LAYOUT, node=node(layout=LAYOUT, uid="x")), "another node"),
        (fleet_node(layout=LAYOUT, held=[{"1g.5gb": 1}]), "have changed"),
        (fleet_node(layout=LAYOUT, node=node(layout=[LAYOUT[0]])), "have changed"),
    ],
)
def test_what_changed_since_is_said(member, said):
    """Gone, replaced, held by now, or cut otherwise."""
    assert said in changed_since(SEEN, member)


def test_journals_are_found_on_their_own_nodes_only():
    """One of another uid came with a backup, one that is no journal from a person."""
    assert journal_on(node()) == (None, "")
    assert journal_on(rolling())[0] == journal()
    assert "another node" in journal_on(rolling(uid="uid-new"))[1]
    odd = node(annotations={"mig-autoscaler.io/rollout": "{"})
    assert "not JSON" in journal_on(odd)[1]
    assert open_journals([odd, rolling(), node("b")]) == {"node-a": journal()}


def test_names_in_use_are_those_of_labels_and_journals():
    """None of them may go from the ConfigMap."""
    nodes = (rolling(), node("b", labels={"nvidia.com/mig.config": "as-b"}))
    briefing = Briefing(Observation(NOW_S, nodes=nodes), policy())
    assert briefing.names_in_use == {TARGET_NAME, BEFORE_NAME, "as-b"}
