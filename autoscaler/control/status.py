"""Our status ConfigMap: what people and the ``status`` command read.

It is rewritten only when something other than the time has changed, and as a sign of
life. The pause of the product is an annotation on it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from autoscaler.control.conditions import Condition, conditions_of
from autoscaler.control.history_json import history_from_text
from autoscaler.control.memory import NOTHING_WRITTEN, Written
from autoscaler.control.outcome import CycleOutcome
from autoscaler.domain.cluster.marks import PAUSE, is_set
from autoscaler.domain.cluster.objects import ConfigMap, Observation
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import journal_from_text, journal_to_text
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.policy.policy import Policy, policy_hash
from autoscaler.domain.policy.window import next_open_s
from autoscaler.planning.gating.timing import timing

NAME = "mig-autoscaler-status"
STATUS, HISTORY, PAST = "status.json", "history.json", "past.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """What an earlier cycle, perhaps of another replica, left in the ConfigMap.

    Parameters
    ----------
    config_map
        ``None`` when there is none yet.
    paused
        What people wrote to pause the product; ``None`` when it runs.
    journals
        Rollouts that were open, by node.
    conditions
        As last written, by type.
    past
        What was found in the past, as text.
    """

    config_map: ConfigMap | None = None
    paused: str | None = None
    history: tuple[RolloutRecord, ...] = ()
    journals: Mapping[str, Journal] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    past: str = ""


def kept_in(
    observation: Observation, namespace: str, written: Written = NOTHING_WRITTEN
) -> Kept:
    """Return what the status ConfigMap of an observation holds.

    History that we wrote ourselves (``written``) is known and not read again.
    """
    for config_map in observation.config_maps:
        if (config_map.namespace, config_map.name) == (namespace, NAME):
            return read_status(config_map, written)
    return Kept()


def read_status(config_map: ConfigMap, written: Written = NOTHING_WRITTEN) -> Kept:
    """Read the ConfigMap; what cannot be read of it is as if it were not there."""
    history = config_map.data.get(HISTORY, "")
    is_own = history and history == written.history
    pause = config_map.annotations.get(PAUSE)
    status = _object(config_map.data.get(STATUS, ""))
    return Kept(
        config_map=config_map,
        paused=pause if is_set(pause) else None,
        history=written.records if is_own else history_from_text(history),
        journals=dict(_journals(_items(status.get("openRollouts")))),
        conditions={c.type: c for c in map(_condition, _items(status.get("conditions")))},
        past=config_map.data.get(PAST, ""),
    )


def status_of(outcome: CycleOutcome, policy: Policy, kept: Kept) -> dict[str, object]:
    """Return the status as JSON values; ``updatedAt`` is for the writer to add."""
    conditions = conditions_of(outcome, policy, kept.conditions)
    return {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "Status",
        "mode": policy.mode.value,
        "holder": outcome.standing.holder,
        "policy": {"name": policy.metadata.name, "hash": policy_hash(policy)},
        "paused": None if outcome.view is None else outcome.view.paused,
        "conditions": [_condition_json(c) for c in conditions],
        "openRollouts": [
            _rollout_json(node, journal, outcome) for node, journal in outcome.journals.items()
        ],
        "window": window_json(policy, outcome.started_s),
        "plan": None if outcome.plan is None else plan_summary(outcome.plan),
        "holds": _holds_json(outcome),
        "metrics": _metrics_json(outcome),
        "errors": list(outcome.errors),
    }


def time_text(time_s: float | None) -> str | None:
    """Return a time for people, in UTC to the second."""
    return (
        None if time_s is None else f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
    )


def plan_summary(plan: Plan) -> dict[str, object]:
    """Return what matters of a plan at a glance."""
    blocks = Counter(b.reason.value for change in plan.changes for b in change.blocked_by)
    return {
        "id": plan.id,
        "changes": len(plan.changes),
        "mayStart": sum(1 for change in plan.changes if not change.blocked_by),
        "blocked": dict(sorted(blocks.items())),
        "serves": sum(len(change.serves) for change in plan.changes),
        "unserved": len(plan.unserved),
        "gap": None if plan.optimality is None else plan.optimality.gap,
    }


def _rollout_json(node: str, journal: Journal, outcome: CycleOutcome) -> dict[str, object]:
    waits = {p.name: p.wait for p in outcome.progress}
    wait = waits.get(node)
    return {
        "node": node,
        "id": journal.id,
        "state": journal.state.value,
        "since": time_text(journal.state_since_s),
        "startedAt": time_text(journal.started_at_s),
        "deadline": time_text(journal.deadline_s),
        "from": journal.before.config_name,
        "to": journal.target.config_name,
        "waitsFor": None if wait is None else wait.reason.value,
        "message": journal.reason if wait is None else wait.message,
        # So that whoever leads next can record its end, should it end unseen.
        "journal": journal_to_text(journal),
    }


def window_json(policy: Policy, now_s: float) -> dict[str, object]:
    """Return whether changes may start now, and until or from when."""
    rules, now = policy.disruption, timing(policy.disruption, now_s)
    is_closed = now.frozen is not None or not now.in_window
    opens_s = next_open_s(rules.windows, now_s, rules.freezes) if is_closed else None
    return {
        "open": not is_closed,
        "closesAt": None if is_closed else time_text(now.closes_s),
        "opensAt": time_text(opens_s),
    }


def _holds_json(outcome: CycleOutcome) -> dict[str, int]:
    if outcome.view is None:
        return {}
    reasons = Counter(hold.reason.value for hold in outcome.view.snapshot.holds)
    return dict(sorted(reasons.items()))


def _metrics_json(outcome: CycleOutcome) -> dict[str, object]:
    gap = "not observed" if outcome.view is None else outcome.view.metrics_gap
    return {"complete": not gap, "gap": gap}


def _condition_json(condition: Condition) -> dict[str, object]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": time_text(condition.since_s),
    }


def _condition(item: Mapping[str, object]) -> Condition:
    try:
        since = datetime.fromisoformat(str(item.get("lastTransitionTime"))).timestamp()
    except ValueError:
        since = 0.0
    return Condition(
        type=str(item.get("type")),
        status=str(item.get("status")),
        reason=str(item.get("reason")),
        message=str(item.get("message")),
        since_s=since,
    )


def _journals(items: Iterable[Mapping[str, object]]) -> Iterable[tuple[str, Journal]]:
    for item in items:
        try:
            yield str(item.get("node")), journal_from_text(str(item.get("journal")))
        except ConfigError:
            continue


def _object(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _items(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
