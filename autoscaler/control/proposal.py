"""A proposal: what one observation leads to, for the loop as for a person who asks.

A cycle does other things between its steps; a person has them done in one go. The
steps are the same, so that what a person is shown is what the loop would do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoscaler.control.starting import without_troubled_pools
from autoscaler.domain.cluster.objects import MetricsView, Observation
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.requests import demand_of
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.memory import NO_MEMORY, Memory
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import NodeChange, Plan
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.reasons import Block, Reason
from autoscaler.planning.forecasting.outlook import look_ahead
from autoscaler.planning.gating.gate import Standing, gate
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.placeholders import Occasion, placeholders_for
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.optimizer import Guard

NO_VALUES = ValueHistory()
NOTHING_HAPPENED = Standing()


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything that was seen at one moment.

    Parameters
    ----------
    metrics
        ``None`` when there are none.
    memory
        What earlier cycles knew of the nodes.
    values
        What the past says of the worth of instances.
    guard
        Runs the solver where a wall clock may end it; ``None`` for no such limit.
    """

    observation: Observation
    metrics: MetricsView | None = None
    memory: Memory = NO_MEMORY
    values: ValueHistory = NO_VALUES
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """The fleet, what is asked of it, and its open rollouts by node."""

    snapshot: Snapshot
    demand: Demand
    journals: Mapping[str, Journal]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The fleet, what is asked of it, and the plan with its blocks."""

    snapshot: Snapshot
    demand: Demand
    plan: Plan


def survey(sight: Sight, policy: Policy, now_s: float) -> Survey:
    """Return what was seen as a fleet and its demand, what is to come included."""
    observation, metrics = sight.observation, sight.metrics
    snapshot = assess(observation, policy, metrics, now_s, sight.memory)
    demand = demand_of(snapshot, observation, policy, metrics, now_s)
    demand = look_ahead(demand, observation, policy, now_s)
    journals = {n.name: n.journal for n in snapshot.nodes if n.journal is not None}
    return Survey(snapshot, demand, journals)


def decide(
    seen: Survey,
    policy: Policy,
    now_s: float,
    *,
    settings: PlannerSettings,
    standing: Standing,
) -> Plan:
    """Return the best plan, with what blocks its changes."""
    plan = make_plan(seen.snapshot, seen.demand, policy, now_s, settings)
    gated = gate(plan, seen.snapshot, policy, now_s, standing)
    occasion = Occasion(policy, now_s, settings, standing)
    placeholders = placeholders_for(seen.snapshot, seen.demand, occasion)
    gated = replace(gated, placeholders=placeholders)
    return without_troubled_pools(gated, seen.journals)


def propose(
    sight: Sight, policy: Policy, now_s: float, standing: Standing = NOTHING_HAPPENED
) -> Proposal:
    """Return what should change and what forbids it, at ``now_s`` (epoch seconds)."""
    seen = survey(sight, policy, now_s)
    settings = PlannerSettings(sight.values, standing.history, guard=sight.guard)
    plan = decide(seen, policy, now_s, settings=settings, standing=standing)
    observation = sight.observation
    if observation.offline and not (observation.pods or observation.placeholders):
        # Files without pods do not say that nothing runs.
        plan = replace(plan, changes=tuple(map(_unproven, plan.changes)))
    return Proposal(seen.snapshot, seen.demand, plan)


def _unproven(change: NodeChange) -> NodeChange:
    message = "there are no pods in the input, so what holds the GPUs is unknown"
    block = Block(Reason.HOLDERS_UNPROVEN, message)
    return replace(change, blocked_by=(*change.blocked_by, block))
