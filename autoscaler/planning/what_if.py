"""What if: the plan once more, with one thing otherwise.

What a rule, a hold or a switch of the policy costs is the difference that it makes, and
what a pod would take is the plan that serves it before all others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.reasons import PodNote, Reason
from autoscaler.planning.inquiry import LEAST_WORTH, Inquiry
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.mix import Mix
from autoscaler.planning.program.optimizer import Settlement, settle
from autoscaler.planning.program.problem import Past, Problem, state_problem
from autoscaler.planning.program.rules import PoolRule, RuleKind
from autoscaler.planning.reporting.moves import NodeMove, moves_of

# Rules that are left out one by one.
MAX_RULES = 20
# How many times all else together a pod is worth that is to be served at any price.
FIRST = 10.0
# No instance has more compute slices.
MOST_SLICES = 7


@dataclass(frozen=True, slots=True)
class Binding:
    """Something without which the plan would be worth more.

    Parameters
    ----------
    what
        In words.
    worth
        How much more, in slice-seconds.
    """

    what: str
    worth: float


@dataclass(frozen=True, slots=True)
class Sacrifice:
    """What serving one pod before all others would take.

    Parameters
    ----------
    changes
        Name of the node, index of the GPU, its instances before and after.
    evicted
        Pods that would have to leave, in name order.
    loss
        How much less all else would be worth, in slice-seconds.
    """

    changes: tuple[tuple[str, int, Counts, Counts], ...]
    evicted: tuple[PodRef, ...]
    loss: float


def bindings(inquiry: Inquiry) -> tuple[Binding, ...]:
    """Return what keeps the plan from being worth more, the dearest first.

    Rules are left out one by one; then no node is on hold, and whoever may be evicted
    but for the switch of the policy is.
    """
    found = [
        Binding(what, worth) for what, worth in _differences(inquiry) if worth >= LEAST_WORTH
    ]
    return tuple(sorted(found, key=lambda own: (-own.worth, own.what)))


def at_any_price(inquiry: Inquiry, pod: PodRef) -> Sacrifice | None:
    """Return what would serve a pod if it went before all others.

    Returns
    -------
    Sacrifice or None
        ``None`` for a pod that is no demand, for one of a gang, which starts as a whole or
        not at all, and where nothing that may change could serve it.
    """
    problem = inquiry.problem
    index = next((i for i, g in enumerate(problem.groups) if pod in g.pods), None)
    if index is None or problem.mix.wants[index].gang:
        return None
    want = problem.mix.wants[index]
    worths = (w.value * w.number for w in problem.mix.wants if not w.is_returning)
    # As a rule outweighs demand, so does it outweigh what changes cost.
    outweighs = problem.worth.of_rule(want.bundle.total() * MOST_SLICES, 1.0)
    first = replace(want, number=1, value=FIRST * sum(worths) + outweighs)
    wants = [*problem.mix.wants, first]
    wants[index] = replace(want, number=want.number - 1)
    settled = _settle(inquiry, replace(problem.mix, wants=tuple(wants)))
    if settled is None or not settled.choice.served[-1]:
        return None
    moves = moves_of(problem.fleet, settled.choice, problem.crowd.departures)
    loss = raw(inquiry.settlement, problem.mix) - raw(settled, problem.mix) + first.value
    evicted = sorted({holder.pod for move in moves for holder in move.evicted})
    return Sacrifice(tuple(_changes(moves)), tuple(evicted), max(0.0, loss))


def _changes(moves: tuple[NodeMove, ...]) -> Iterator[tuple[str, int, Counts, Counts]]:
    for move in sorted(moves, key=lambda m: m.node.name):
        for place, target in move.targets:
            gpu = move.node.gpus[place]
            yield move.node.name, gpu.index, gpu.counts, target.after


def raw(settlement: Settlement, mix: Mix) -> float:
    """Return the worth of a choice with the price of all rules that it breaks."""
    return settlement.choice.objective - (settlement.formulation.program.offset - mix.offset)


def _differences(inquiry: Inquiry) -> Iterator[tuple[str, float]]:
    problem, base = inquiry.problem, inquiry.settlement
    mix = problem.mix
    for index, own in list(enumerate(problem.rules))[:MAX_RULES]:
        rules = tuple(rule for i, rule in enumerate(mix.rules) if i != index)
        settled = _settle(inquiry, replace(mix, rules=rules))
        if settled is not None:
            broken = mix.rules[index].price * base.choice.short[index]
            yield _named(own), raw(settled, mix) - raw(base, mix) - broken
    held = sum(1 for node in inquiry.snapshot.nodes if node.holds and node.model and node.gpus)
    if held:
        free = tuple(replace(node, holds=()) for node in inquiry.snapshot.nodes)
        worth = _worth(inquiry, replace(inquiry.snapshot, nodes=free), inquiry.demand)
        yield f"{held} {'nodes' if held > 1 else 'node'} on hold", worth
    kept = [h for h in inquiry.demand.holders if _is_switched_off(h.refusal)]
    if kept:
        free_to_go = tuple(
            replace(h, refusal=None) if _is_switched_off(h.refusal) else h
            for h in inquiry.demand.holders
        )
        demand = replace(inquiry.demand, holders=free_to_go)
        yield (
            "the ban on evictions (disruption.eviction)",
            _worth(inquiry, inquiry.snapshot, demand),
        )


def _is_switched_off(note: PodNote | None) -> bool:
    return note is not None and note.reason is Reason.EVICTION_DISABLED


def _worth(inquiry: Inquiry, snapshot: Snapshot, demand: Demand) -> float:
    """Return how much more the plan of another fleet or demand is worth."""
    settings = inquiry.settings
    past = Past(settings.history or ValueHistory(), settings.records)
    problem: Problem = state_problem(snapshot, demand, inquiry.policy, inquiry.now_s, past)
    settled = _settle(inquiry, problem.mix)
    if settled is None:
        return 0.0
    return raw(settled, problem.mix) - raw(inquiry.settlement, inquiry.problem.mix)


def _settle(inquiry: Inquiry, mix: Mix) -> Settlement | None:
    settings = inquiry.settings
    return settle(mix, settings.limits, settings.guard, settings.solver)


def _named(rule: PoolRule) -> str:
    if rule.kind is RuleKind.RESERVE:
        return f"the reserve of {rule.limit} full-GPU nodes in pool {rule.pool}"
    if rule.kind is RuleKind.PRESET:
        return f"the preset {rule.name} in pool {rule.pool}"
    word = "cap on whole GPUs" if rule.kind is RuleKind.CAP else str(rule.kind.value)
    return f"the {word} of {rule.limit} x {rule.name} in pool {rule.pool}"
