"""Conditions: the state of the loop in the form that Kubernetes users know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.control.outcome import CycleOutcome, Decision
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.planning.gating.timing import timing

TROUBLE = frozenset({State.REPAIRING, State.ROLLING_BACK})


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Parameters
    ----------
    status
        ``True``, ``False`` or ``Unknown``.
    since_s
        When it became so, epoch seconds.
    """

    type: str
    status: str
    reason: str
    message: str
    since_s: float = 0.0


def conditions_of(
    outcome: CycleOutcome, policy: Policy, before: Mapping[str, Condition]
) -> tuple[Condition, ...]:
    """Return all conditions after a cycle, each with the time since when it holds."""
    fresh = (
        _ready(outcome),
        Condition("PolicyValid", "True", "Loaded", f"policy {policy.metadata.name}"),
        _metrics(outcome),
        _window(outcome, policy),
        _safe(outcome, policy),
        _leader(outcome, policy),
        _progressing(outcome),
        _degraded(outcome),
    )
    return tuple(_since(c, before.get(c.type), outcome.ended_s) for c in fresh)


def _since(condition: Condition, before: Condition | None, now_s: float) -> Condition:
    same = before is not None and before.status == condition.status
    since_s = before.since_s if before is not None and same else now_s
    return replace(condition, since_s=since_s)


def _flag(value: bool) -> str:
    return "True" if value else "False"


def _ready(outcome: CycleOutcome) -> Condition:
    complete = outcome.decision not in {Decision.INCOMPLETE, Decision.PLAN_FAILED}
    reason = "CycleComplete" if complete else "CycleIncomplete"
    message = "the last cycle came to its end" if complete else outcome.message
    return Condition("Ready", _flag(complete), reason, message)


def _metrics(outcome: CycleOutcome) -> Condition:
    view = outcome.view
    if view is None:
        return Condition("MetricsFresh", "Unknown", "NotObserved", "nothing was observed")
    if not view.metrics_gap:
        return Condition("MetricsFresh", "True", "Fresh", "metrics are complete")
    return Condition("MetricsFresh", "False", "Gap", view.metrics_gap)


def _window(outcome: CycleOutcome, policy: Policy) -> Condition:
    now = timing(policy.disruption, outcome.started_s)
    if now.frozen is not None:
        return Condition("WindowOpen", "False", "Frozen", f"frozen until {now.frozen.to}")
    if now.in_window:
        return Condition("WindowOpen", "True", "Open", "changes may start")
    return Condition("WindowOpen", "False", "Closed", "no maintenance window is open")


def _safe(outcome: CycleOutcome, policy: Policy) -> Condition:
    view = outcome.view
    if policy.mode is not Mode.AUTO:
        reason, message = "Mode", f"mode {policy.mode} changes nothing"
    elif view is None:
        reason, message = "NotObserved", outcome.message
    elif view.paused is not None:
        reason, message = "Paused", f"paused {view.paused}".strip()
    else:
        return Condition("SafeToAct", "True", "Observed", "the view is complete")
    return Condition("SafeToAct", "False", reason, message)


def _leader(outcome: CycleOutcome, policy: Policy) -> Condition:
    if policy.mode in {Mode.OFF, Mode.DRY_RUN}:
        return Condition("Leader", "False", "NoLease", f"mode {policy.mode} takes no lease")
    holder = outcome.standing.holder
    reason = "HoldsLease" if outcome.standing.is_leader else "OtherHolder"
    return Condition("Leader", _flag(outcome.standing.is_leader), reason, f"holder: {holder}")


def _progressing(outcome: CycleOutcome) -> Condition:
    names = _names(outcome.journals)
    reason = "RolloutsOpen" if names else "NoRollouts"
    message = f"open rollouts: {names}" if names else "no rollout is open"
    return Condition("Progressing", _flag(bool(names)), reason, message)


def _degraded(outcome: CycleOutcome) -> Condition:
    troubled = _names(n for n, j in outcome.journals.items() if j.state in TROUBLE)
    if troubled:
        return Condition(
            "Degraded", "True", "RolloutTrouble", f"in repair or undone: {troubled}"
        )
    if outcome.errors:
        return Condition("Degraded", "True", "Errors", outcome.errors[0])
    return Condition("Degraded", "False", "AllWell", "nothing failed")


def _names(nodes: Iterable[str]) -> str:
    return ", ".join(sorted(nodes))
