"""What is wanted beyond the pods that wait: peaks, queued work, and what is likely."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.plan.plan import Scenario
from autoscaler.planning.program.fleet import Zone, zones_in
from autoscaler.planning.program.mix import Bonus
from autoscaler.planning.program.worth import Worth, hedge_steps

Pending = Mapping[tuple[str, str], int]
"""Instances that pods wait for, by pool and resource name."""


@dataclass(frozen=True, slots=True)
class Hedge:
    """Instances for work to come.

    Parameters
    ----------
    resource
        Name of the resource.
    number
        How many instances.
    value
        Worth of each, in slice-seconds.
    scenario
        What makes them wanted.
    pool
        Where they must be; ``None`` for any pool.
    """

    resource: str
    number: int
    value: float
    scenario: Scenario
    pool: str | None = None


def pending_by_pool(
    groups: Iterable[DemandGroup], nodes: Iterable[FleetNode]
) -> dict[tuple[str, str], int]:
    """Count the instances that pods wait for, by each pool that may take them."""
    pool_of = {node.name: node.pool for node in nodes}
    pending: dict[tuple[str, str], int] = {}
    known: dict[frozenset[str], set[str]] = {}
    for group in groups:
        if group.eligible not in known:
            known[group.eligible] = {pool_of[n] for n in group.eligible if n in pool_of}
        for pool in known[group.eligible]:
            for name, number in group.bundle.items():
                key = (pool, name)
                pending[key] = pending.get(key, 0) + number * group.number
    return pending


def hedges_of(demand: Demand, worth: Worth, pending: Pending) -> tuple[Hedge, ...]:
    """Return the instances for peaks and queued work, then those that are likely.

    What is announced or queued is part of what is likely, and counts once. While requests
    of the home share wait, what is likely counts as far as it is of the home share too:
    all of that has room at once, and more could keep GPUs idle that they need.
    """
    home = worth.history.home
    waiting = {pool for pool, _, _ in _waiting_of_home(demand, worth, pending)}
    announced = sum_of({own.resource: own.number} for own in demand.announced)
    hedges = [
        Hedge(name, number, worth.of_peak(name), Scenario.SCHEDULED)
        for name, number in announced.items()
    ]
    hedges += [
        Hedge(name, number, worth.of_queued(name), Scenario.QUEUED)
        for name, number in demand.queued.items()
    ]
    for (pool, name), reach in sorted(worth.history.reach.items()):
        wanted = _running(demand, pool, name) + pending.get((pool, name), 0)
        wanted += announced[name] + demand.queued[name]
        most = home.get((pool, name), 0) if pool in waiting else len(reach)
        hedges += [
            Hedge(name, number, worth.of_hedge(name, chance, pool), Scenario.LIKELY, pool)
            for number, chance in hedge_steps(reach[:most], wanted)
        ]
    return tuple(hedges)


def bonuses_of(
    demand: Demand,
    worth: Worth,
    pending: Pending,
    zones: tuple[Zone, ...],
) -> tuple[Bonus, ...]:
    """Return the extra worth of the instances of each pool's home share.

    Those that are in use already have it, and nobody earns it who does not ask.
    """
    return tuple(
        Bonus(name, zones_in(pool, zones), number, worth.of_home(name))
        for pool, name, number in _waiting_of_home(demand, worth, pending)
    )


def _waiting_of_home(
    demand: Demand, worth: Worth, pending: Pending
) -> Iterator[tuple[str, str, int]]:
    """Yield pool, resource and number of the instances of home shares that pods wait for."""
    for (pool, name), home in sorted(worth.history.home.items()):
        running = _running(demand, pool, name)
        number = min(home, running + pending.get((pool, name), 0)) - running
        if number > 0:
            yield pool, name, number


def _running(demand: Demand, pool: str, resource: str) -> int:
    return demand.running.get(pool, Counts())[resource]
