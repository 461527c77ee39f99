"""Starts rollouts: decides a second time on a fresh pass, then closes nodes.

What was planned on one observation is checked on another right before it disrupts:
the budgets, every hold, and that each node is still as the plan saw it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.control.driver_agent import start_of
from autoscaler.control.driver_mig_manager import MigManagerDriver, rollback_name
from autoscaler.control.leadership import Leadership
from autoscaler.control.outside import Outside
from autoscaler.control.rollouts import Progress, node_patch, record_of, rules_of
from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.cluster.objects import MetricsView
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.errors import AutoscalerError, Conflict
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.conditions import journal_of
from autoscaler.domain.fleet.memory import NO_MEMORY, Memory
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.rollout import Journal, Result, State
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.domain.reasons import Block, Reason
from autoscaler.domain.rollout.opening import Start, open_rollout
from autoscaler.domain.rollout.steps import Finish
from autoscaler.planning.gating.gate import Standing, gate
from autoscaler.planning.gating.persistence import Sightings, persistence_due

TROUBLED = frozenset({State.REPAIRING, State.ROLLING_BACK})


@dataclass(frozen=True, slots=True)
class Basis:
    """What a second decision rests on beside the fresh pass.

    Parameters
    ----------
    metrics, memory
        As for the plan.
    standing
        History, pause, and who asks.
    """

    policy: Policy
    standing: Standing
    metrics: MetricsView | None = None
    memory: Memory = NO_MEMORY


def persisted(
    plan: Plan, proposals: Sightings, policy: Policy, now_s: float
) -> tuple[NodeChange, ...]:
    """Return the changes that nothing blocks and that were proposed for long enough."""
    return tuple(
        change
        for change in plan.changes
        if not change.blocked_by and _is_due(change, proposals, policy, now_s)
    )


def _is_due(change: NodeChange, proposals: Sightings, policy: Policy, now_s: float) -> bool:
    interval_s = policy.loop.interval_s
    due_s = persistence_due(change, proposals, policy.planning, interval_s)
    return due_s is not None and now_s >= due_s


def without_troubled_pools(plan: Plan, journals: Mapping[str, Journal]) -> Plan:
    """Return the plan with changes blocked where a rollout of their pool is in trouble.

    What is wrong there is likely to be wrong here: one node is enough to find out.
    """
    troubled = {j.pool: name for name, j in journals.items() if j.state in TROUBLED}
    changes = (
        _blocked(change, troubled[change.pool]) if change.pool in troubled else change
        for change in plan.changes
    )
    return replace(plan, changes=tuple(changes))


def _blocked(change: NodeChange, node: str) -> NodeChange:
    message = f"the change of {node} is being repaired or undone; first that must end"
    block = Block(Reason.CHANGE_IN_PROGRESS, message)
    return replace(change, blocked_by=(*change.blocked_by, block))


def changed_since(change: NodeChange, node: FleetNode | None) -> str:
    """Return what is not as the plan saw it any more, empty when all is."""
    if node is None:
        return f"{change.node} is not in the fleet any more"
    if node.node.uid != change.uid:
        return f"{change.node} is another node of that name now"
    if observed_hash(node, (gpu.index for gpu in change.gpus)) != change.observed:
        return f"resources, configuration or holders of {change.node} have changed since"
    return ""


class Starter:
    """Opens rollouts for changes that may start."""

    def __init__(self, outside: Outside, leadership: Leadership, basis: Basis) -> None:
        self._outside = outside
        self._leadership = leadership
        self._basis = basis
        self._driver = MigManagerDriver(outside, basis.policy.mig_manager)

    def start(self, plan: Plan, changes: Iterable[NodeChange]) -> tuple[Progress, ...]:
        """Close the nodes of these changes as far as a second look allows.

        Raises
        ------
        ObservationError
            When the second pass was incomplete: then nothing starts.
        """
        wanted = replace(plan, changes=tuple(changes))
        if not wanted.changes:
            return ()
        snapshot = self._look()
        now_s = self._outside.clock.now_s()
        again = gate(wanted, snapshot, self._basis.policy, now_s, self._basis.standing)
        return tuple(
            self._open(plan.id, change, snapshot)
            for change in again.changes
            if not change.blocked_by and not changed_since(change, snapshot.node(change.node))
        )

    def _look(self) -> Snapshot:
        observation = self._outside.cluster.observe()
        basis = self._basis
        now_s = self._outside.clock.now_s()
        return assess(observation, basis.policy, basis.metrics, now_s, basis.memory)

    def _open(self, plan: str, change: NodeChange, snapshot: Snapshot) -> Progress:
        """Write the first patch of one rollout; after a conflict nothing has happened."""
        node, name = snapshot.node(change.node), change.node
        if node is None or node.model is None:
            return Progress(name, error=f"{name} is not what it was any more")
        try:
            if node.driver is Driver.AGENT:
                return self._write(start_of(plan, change, node))
            known = self._driver.read()
            if known.problem:
                return Progress(name, node=node.node, error=known.problem)
            layout = tuple(gpu.counts if gpu.mig_enabled else None for gpu in node.gpus)
            config = node.node.labels.get(MIG_CONFIG)
            back = rollback_name(known, config, layout, node.model)
            start = Start(plan, change, node.node, layout, back, node.model.key)
            return self._write(start)
        except Conflict:
            return Progress(name, error=f"{name} was changed by someone else at this moment")
        except AutoscalerError as error:
            return Progress(name, error=str(error))

    def _write(self, start: Start) -> Progress:
        # Right before the write: the reads before it may have taken long.
        if not self._leadership.guard():
            return Progress(start.node.name, error="the lease is lost")
        rules = rules_of(self._basis.policy, self._outside.identity, self._leadership.epoch)
        step = open_rollout(start, rules, self._outside.clock.now_s())
        written = self._outside.cluster.patch_node(
            start.node.name, node_patch(step, start.node)
        )
        progress = Progress(start.node.name, node=written, journal=step.journal)
        waited = journal_of(start.node)
        if waited is not None:
            finish = Finish(Result.WAITED, "DecidedAnew", "its pods have ended; decided anew")
            record = record_of(start.node.name, waited, finish, self._outside.clock.now_s())
            progress = replace(progress, record=record)
        return progress.noting(step.notice)
