"""Marks on nodes without a rollout are cleaned up."""

from dataclasses import replace

import pytest

from autoscaler.domain.cluster.marks import ABORT, OVERRULED, QUARANTINE, ROLLOUT
from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.domain.rollout.upkeep import upkeep_of
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


RECUT = replace(LAST, after="all-3g.20gb")


def overruled(annotations=None, last=RECUT, **changes):
    """Return what a node needs that carries another value than our change gave it."""
    labels = {"nvidia.com/mig.config": "all-1g.5gb"}
    return patch_of(annotations, last, labels=labels, **{"created_s": NOW_S - 9e5, **changes})


def test_e09_a_value_set_after_our_change_is_left_and_the_node_with_it():
    """For a day, with the writer's name; two writers would cut it in turns for ever."""
    step = overruled(config_writer="pool-controller")
    entry = Quarantine.from_text(step.annotations[QUARANTINE])
    assert (entry.reason, entry.until_s) == (Reason.FOREIGN_CONFIG, NOW_S + 86400.0)
    assert "all-1g.5gb by pool-controller after our change to all-3g.20gb" in entry.message
    assert step.labels == {}
    assert step.unschedulable is None
    assert step.notice.warning


def test_e09_it_is_told_once_for_each_change_of_ours():
    """So that an operator can clear it, and so that it ends."""
    assert overruled({OVERRULED: "r"}) is None
    assert overruled({OVERRULED: "an older one"}) is not None


def test_e09_our_own_value_and_what_we_never_finished_are_no_foreign_ones():
    """Nor is the template's value on a node that was made anew under the name."""
    assert overruled(last=replace(RECUT, after="all-1g.5gb")) is None
    assert overruled(last=replace(RECUT, result=Result.ABORTED)) is None
    assert overruled(last=None) is None
    assert overruled(created_s=NOW_S - 50.0) is None


def test_e09_a_node_that_we_had_closed_is_not_forgotten():
    """The new entry still says who opens it."""
    step = overruled({QUARANTINE: ENTRY.to_text()}, unschedulable=True)
    assert Quarantine.from_text(step.annotations[QUARANTINE]).cordoned


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
