"""When time alone may change a decision.

A cycle whose inputs are unchanged ends before planning, unless one of these is due.
"""

from collections.abc import Iterable, Iterator

from autoscaler.control.outcome import View
from autoscaler.domain.cluster.marks import QUARANTINE
from autoscaler.domain.fleet.memory import FAILURE_MEMORY_S, Memory
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.schedule import FloorSpan
from autoscaler.domain.policy.window import closes_at_s, next_edge_s, next_open_s
from autoscaler.planning.forecasting.peaks import edges_s, peaks_of
from autoscaler.planning.gating.persistence import Sightings

HOUR_S = 3600.0
# Waits that no timer here tells exactly: a doubled back-off, requests that grow old.
AGAIN_S = 300.0


def next_due_s(
    view: View,
    policy: Policy,
    *,
    plan: Plan,
    proposals: Sightings,
    history: Iterable[RolloutRecord],
) -> float:
    """Return the first moment after the view at which a plan may come out otherwise.

    Parameters
    ----------
    plan
        As gated from the view.
    proposals
        Since when its changes have been proposed.
    history
        Rollouts that are over.

    Returns
    -------
    float
        Epoch seconds; infinity when nothing will change by itself.
    """
    now_s = view.observation.observed_at_s
    moments = [
        *_calendar(policy, now_s),
        *edges_s(peaks_of(policy, view.observation.announcements), policy, now_s),
        *_ages(view, policy),
        *(
            sighting.due_s(policy.planning, policy.loop.interval_s)
            for sighting in proposals.values()
        ),
        *_rests(history, policy),
    ]
    is_aging = bool(policy.planning.fairness) and any(
        pod.node is None for pod in view.observation.pods
    )
    if is_aging or any(change.blocked_by for change in plan.changes):
        moments.append(now_s + AGAIN_S)
    return min((m for m in moments if m > now_s), default=float("inf"))


def _calendar(policy: Policy, now_s: float) -> Iterator[float]:
    """Yield edges of windows, freezes, and times of day."""
    rules = policy.disruption
    spans = [
        span
        for pool in policy.pools
        for limits in (pool.floors, pool.ceilings)
        for span in (limits if isinstance(limits, tuple) else ())
        if isinstance(span, FloorSpan)
    ]
    edges = (
        next_open_s(rules.windows, now_s, rules.freezes),
        closes_at_s(rules.windows, now_s, rules.freezes),
        closes_at_s(None, now_s, rules.freezes),
        next_edge_s(spans, now_s),
        next_edge_s([u.at for p in policy.pools for u in p.presets if u.at is not None], now_s),
    )
    yield from (edge for edge in edges if edge is not None)


def _ages(view: View, policy: Policy) -> Iterator[float]:
    """Yield when pods and nodes are old enough, and when nodes may be used again."""
    warm_up_s = policy.rollout.warm_up_s
    uses = [use for pool in policy.pools for use in pool.presets]
    waits_s = {use.when.for_s for use in uses if use.when is not None}
    for pod in view.observation.pods:
        if pod.node is None:
            yield pod.created_s + policy.demand.pending.min_age_s
            yield from (pod.created_s + wait_s for wait_s in sorted(waits_s))
    for node in view.observation.nodes:
        yield node.created_s + warm_up_s
        if node.ready_since_s is not None:
            yield node.ready_since_s + warm_up_s
        if QUARANTINE in node.annotations:
            yield Quarantine.from_text(node.annotations[QUARANTINE]).until_s


def _rests(history: Iterable[RolloutRecord], policy: Policy) -> Iterator[float]:
    """Yield when nodes have rested and the hourly budget is free again."""
    for record in history:
        yield record.ended_at_s + policy.disruption.cooldown_s
        yield record.started_at_s + HOUR_S
        # Until then more must be won to undo it, and less and less.
        yield record.ended_at_s + policy.planning.undo_within_s / 2
        yield record.ended_at_s + policy.planning.undo_within_s


def failures_due_s(memory: Memory) -> Iterator[float]:
    """Yield when failed pods are forgotten."""
    for failures in memory.failures.values():
        yield from (failure.seen_at_s + FAILURE_MEMORY_S for failure in failures)
