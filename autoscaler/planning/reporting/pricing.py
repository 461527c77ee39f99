"""Gain and cost of each node's change, term by term, in slice-seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaler.domain.plan.plan import Avoided, Price, Scenario
from autoscaler.planning.program.mix import MARKED_NODE, WHOLE_NODE, Choice, Mix, Rule
from autoscaler.planning.program.preset import Wishes
from autoscaler.planning.program.problem import Problem
from autoscaler.planning.reporting.attribution import Credit, attribute
from autoscaler.planning.reporting.moves import NodeMove


@dataclass(frozen=True, slots=True)
class PricedMove:
    """A node's change with its price.

    Parameters
    ----------
    serves
        Requests it serves that were served nowhere before, by index of the want.
    """

    move: NodeMove
    price: Price
    serves: Mapping[int, int]


def price_moves(
    problem: Problem, moves: Sequence[NodeMove], before: Choice, after: Choice
) -> tuple[PricedMove, ...]:
    """Return the changes with their prices, the best gain for its cost first.

    Parameters
    ----------
    problem
        The problem they solve.
    moves
        In their order.
    before, after
        The best use of the fleet as it is, and after the moves.
    """
    credit_of = attribute(problem.mix, problem.fleet, moves, before=before, after=after)
    serves = _new_requests(problem.mix, credit_of, before, after)
    home = _home_gains(problem, credit_of, before, after)
    rules = _rule_gains(problem, moves)
    priced = []
    moved = _worth_of_moved(problem, moves, credit_of, after)
    for index, move in enumerate(moves):
        # A change that may start in a window only serves until the next one.
        stretch = 1.0 if move.is_idle else problem.horizon.stretch
        avoided, returned = _avoided(problem, credit_of[index], stretch)
        displaced = stretch * (move.cost.waiting - moved[index]) - returned
        pending = sum((a.worth for a in avoided if a.scenario is Scenario.PENDING), 0.0)
        price = Price(
            waiting_avoided=pending - displaced,
            home=stretch * home[index],
            hedge=sum((a.worth for a in avoided if a.scenario is not Scenario.PENDING), 0.0),
            rule=stretch * rules[index],
            out_of_service=move.cost.out_of_service,
            work_lost=move.cost.work_lost,
            restarts=move.cost.restarts,
            churn=move.cost.churn,
            displaced=displaced,
            avoided=avoided,
        )
        priced.append(PricedMove(move, price, serves[index]))
    return tuple(sorted(priced, key=_by_gain_per_cost))


def _avoided(
    problem: Problem, credit: Credit, stretch: float
) -> tuple[tuple[Avoided, ...], float]:
    """Return the waiting a change avoids, and what it serves of pods that are evicted."""
    first, last = len(problem.groups), len(problem.groups) + len(problem.hedges)
    parts: dict[tuple[Scenario, str], float] = {}
    returned = 0.0
    for (want, name), number in sorted(credit.instances.items()):
        worth = stretch * number * _worth_of_instance(problem, want, name)
        if not worth:
            continue
        if want >= last:
            returned += worth
            continue
        scenario = Scenario.PENDING
        if want >= first:
            scenario = problem.hedges[want - first].scenario
        parts[scenario, name] = parts.get((scenario, name), 0.0) + worth
    return tuple(Avoided(*key, worth) for key, worth in sorted(parts.items())), returned


def _worth_of_moved(
    problem: Problem, moves: Sequence[NodeMove], credit_of: Sequence[Credit], after: Choice
) -> list[float]:
    """Return the worth of evicted pods that find a place on nodes that do not change.

    It makes up for what the change that evicts them was charged for their waiting. Where
    they find it on a node that changes, that node's change earns it.
    """
    found = [0.0] * len(moves)
    for index, want in enumerate(problem.mix.wants):
        if not want.is_returning or not after.served[index]:
            continue
        on_changed = sum(
            number * _worth_of_instance(problem, own, name)
            for credit in credit_of
            for (own, name), number in credit.instances.items()
            if own == index
        )
        elsewhere = after.served[index] * want.value - on_changed
        want_of = problem.crowd.departures.want_of
        for place, move in enumerate(moves):
            keys = [(h.bundle, h.eligible, h.weight) for h in move.evicted]
            own_worth = want.value * sum(1 for key in keys if want_of[key] == index)
            found[place] += min(own_worth, elsewhere)
            elsewhere -= min(own_worth, elsewhere)
    return found


def _worth_of_instance(problem: Problem, want: int, name: str) -> float:
    """Return the part of a request's worth that one of its instances stands for."""
    bundle = problem.mix.wants[want].bundle
    weights = {own: problem.worth.weight_of(own) for own in bundle}
    total = sum(number * weights[own] for own, number in bundle.items())
    return problem.mix.wants[want].value * weights[name] / total


