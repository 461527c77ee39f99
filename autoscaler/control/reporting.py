"""Writes what a cycle has to say: Events, and the status ConfigMap."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.control.events import due, node_events, plan_events
from autoscaler.control.history_json import history_to_text
from autoscaler.control.memory import Written
from autoscaler.control.outcome import CycleOutcome, Decision
from autoscaler.control.outside import Outside
from autoscaler.control.past_json import past_to_text
from autoscaler.control.status import HISTORY, NAME, PAST, STATUS, Kept, status_of, time_text
from autoscaler.domain.cluster.objects import ConfigMap
from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.policy.policy import Policy
from autoscaler.ports import ClusterEvent

# The status is never older than this while a leader is alive; three minutes are what
# people are told.
HEARTBEAT_S = 120.0


@dataclass(frozen=True, slots=True)
class Report:
    """What is written at the end of a cycle.

    Parameters
    ----------
    kept
        The status ConfigMap as this cycle observed it.
    """

    outside: Outside
    policy: Policy
    kept: Kept

    def write(self, outcome: CycleOutcome) -> CycleOutcome:
        """Write Events and status; a failure is told, and tried again next cycle."""
        events = (*node_events(outcome.progress), *self._plan_events(outcome))
        return self._write_status(self._record(outcome, events))

    def _plan_events(self, outcome: CycleOutcome) -> tuple[ClusterEvent, ...]:
        view, plan = outcome.view, outcome.plan
        if view is None or plan is None or outcome.decision is not Decision.PLANNED:
            return ()
        nodes = {node.name: node for node in view.observation.nodes}
        pods = {pod.ref: pod for pod in view.observation.pods}
        return plan_events(plan, nodes, pods)

    def _record(self, outcome: CycleOutcome, events: Iterable[ClusterEvent]) -> CycleOutcome:
        fresh = due(events, outcome.memory.said, outcome.started_s)
        errors = list(outcome.errors)
        for event in fresh.events:
            try:
                self.outside.cluster.record(event)
            except AutoscalerError as error:
                errors.append(f"event {event.reason} on {event.name}: {error}")
        memory = replace(outcome.memory, said=fresh.said)
        return replace(outcome, memory=memory, errors=tuple(errors))

    def _write_status(self, outcome: CycleOutcome) -> CycleOutcome:
        status = status_of(outcome, self.policy, self.kept)
        before, fresh = outcome.memory.written, written_of(status, outcome)
        if fresh.texts == before.texts and fresh.at_s - before.at_s < HEARTBEAT_S:
            return outcome
        stamped = {**status, "updatedAt": time_text(outcome.ended_s)}
        data = {STATUS: json.dumps(stamped, sort_keys=True, indent=1), HISTORY: fresh.history}
        if fresh.pools:
            data[PAST] = fresh.past
        empty = ConfigMap(self.outside.namespace, NAME)
        try:
            self.outside.cluster.write_config_map(
                replace(self.kept.config_map or empty, data=data)
            )
        except AutoscalerError as error:
            return replace(outcome, errors=(*outcome.errors, f"status: {error}"))
        return replace(outcome, memory=replace(outcome.memory, written=fresh))


def written_of(status: Mapping[str, object], outcome: CycleOutcome) -> Written:
    """Return what is to be written after a cycle; texts that say the same are kept."""
    memory, before = outcome.memory, outcome.memory.written
    records, pools = memory.history, memory.past.pools
    same_history = before.history and before.records == records
    same_past = before.past and before.pools == pools
    return Written(
        status=json.dumps(status, sort_keys=True),
        history=before.history if same_history else history_to_text(records),
        records=records,
        past=before.past if same_past else past_to_text(pools.values()),
        pools=pools,
        at_s=outcome.started_s,
    )
