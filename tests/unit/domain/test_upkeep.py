"""Marks on nodes without a rollout are cleaned up."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.history import RolloutRecord
from autoscaler.domain.marks import ABORT, QUARANTINE, ROLLOUT
from autoscaler.domain.quarantine import Quarantine
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.domain.rollout import Result
from autoscaler.domain.upkeep import upkeep_of
from tests.builders import NOW_S, fleet_node, node

ENTRY = Quarantine(
    "RollbackFailed", "m", NOW_S - 60.0, NOW_S + 60.0, 2, True, "r", Result.QUARANTINED
)
FAILING = Hold(Reason.START_FAILURES, "2 pods cannot start", "node-a")
LAST = RolloutRecord("node-a", NOW_S - 500.0, NOW_S - 100.0, Result.DONE, rollout="r")


def patch_of(annotations=None, last=None, now_s=NOW_S, holds=(), **changes):
    """Return what a node with these annotations needs."""
    own = node(annotations=annotations or {}, **changes)
    found = upkeep_of(
        fleet_node(node=own, holds=holds), last, first_backoff_s=600.0, now_s=now_s
    )
    return None if found is None else found.patch


def quarantined(entry=ENTRY, **changes):
    """Return what a node in quarantine needs."""
    return patch_of({QUARANTINE: entry.to_text()}, **{"unschedulable": True, **changes})


BROKEN = {"allocatable": Counts(), "capacity": Counts()}


def test_a_quiet_node_needs_nothing():
    """Nor does one in the middle of its quarantine."""
    assert patch_of() is None
    assert quarantined(**BROKEN) is None


def test_a_node_that_recovered_is_opened_and_still_left_alone():
    """Cordoned only as long as it advertises nothing sane."""
    step = quarantined()
    assert step.unschedulable is False
    assert Quarantine.from_text(step.annotations[QUARANTINE]) == replace(ENTRY, cordoned=False)


def test_after_its_time_it_is_opened_and_failures_stay_counted():
    """The next failure waits twice as long."""
    step = quarantined(now_s=NOW_S + 60.0, **BROKEN)
    assert step.unschedulable is False
    assert Quarantine.from_text(step.annotations[QUARANTINE]).attempt == 2


def test_a_person_who_opened_it_is_respected():
    """And so is one who cordoned it for reasons of their own."""
    assert quarantined(unschedulable=False) is None
    assert quarantined(replace(ENTRY, cordoned=False)) is None


def test_a_cleared_quarantine_is_removed_and_the_node_opened():
    """By our command, which keeps the entry, or by the bare word."""
    step = quarantined(replace(ENTRY, cleared=True), **BROKEN)
    assert (step.annotations, step.unschedulable) == ({QUARANTINE: None}, False)
    bare = patch_of({QUARANTINE: "clear"}, unschedulable=True)
    assert (bare.annotations, bare.unschedulable) == ({QUARANTINE: None}, None)


def test_what_a_person_wrote_there_stays():
    """It keeps us away until they remove it."""
    assert patch_of({QUARANTINE: "keep out"}, unschedulable=True) is None


def test_a_request_to_abort_nothing_is_removed():
    """It would end the next rollout."""
    assert patch_of({ABORT: "true"}).annotations == {ABORT: None}


def test_nodes_with_a_rollout_are_left_to_it():
    """Also when the journal cannot be read."""
    assert patch_of({ABORT: "true", ROLLOUT: "?"}) is None


def test_pods_that_cannot_start_after_a_change_close_the_node():
    """Until it has rested; it offers resources, so that does not open it."""
    step = patch_of(last=LAST, holds=(FAILING,))
    assert step.unschedulable is True
    entry = Quarantine.from_text(step.annotations[QUARANTINE])
    assert (entry.reason, entry.attempt, entry.until_s) == ("StartFailures", 1, NOW_S + 600.0)
    assert patch_of(step.annotations, LAST, unschedulable=True, holds=(FAILING,)) is None


@pytest.mark.parametrize(
    "last",
    [None, replace(LAST, ended_at_s=NOW_S - 901.0), replace(LAST, result=Result.ABORTED)],
)
def test_pods_that_cannot_start_for_other_reasons_close_nothing(last):
    """Only soon after a change is it the change."""
    assert patch_of(last=last, holds=(FAILING,)) is None
