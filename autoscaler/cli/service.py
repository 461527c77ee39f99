"""The loop as a service: policy, cycles, pages and log brought together.

Whatever goes wrong in one cycle ends in a log line and a number, never in the end of
the process: the next cycle sees the world afresh.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from structlog.stdlib import BoundLogger

from autoscaler.cli.policy_source import PolicySource
from autoscaler.control.conditions import Condition, conditions_of
from autoscaler.control.loop import Loop, log_fields
from autoscaler.control.metric_catalog import CATALOG
from autoscaler.control.outcome import CycleOutcome, Decision
from autoscaler.control.outside import Outside
from autoscaler.control.status import Kept, status_of, time_text
from autoscaler.control.telemetry import initial_telemetry, telemetry_of
from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.plan.plan_json import plan_to_json
from autoscaler.domain.policy.policy import MigManager, Policy, Prometheus
from autoscaler.ports import Clock
from autoscaler.serving.board import Board, Notes
from autoscaler.serving.exporter import Exporter
from autoscaler.serving.health import Health
from autoscaler.serving.process_metrics import (
    PROCESS_METRICS,
    crashed,
    missed,
    process_start,
    reloaded,
)

FAILED = frozenset({Decision.INCOMPLETE, Decision.PLAN_FAILED})
# After a fault of our own; it doubles, for the same input gives the same fault.
FIRST_REST_S = 30.0
LONGEST_REST_S = 480.0
# What the ports depend on: when it changes they are built anew, and the loop with them.
PortSettings = tuple[Prometheus | None, MigManager]


@dataclass
class Service:
    """Runs cycles and publishes what they say.

    Parameters
    ----------
    source
        The policy in force.
    outside_for
        Builds the ports that a policy asks for.
    is_patient
        Whether a proposal must persist before it starts.
    """

    source: PolicySource
    outside_for: Callable[[Policy], Outside]
    log: BoundLogger
    clock: Clock
    is_patient: bool = True
    board: Board = field(default_factory=Board)

    def __post_init__(self) -> None:
        self.health = Health(self.clock.monotonic_s)
        self.exporter = Exporter((*CATALOG, *PROCESS_METRICS))
        self.exporter.take(initial_telemetry())
        self.exporter.take(process_start(self.clock.now_s()))
        self._loop: Loop | None = None
        self._ports: PortSettings | None = None
        self._conditions: dict[str, Condition] = {}
        self._rest_s = 0.0
        self._again_at_s = 0.0
        for warning in self.source.warnings:
            self.log.warning("policy", warning=warning)

    @property
    def interval_s(self) -> float:
        """Seconds between two cycles."""
        return self.source.current().loop.interval_s

    def tick(self) -> None:
        """Run one cycle, unless a fault of our own is to be slept off."""
        if self.clock.monotonic_s() < self._again_at_s:
            return
        self._poll()
        try:
            self.cycle()
        # The one broad handler: a bug must not end the loop that finishes open rollouts.
        except Exception as error:  # noqa: BLE001
            self._crash(error)

    def cycle(self) -> CycleOutcome:
        """Run one cycle and publish its outcome."""
        self.health.begin(self.interval_s)
        loop = self._loop_for(self.source.current())
        policy = self.source.current()
        outcome = loop.step()
        self.health.end(succeeded=has_succeeded(outcome), observed=has_observed(outcome))
        self._publish(outcome, policy)
        self._rest_s = 0.0
        if outcome.view is not None and self.source.follow(outcome.view.observation):
            self.log.info("policy", pools=len(self.source.current().pools))
        return outcome

    def close(self) -> None:
        """Give up the Lease; open rollouts stay on their nodes for whoever is next."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def note_missed(self) -> None:
        """Count a cycle that was left out because the one before was not over."""
        self.exporter.take(missed())
        self.log.warning("cycle missed", interval_s=self.interval_s)

    def _loop_for(self, policy: Policy) -> Loop:
        """Return the loop, a new one when the policy asks for other ports."""
        ports = (policy.prometheus, policy.mig_manager)
        if self._loop is None or ports != self._ports:
            self.close()
            outside = self.outside_for(policy)
            self._prime(outside)
            self._loop = Loop(outside, self.source.current, is_patient=self.is_patient)
            self._ports = ports
        return self._loop

    def _prime(self, outside: Outside) -> None:
        """Give the default policy its pools before the first cycle, if it is in force."""
        if self.source.is_given:
            return
        try:
            self.source.follow(outside.cluster.observe())
        except AutoscalerError:
            # The cycle meets the same trouble, and tells of it.
            return

    def _poll(self) -> None:
        """Take in a changed policy file."""
        for is_good, text in self.source.poll():
            self.exporter.take(reloaded(self.clock.now_s(), is_good=is_good))
            if not is_good:
                self.log.error("policy rejected, the last good one stays", error=text)
                continue
            self.log.info("policy", message=text)
            for warning in self.source.warnings:
                self.log.warning("policy", warning=warning)

    def _crash(self, error: Exception) -> None:
        """Tell of a fault of our own, and wait before the next cycle."""
        self._rest_s = min(max(2 * self._rest_s, FIRST_REST_S), LONGEST_REST_S)
        self._again_at_s = self.clock.monotonic_s() + self._rest_s
        self.exporter.take(crashed())
        self.health.end(succeeded=False)
        self.log.error("cycle crashed", rest_s=self._rest_s, exc_info=error)

    def _publish(self, outcome: CycleOutcome, policy: Policy) -> None:
        """Hand the outcome to log, metrics and pages."""
        self.exporter.take(telemetry_of(outcome, policy))
        conditions = conditions_of(outcome, policy, self._conditions)
        kept = Kept(conditions=self._conditions)
        status = status_of(outcome, policy, kept)
        status["updatedAt"] = time_text(outcome.ended_s)
        status["policyError"] = self.source.error
        self._conditions = {condition.type: condition for condition in conditions}
        plan = None if outcome.plan is None else plan_to_json(outcome.plan)
        self.board.pin(Notes(status, plan, _holds(outcome)))
        self._log(outcome, log_fields(outcome, policy))

    def _log(self, outcome: CycleOutcome, fields: Sequence[tuple[str, object]]) -> None:
        for progress in outcome.progress:
            for notice in progress.notices:
                self.log.info(
                    "step", node=progress.name, reason=notice.reason, message=notice.message
                )
        for record in outcome.records:
            self.log.info(
                "rollout ended",
                node=record.node,
                result=record.result.value,
                seconds=round(record.duration_s, 1),
                why=record.message,
            )
        for error in outcome.errors:
            self.log.warning("failed", error=error)
        self.log.info(outcome.message, **dict(fields))


def has_observed(outcome: CycleOutcome) -> bool:
    """Say whether a cycle saw the cluster; one that waits for the Lease saw who leads."""
    return outcome.view is not None or bool(outcome.standing.holder)


def has_succeeded(outcome: CycleOutcome) -> bool:
    """Say whether a cycle got as far as it should."""
    if outcome.decision is Decision.NOT_LEADER:
        return bool(outcome.standing.holder)
    return outcome.decision not in FAILED


def _holds(outcome: CycleOutcome) -> tuple[dict[str, object], ...]:
    if outcome.view is None:
        return ()
    return tuple(
        {"reason": hold.reason.value, "node": hold.node, "message": hold.message}
        for hold in outcome.view.snapshot.holds
    )
