"""Past rollouts in the status ConfigMap."""

import json

import pytest

from autoscaler.control.history_json import (
    RECORDS,
    history_from_text,
    history_to_text,
    with_effects,
    with_records,
)
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result
from tests.builders import NOW_S


def record(number=0, **changes):
    """Return a rollout that ended well."""
    fields = {
        "node": f"node-{number}",
        "started_at_s": NOW_S - 300.0,
        "ended_at_s": NOW_S + number,
        "result": Result.DONE,
        "rollout": f"r-{number}",
        "serves": ("default/a", "default/b"),
    }
    return RolloutRecord(**{**fields, **changes})


def test_records_come_back_as_they_were():
    """Every field."""
    full = record(
        plan="p", pool="a100", message="m", before="x", after="y", gain=2.5, cost=1.0, served=1
    )
    assert history_from_text(history_to_text([full])) == (full,)


def test_only_the_newest_are_kept():
    """A ring: old ones make room."""
    kept = history_from_text(history_to_text(record(i) for i in range(RECORDS + 3)))
    assert len(kept) == RECORDS
    assert kept[0].node == "node-3"


@pytest.mark.parametrize("text", ["", "{", "{}", "7", '[1, {"node": "x"}]'])
def test_what_cannot_be_read_is_left_out(text):
    """History decides little, so a bad record stops nothing."""
    assert history_from_text(text) == ()


def test_one_bad_record_does_not_lose_the_others():
    """Someone edited it."""
    items = json.loads(history_to_text([record(0), record(1)]))
    items[0]["result"] = "splendid"
    assert [r.node for r in history_from_text(json.dumps(items))] == ["node-1"]


def test_a_rollout_is_recorded_once():
    """However many replicas saw its end; what is known of it is not forgotten."""
    known = record(served=2)
    assert with_records([known], [record(), record(1)]) == (known, record(1))


def test_the_effect_is_measured_after_a_while():
    """How many of its pods have left the queue."""
    early = with_effects([record()], frozenset({"default/a"}), NOW_S + 599)
    assert early[0].served is None
    later = with_effects([record()], frozenset({"default/a"}), NOW_S + 600)
    assert later[0].served == 1
    assert with_effects(later, frozenset(), NOW_S + 9000) == later
