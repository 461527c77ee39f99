"""Makes plans: the optimizer from a snapshot and a demand to changes of nodes.

The gate decides afterwards which of them may start; what is proposed does not depend
on windows and budgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.plan.plan import Optimality, Plan, StoppedBy, sum_of
from autoscaler.domain.policy.policy import Policy, policy_hash
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.optimizer import (
    Guard,
    Settlement,
    steadied,
    with_decisions,
)
from autoscaler.planning.program.problem import Past, Problem, state_problem
from autoscaler.planning.program.settlements import Settler, settle_steadily
from autoscaler.planning.reporting.moves import NodeMove, decisions_of, moves_of
from autoscaler.planning.reporting.pricing import PricedMove, price_moves
from autoscaler.planning.reporting.report import (
    changes_of,
    demand_lines,
    holds_of,
    plan_id,
)
from autoscaler.planning.reporting.unserved import unserved_pods
from autoscaler.planning.solving.answer import DEFAULT_LIMITS, SolverLimits
from autoscaler.planning.solving.solver import Solver, solve

# Dropping a change that does not pay may show another one that pays no more.
MAX_PRUNINGS = 5


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """What a plan depends on beside fleet, demand and policy.

    Parameters
    ----------
    history
        What the past says about worth; without it only sizes count.
    records
        Rollouts that are over: what they did is not undone lightly.
    limits
        When the solver stops.
    guard
        Runs the branching where a wall clock may end it; none by default.
    solver
        The backend.
    settle
        Settles problems with it; may remember those that were settled before.
    """

    history: ValueHistory | None = None
    records: tuple[RolloutRecord, ...] = ()
    limits: SolverLimits = DEFAULT_LIMITS
    guard: Guard | None = None
    solver: Solver = solve
    settle: Settler = settle_steadily


DEFAULT_SETTINGS = PlannerSettings()


def make_plan(
    snapshot: Snapshot,
    demand: Demand,
    policy: Policy,
    now_s: float,
    settings: PlannerSettings = DEFAULT_SETTINGS,
) -> Plan:
    """Return the changes that are worth more than they cost, the best first.

    Parameters
    ----------
    snapshot
        The fleet.
    demand
        What pods ask for, also those that free instances of today serve.
    policy
        Pools with their rules, and the constants of prices.
    now_s
        Epoch seconds, for rules that hold at some times only.
    settings
        Solver and history.

    Returns
    -------
    Plan
        Without blocks. Trouble of the solver keeps the present geometry and is a
        notice, never an exception.
    """
    past = Past(settings.history or ValueHistory(), settings.records)
    problem = state_problem(snapshot, demand, policy, now_s, past)
    settlement = settings.settle(problem.mix, settings.limits, settings.guard, settings.solver)
    plan = Plan(
        id="",
        observed_at_s=snapshot.observed_at_s,
        policy_name=policy.metadata.name,
        policy_hash=policy_hash(policy),
        mode=policy.mode.value,
        holds=snapshot.holds,
        unserved=tuple(sorted(demand.impossible)),
    )
    if settlement is None:
        return _identified(_failed(plan, demand))
    settlement, priced = _prune(problem, settlement, settings.solver)
    choice = settlement.choice
    unserved = (*demand.impossible, *unserved_pods(problem, choice))
    return _identified(
        replace(
            plan,
            demand=demand_lines(problem, snapshot, settlement.unchanged, choice),
            changes=changes_of(problem, policy, priced, settlement.unchanged, choice),
            unserved=tuple(sorted(unserved)),
            holds=tuple(sorted((*snapshot.holds, *holds_of(problem, snapshot, choice)))),
            optimality=_optimality(settlement),
            notices=(*demand.notices, *_notices(problem, settlement)),
            terms=sum_of(own.price for own in priced),
        )
    )


def _prune(
    problem: Problem, settlement: Settlement, solver: Solver
) -> tuple[Settlement, tuple[PricedMove, ...]]:
    """Drop changes that cost more than they gain: a gap leaves room for some."""
    moves: Sequence[NodeMove] = moves_of(
        problem.fleet, settlement.choice, problem.crowd.departures
    )
    before = settlement.unchanged
    priced = price_moves(problem, moves, before, settlement.choice)
    for _ in range(MAX_PRUNINGS):
        # What one change takes away another may bring back: then only those go that
        # bring nothing.
        for spared in (_pays, _brings):
            kept = [p.move for p in priced if spared(p) or _serves_gang(problem, p)]
            kept.sort(key=lambda move: move.order)
            decisions = decisions_of(settlement.formulation, kept)
            better = None
            if len(kept) < len(priced):
                better = with_decisions(settlement, decisions, solver)
            if better is not None:
                break
        if better is None:
            break
        settlement = steadied(better, solver)
        priced = price_moves(problem, kept, before, settlement.choice)
    return settlement, priced


def _pays(priced: PricedMove) -> bool:
    return priced.price.gain >= priced.price.cost + priced.price.churn


def _brings(priced: PricedMove) -> bool:
    return priced.price.gain > 0


def _serves_gang(problem: Problem, priced: PricedMove) -> bool:
    """Say whether a change serves part of a gang, whose worth the others share."""
    return any(n > 0 and problem.mix.wants[want].gang for want, n in priced.serves.items())


def _optimality(settlement: Settlement) -> Optimality:
    return Optimality(
        objective=settlement.choice.objective,
        bound=settlement.bound,
        gap=settlement.gap,
        seconds=settlement.seconds,
        stopped_by=settlement.stopped_by,
    )


def _notices(problem: Problem, settlement: Settlement) -> tuple[str, ...]:
    notices = []
    if settlement.stopped_by is StoppedBy.FAILURE:
        notices.append("the solver failed; what was in hand by then is all that is proposed")
    if settlement.stopped_by is StoppedBy.WALL_CLOCK:
        notices.append("the solver took too long; the rounded plan is proposed")
    if problem.fleet.unhosted:
        notices.append(
            f"{problem.fleet.unhosted} nodes were not considered for pods that need several"
            " instances on one node, because there are too many such nodes"
        )
    return tuple(notices)


def _failed(plan: Plan, demand: Demand) -> Plan:
    """Return a plan that keeps the present geometry and says so of every waiting pod."""
    nothing_known = Optimality(0.0, float("inf"), float("inf"), 0.0, StoppedBy.FAILURE)
    notice = "the solver failed; the present geometry is kept"
    text = "the solver failed, so what would serve it is not known"
    fitting = {note.pod for note in demand.fits_today}
    waiting = [pod for group in demand.groups for pod in group.pods if pod not in fitting]
    notes = (*plan.unserved, *(PodNote(pod, Reason.SOLVER_STOPPED, text) for pod in waiting))
    return replace(
        plan,
        optimality=nothing_known,
        unserved=tuple(sorted(notes)),
        notices=(*demand.notices, notice),
    )


def _identified(plan: Plan) -> Plan:
    return replace(plan, id=plan_id(plan))