def _new_requests(
    mix: Mix, credit_of: Sequence[Credit], before: Choice, after: Choice
) -> tuple[dict[int, int], ...]:
    """Return the requests that each change serves anew, by want.

    A request for several instances counts for the change that brings most of them.
    """
    serves: tuple[dict[int, int], ...] = tuple({} for _ in credit_of)
    brought_by: dict[int, dict[int, int]] = {}
    for site, credit in enumerate(credit_of):
        for (want, _), number in credit.instances.items():
            brought = brought_by.setdefault(want, {})
            brought[site] = brought.get(site, 0) + max(0, number)
    for want, own in enumerate(mix.wants):
        new = after.served[want] - before.served[want]
        if new <= 0 or own.is_returning:
            continue
        brought = brought_by.get(want, {})
        size = own.bundle.total()
        for site in sorted(brought, key=lambda site: (-brought[site], site)):
            number = min(new, -(-brought[site] // size))
            if number:
                serves[site][want] = number
                new -= number
    return serves


def _by_gain_per_cost(priced: PricedMove) -> tuple[object, ...]:
    cost = priced.price.cost
    ratio = priced.price.gain / cost if cost > 0 else float("inf")
    # The rounding of sums is no reason to go first.
    return -round(ratio, 9), *priced.move.order


def _home_gains(
    problem: Problem, credit_of: Sequence[Credit], before: Choice, after: Choice
) -> list[float]:
    """Return the bonus each change earns: the first instances served more earn it."""
    gains = [0.0] * len(credit_of)
    for index, bonus in enumerate(problem.mix.bonuses):
        left = after.bonuses[index] - before.bonuses[index]
        for place, credit in enumerate(credit_of):
            served = sum(
                number
                for (want, name), number in credit.instances.items()
                if name == bonus.name and not problem.mix.wants[want].is_returning
            )
            earned = max(min(left, 0), min(left, served))
            gains[place] += earned * bonus.value
            left -= earned
    return gains


def _rule_gains(problem: Problem, moves: Sequence[NodeMove]) -> list[float]:
    """Return what each change does for the rules of its pool, one change after another."""
    gains = [0.0] * len(moves)
    for rule, pool_rule in zip(problem.mix.rules, problem.rules, strict=True):
        present = rule.present
        for place, move in enumerate(moves):
            if move.node.pool != pool_rule.pool:
                continue
            after = present + _added(rule, move, problem.menus.wishes)
            gains[place] += rule.price * (_missing(rule, present) - _missing(rule, after))
            present = after
    return gains


def _added(rule: Rule, move: NodeMove, wishes: Wishes) -> int:
    wish = wishes.layout_for(move.node.name)
    if wish is not None and wish[0] == rule.name:
        befores = [move.node.gpus[place].counts for place, _ in move.targets]
        return sum(t.after == wish[1] for _, t in move.targets) - befores.count(wish[1])
    if rule.name in {WHOLE_NODE, MARKED_NODE}:
        is_marked = rule.name == MARKED_NODE
        return int(move.makes_whole and move.node.reserved == is_marked)
    if rule.most is not None and move.makes_whole:
        return 0
    before, after = move.supply_change
    return after[rule.name] - before[rule.name]


def _missing(rule: Rule, present: int) -> int:
    short = max(0, rule.least - present) if rule.least is not None else 0
    excess = max(0, present - rule.most) if rule.most is not None else 0
    return short + excess
