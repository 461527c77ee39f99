"""The journal survives its annotation, and nothing else passes for one."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.journal_json import journal_from_text, journal_to_text
from autoscaler.domain.journal.rollout import Journal, Layout, State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.policy.pool import Driver
from tests.rollouts import journal

text = st.text(max_size=8)
times = st.floats(0, 2e9, allow_nan=False)
counts = st.dictionaries(text, st.integers(0, 9), max_size=3).map(Counts)
gpus = st.lists(st.none() | counts, max_size=3).map(tuple)
places = st.lists(
    st.none() | st.just(Geometry()) | st.just(Geometry((GpuInstance(0, 4, "3g.20gb"),))),
    max_size=3,
).map(tuple)
journals = st.builds(
    Journal,
    id=text,
    plan=text,
    holder=text,
    epoch=st.integers(0, 99),
    state=st.sampled_from(State),
    state_since_s=times,
    deadline_s=times,
    before=st.builds(Layout, st.none() | text, gpus, counts),
    target=st.builds(Layout, text, gpus, counts),
    node_uid=text,
    attempt=st.integers(0, 9),
    cordoned_at_s=st.none() | times,
    config_written_at_s=st.none() | times,
    settled_since_s=st.none() | times,
    was_unschedulable=st.booleans(),
    recordoned=st.booleans(),
    marks=st.dictionaries(text, st.none() | text, max_size=2),
    gpus=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    evictions=st.lists(text, max_size=2).map(tuple),
    reason=text,
    pool=text,
    model=text,
    started_at_s=times,
    rollback_name=text,
    serves=st.lists(text, max_size=2).map(tuple),
    gain=times,
    cost=times,
    manager_pod=text,
)
by_agent = st.builds(
    lambda own, before, target: replace(
        own,
        driver=Driver.AGENT,
        before=replace(own.before, places=before),
        target=replace(own.target, places=target),
    ),
    journals,
    places,
    places,
)


@given(journals | by_agent)
def test_a_journal_comes_back_as_it_was(own):
    """Every field, whatever it holds."""
    assert journal_from_text(journal_to_text(own)) == own


def test_the_same_journal_has_the_same_bytes():
    """Keys are sorted and there is no white space."""
    first = journal_to_text(journal())
    assert first == journal_to_text(journal_from_text(first))
    assert json.dumps(json.loads(first), sort_keys=True, separators=(",", ":")) == first


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": "paused"}, "state is wrong"),
        ({"epoch": -1}, "epoch is wrong"),
        ({"epoch": True}, "epoch is wrong"),
        ({"deadline": "soon"}, "deadline is wrong"),
        ({"nodeUid": None}, "nodeUid is wrong"),
        ({"gpus": ["0"]}, "gpus is wrong"),
        ({"target": []}, "target is wrong"),
        ({"target": {}}, "target.config is wrong"),
        ({"observedBefore": {"a": -1}}, "observedBefore is wrong"),
        ({"more": 1}, "unknown key: more"),
        ({"holder": ...}, "lacks holder"),
    ],
)
def test_errors_name_the_key(change, message):
    """A journal that we do not wholly understand is not continued."""
    fields = {**json.loads(journal_to_text(journal())), **change}
    fields = {key: value for key, value in fields.items() if value is not ...}
    with pytest.raises(ConfigError, match=message):
        journal_from_text(json.dumps(fields))


@pytest.mark.parametrize("text", ["", "x", "[]", "null", '{"deadline": NaN}'])
def test_no_journal_at_all_is_an_error_too(text):
    """Never a traceback."""
    with pytest.raises(ConfigError, match="journal"):
        journal_from_text(text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("driver", "nobody"),
        ("driver", 3),
        ("placesTarget", {}),
        ("placesTarget", [["1g.5gb"]]),
        ("placesTarget", [[["1g.5gb", 0]]]),
        ("placesTarget", [[["1g.5gb", -1, 1]]]),
        ("placesBefore", [[["1g.5gb", 0, 1], ["2g.10gb", 0, 2]]]),
    ],
)
def test_places_that_are_none_are_refused_with_their_key(key, value):
    """The agent would destroy what it cannot find there."""
    fields = json.loads(journal_to_text(journal())) | {key: value}
    with pytest.raises(ConfigError, match=f"the journal's {key} is wrong"):
        journal_from_text(json.dumps(fields))


def test_the_journal_of_mig_manager_is_as_it_always_was():
    """A replica of an older version goes on with it."""
    fields = json.loads(journal_to_text(journal()))
    assert not {"driver", "placesBefore", "placesTarget"} & set(fields)
