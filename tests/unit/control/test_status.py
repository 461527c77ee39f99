"""The status ConfigMap: what is in it, and what is read back."""

import json
from dataclasses import replace

import pytest

from autoscaler.control.conditions import conditions_of
from autoscaler.control.outcome import Decision
from autoscaler.control.status import (
    HISTORY,
    NAME,
    STATUS,
    Kept,
    kept_in,
    read_status,
    status_of,
)
from autoscaler.domain.cluster.objects import ConfigMap, Observation
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.policy.policy import DailySpan, Disruption, Mode
from autoscaler.domain.reasons import Block, Reason
from tests.builders import NOW_S
from tests.fleets import policy
from tests.outcomes import outcome, plan, view
from tests.rollouts import change, journal

AUTO = policy(mode=Mode.AUTO)
PAUSE = "mig-autoscaler.io/pause"


def conditions(rules=AUTO, before=None, **changes):
    """Return conditions by type."""
    return {c.type: c for c in conditions_of(outcome(**changes), rules, before or {})}


def test_a_good_cycle_has_good_conditions():
    """Everything is as it should be but metrics, which are complete here."""
    found = {name: c.status for name, c in conditions().items()}
    assert found == {
        "Ready": "True",
        "PolicyValid": "True",
        "MetricsFresh": "True",
        "WindowOpen": "True",
        "SafeToAct": "True",
        "Leader": "True",
        "Progressing": "False",
        "Degraded": "False",
    }


@pytest.mark.parametrize(
    ("rules", "changes", "kind", "status", "reason"),
    [
        (
            AUTO,
            {"decision": Decision.INCOMPLETE, "view": None},
            "Ready",
            "False",
            "CycleIncomplete",
        ),
        (AUTO, {"view": None}, "MetricsFresh", "Unknown", "NotObserved"),
        (AUTO, {"view": view(metrics_gap="down")}, "MetricsFresh", "False", "Gap"),
        (AUTO, {"view": view(paused="ops")}, "SafeToAct", "False", "Paused"),
        (policy(), {}, "SafeToAct", "False", "Mode"),
        (policy(), {}, "Leader", "False", "NoLease"),
        (policy(disruption=Disruption(windows=())), {}, "WindowOpen", "False", "Closed"),
        (AUTO, {"errors": ("boom",)}, "Degraded", "True", "Errors"),
        (AUTO, {"journals": {"n": journal()}}, "Progressing", "True", "RolloutsOpen"),
        (
            AUTO,
            {"journals": {"n": journal(State.ROLLING_BACK)}},
            "Degraded",
            "True",
            "RolloutTrouble",
        ),
    ],
)
def test_conditions_say_what_is_not_well(rules, changes, kind, status, reason):
    """With a reason each."""
    found = conditions(rules, **changes)[kind]
    assert (found.status, found.reason) == (status, reason)


def test_a_condition_keeps_its_time_until_it_changes():
    """Its message may change meanwhile."""
    before = conditions()
    later = conditions(before=before, ended_s=NOW_S + 60.0)
    assert later["Ready"].since_s == NOW_S + 0.5
    failed = conditions(before=before, ended_s=NOW_S + 60.0, errors=("boom",))
    assert failed["Degraded"].since_s == NOW_S + 60.0


def test_the_status_names_rollouts_plan_and_window():
    """For people and for the next leader."""
    own = journal(State.DRAINING)
    blocked = change(blocked_by=(Block(Reason.PAUSED, "paused"),))
    rules = policy(disruption=Disruption(windows=(DailySpan(start="22:00", end="23:00"),)))
    status = status_of(
        outcome(journals={"n": own}, plan=plan(blocked, change())), rules, Kept()
    )
    (rollout,) = status["openRollouts"]
    assert (rollout["node"], rollout["state"]) == ("n", "draining")
    assert status["plan"]["blocked"] == {"Paused": 1}
    assert (status["plan"]["changes"], status["plan"]["mayStart"]) == (2, 1)
    assert status["window"] == {
        "open": True,
        "closesAt": "2023-11-14T23:00:00Z",
        "opensAt": None,
    }


def stored(status, **annotations):
    """Return the ConfigMap as it would be read back."""
    data = {STATUS: json.dumps(status), HISTORY: "[]"}
    return ConfigMap("mig-autoscaler", NAME, data=data, annotations=annotations)


def test_what_was_written_is_read_back():
    """Open rollouts and the times of conditions."""
    own = journal(State.DRAINING)
    kept = read_status(stored(status_of(outcome(journals={"n": own}), AUTO, Kept())))
    assert kept.journals == {"n": own}
    assert kept.conditions["Ready"].since_s == float(int(NOW_S + 0.5))
    assert kept.conditions["Ready"].status == "True"


@pytest.mark.parametrize(
    ("annotations", "paused"),
    [
        ({}, None),
        ({PAUSE: "by ops"}, "by ops"),
        ({PAUSE: "false"}, None),
        ({PAUSE: "true"}, "true"),
    ],
)
def test_the_pause_is_an_annotation(annotations, paused):
    """What people wrote there is what they are told."""
    assert read_status(stored({}, **annotations)).paused == paused


@pytest.mark.parametrize("text", ["", "{", "[]", '{"openRollouts": [7, {"node": "x"}]}'])
def test_a_status_that_cannot_be_read_is_as_none(text):
    """Someone edited it; nothing depends on it."""
    kept = read_status(replace(stored({}), data={STATUS: text}))
    assert (kept.journals, kept.conditions, kept.history) == ({}, {}, ())


def test_the_map_of_our_own_namespace_counts():
    """Another installation may have one of the same name."""
    own = replace(stored({}, **{PAUSE: "x"}), namespace="elsewhere")
    assert kept_in(Observation(NOW_S, config_maps=(own,)), "mig-autoscaler") == Kept()
    assert kept_in(Observation(NOW_S, config_maps=(own,)), "elsewhere").paused == "x"
