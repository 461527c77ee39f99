"""Texts in annotations and ConfigMaps that anybody may write: read, or refused in words."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cli.moment import moment_text
from autoscaler.control.history_json import history_from_text, history_to_text
from autoscaler.control.past_json import past_from_text
from autoscaler.domain.cluster.inventory import parse_inventory
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import journal_from_text, journal_to_text
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.rollout.agent_report import report_of
from tests.builders import node
from tests.fleets import inventory
from tests.rollouts import journal

DEEP = ("[" * 100_000, '{"a":' * 50_000)
# As JSON writes them: Python reads words that JSON does not have, and whole numbers of
# any size.
odd = st.sampled_from(
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "1e300",
        "-5",
        "0.5",
        "null",
        "true",
        "[]",
        "{}",
        '""',
        '"x"',
        "[[1]]",
        "1" + "0" * 400,
        '{"a": 1}',
        '{"1g.5gb": -1}',
    ]
)

JOURNAL = json.loads(journal_to_text(journal()))
RECORD = json.loads(
    history_to_text([RolloutRecord("node-a", 1.0, 2.0, Result.DONE, serves=("team/a",))])
)[0]
QUARANTINE = {"reason": "RolledBack", "message": "m", "since": 1.0, "until": 9e9, "attempt": 1}
PAST = {
    "pool": "pool",
    "madeAt": "2030-01-10T11:00:00Z",
    "knownSeconds": 1e6,
    "services": {"nvidia.com/mig-3g.20gb": [1, 2]},
    "home": {"nvidia.com/mig-3g.20gb": 1},
    "reach": {"nvidia.com/mig-3g.20gb": [[0.5, 2]]},
}
INVENTORY = json.loads(next(iter(inventory([{"1g.5gb": 7}]).values())))
REPORT = {"rollout": "r-1", "phase": "seen", "since": 1.0, "boards": [], "message": ""}


@st.composite
def changed(draw, base):
    """Draw the text of a mapping of which some values are others, or are not there."""
    parts = []
    others = draw(st.dictionaries(st.sampled_from(sorted(base)), odd, max_size=3))
    for key, value in base.items():
        if key in others or draw(st.integers(0, 20)):
            parts.append(f"{json.dumps(key)}: {others.get(key) or json.dumps(value)}")
    return "{" + ", ".join(parts) + "}"


@given(changed(JOURNAL) | st.sampled_from(DEEP))
def test_a_journal_is_whole_or_refused(text):
    """Its times are ones that a calendar can name: they are shown to people."""
    try:
        found = journal_from_text(text)
    except ConfigError:
        return
    assert moment_text(found.deadline_s)
    assert moment_text(found.state_since_s)
    assert journal_from_text(journal_to_text(found)) == found


@given(changed(QUARANTINE) | st.sampled_from(DEEP))
def test_a_quarantine_that_cannot_be_read_has_no_end(text):
    """A person may have written it to keep us away."""
    found = Quarantine.from_text(text)
    assert found.until_s == float("inf") or moment_text(found.until_s)
    assert Quarantine.from_text(found.to_text()).until_s == found.until_s


@given(changed(RECORD) | st.sampled_from(DEEP))
def test_history_is_what_of_it_can_be_read(text):
    """One record that cannot be does not take the others with it."""
    found = history_from_text(f"[{text}, {json.dumps(RECORD)}]")
    for record in found:
        assert moment_text(record.started_at_s)
        assert moment_text(record.ended_at_s)
    assert len(found) >= (text not in DEEP)


@given(changed(PAST) | st.sampled_from(DEEP))
def test_a_past_that_cannot_be_is_none(text):
    """It is found anew within the day."""
    for own in past_from_text(f"[{text}]").values():
        assert all(number >= 0 for number in own.home.values())


@given(changed(INVENTORY) | changed(REPORT) | st.sampled_from(DEEP))
def test_what_an_agent_says_is_whole_or_refused(text):
    """Inventories with the reason; reports are as if they were not there."""
    annotations = {"mig-autoscaler.io/agent": text}
    report_of(replace(node(), annotations=annotations))
    with suppress(ConfigError):
        assert parse_inventory(text).gpus


@pytest.mark.parametrize("seconds", [-1.0, 1e12, float("inf")])
def test_a_record_of_no_calendar_is_left_out(seconds):
    """It would count for a cooldown that never ends."""
    text = json.dumps([{**RECORD, "endedAt": seconds}])
    assert history_from_text(text) == ()
