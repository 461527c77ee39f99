"""Crowd: of all who hold instances, those who count as possible departures.

Every GPU that could be emptied by an eviction has a price of its own, so the program
cannot count such GPUs together. Of many, only the cheapest are looked at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.planning.program.departure import Departures
from autoscaler.planning.program.fleet import is_movable
from autoscaler.planning.program.keeping import Place, keepable, may_wait_for
from autoscaler.planning.program.order import shapes_of
from autoscaler.planning.program.targets import Way
from autoscaler.planning.program.units import free_of
from autoscaler.planning.program.worth import Worth

# GPUs that are considered for an eviction, those with the least work to lose first: each
# makes its node a kind of its own, and so the program of a large fleet larger.
MAX_EVICTED_GPUS = 200


@dataclass(frozen=True, slots=True)
class Returning:
    """Evicted pods that would wait alike."""

    bundle: Counts
    eligible: frozenset[str]
    weight: float
    number: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who may leave, and what of it the program must know.

    Parameters
    ----------
    departures
        Who may leave which GPU.
    returning
        Requests that evictions would make wait again, in the order of their wants.
    room
        Evictions each disruption budget allows, in the order of limits.
    left_out
        GPUs that could be emptied by an eviction and are not looked at.
    """

    departures: Departures
    returning: tuple[Returning, ...] = ()
    room: tuple[int, ...] = ()
    left_out: int = 0


def crowd_of(
    demand: Demand,
    nodes: Iterable[FleetNode],
    policy: Policy,
    worth: Worth,
    *,
    first_want: int,
) -> Crowd:
    """Return who may leave which GPU.

    Parameters
    ----------
    demand
        Who holds what and who waits for what.
    nodes
        All that offer something.
    policy
        Who may be evicted, and the constants of prices.
    worth
        Prices.
    first_want
        Index of the want of the first request that may return.
    """
    own = {node.name: node for node in nodes}
    drivers = {
        name: n.driver
        for name, n in own.items()
        if is_movable(n) and not n.reserved and n.strategy is Strategy.MIXED
    }
    kept = keepable(demand.holders, own.values(), worth.history.home, may_wait_for)
    bare = Departures(policy, worth, keepable=kept)
    places: dict[Place, list[Holder]] = {}
    for holder in demand.holders:
        if holder.node in drivers:
            places.setdefault((holder.node, holder.gpu), []).append(holder)
    able = {p: bare.in_order(found) for p, found in places.items()}
    able = {p: h for p, h in able.items() if bare.leavers(h, drivers[p[0]])}
    chosen, left_out = _cheapest(able, bare, drivers)
    returning = _returning(chosen, own.values())
    budgets = sorted({b for held in chosen.values() for h in held for b in h.budgets})
    departures = Departures(
        policy=policy,
        worth=worth,
        want_of={
            (r.bundle, r.eligible, r.weight): first_want + i for i, r in enumerate(returning)
        },
        limit_of={name: i for i, name in enumerate(budgets)},
        freed=_freed(demand, own.values(), chosen),
        keepable=kept,
    )
    departures.holders = {p: departures.in_order(held) for p, held in chosen.items()}
    room = tuple(demand.room.get(name, 0) for name in budgets)
    return Crowd(departures, returning, room, left_out)


def _cheapest(
    able: Mapping[Place, tuple[Holder, ...]], bare: Departures, drivers: Mapping[str, Driver]
) -> tuple[dict[Place, tuple[Holder, ...]], int]:
    """Keep GPUs that empty themselves, and of the others those that lose least."""
    kept: dict[Place, tuple[Holder, ...]] = {}
    priced: list[tuple[float, Place]] = []
    for place, holders in able.items():
        leavers = bare.leavers(holders, drivers[place[0]])
        if Way.EVICT not in leavers.ways and not any(leavers.evictable):
            kept[place] = holders
            continue
        lost = sum(h.lost_work_s * h.held.total() for h in holders if h.may_be_evicted)
        priced.append((lost, place))
    priced.sort()
    for _, place in priced[:MAX_EVICTED_GPUS]:
        kept[place] = able[place]
    return dict(sorted(kept.items())), max(0, len(priced) - MAX_EVICTED_GPUS)


def _returning(
    chosen: Mapping[Place, tuple[Holder, ...]], nodes: Iterable[FleetNode]
) -> tuple[Returning, ...]:
    number: dict[tuple[Counts, frozenset[str], float], int] = {}
    for held in chosen.values():
        for holder in held:
            if holder.may_be_evicted:
                key = (holder.bundle, holder.eligible, holder.weight)
                number[key] = number.get(key, 0) + 1
    shapes = shapes_of((eligible for _, eligible, _ in number), nodes)
    found = [Returning(*key, n) for key, n in number.items()]
    found.sort(
        key=lambda own: (
            tuple(own.bundle.items()),
            -own.weight,
            own.number,
            shapes[own.eligible],
            sorted(own.eligible),
        )
    )
    return tuple(found)


def _freed(
    demand: Demand,
    nodes: Iterable[FleetNode],
    chosen: Mapping[Place, tuple[Holder, ...]],
) -> dict[str, float]:
    """Return the chance that an instance that becomes free by itself is taken at once."""
    asked = Counts()
    for group in demand.groups:
        asked = asked.plus(group.bundle, group.number)
    free = sum_of(free_of(node) for node in nodes)
    soon = sum_of(holder.bundle for held in chosen.values() for holder in held)
    lacking = {name: max(0, number - free[name]) for name, number in asked.items()}
    return {name: min(1.0, n / soon[name]) for name, n in lacking.items() if n and soon[name]}
