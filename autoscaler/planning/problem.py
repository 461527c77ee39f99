"""The problem of one moment: fleet, demand and rules in the words of the mix problem."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand import Demand, DemandGroup
from autoscaler.domain.policy import Policy, Pool
from autoscaler.domain.profile import GpuModel
from autoscaler.domain.resource import parse_resource
from autoscaler.domain.snapshot import FleetNode, Snapshot
from autoscaler.planning.duration import expected_out_of_service_s
from autoscaler.planning.fleet import Fleet, Zone, free_of, group_nodes, with_hosts, zones_of
from autoscaler.planning.menu import Menus, PoolTerms
from autoscaler.planning.mix import Bonus, Mix, Rule, Want
from autoscaler.planning.rules import PoolRule, RuleKind, rules_of
from autoscaler.planning.targets import Allowed
from autoscaler.planning.worth import ValueHistory, Worth, hedge_steps, slices_by_resource


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
    pool
        Where they must be; ``None`` for any pool.
    """

    resource: str
    number: int
    value: float
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A mix problem and what its parts stand for.

    Parameters
    ----------
    mix
        The problem: the wants of ``groups`` come first, then those of ``hedges``.
    fleet
        Nodes behind its node kinds.
    groups, hedges, rules
        What stands behind wants and rules, in their order.
    worth
        Prices.
    """

    mix: Mix
    fleet: Fleet
    groups: tuple[DemandGroup, ...]
    hedges: tuple[Hedge, ...]
    rules: tuple[PoolRule, ...]
    worth: Worth


def state_problem(
    snapshot: Snapshot,
    demand: Demand,
    policy: Policy,
    now_s: float,
    *,
    history: ValueHistory | None = None,
) -> Problem:
    """Return the mix problem of a moment.

    Parameters
    ----------
    snapshot
        The fleet.
    demand
        What is asked for.
    policy
        Pools with their rules, and the constants of prices.
    now_s
        Epoch seconds.
    history
        What the past says about worth.
    """
    nodes = (*snapshot.nodes, *snapshot.outsiders)
    models = sorted({n.model for n in nodes if n.model is not None}, key=lambda m: m.key)
    worth = Worth(
        policy.planning.horizon_s, slices_by_resource(models), history or ValueHistory()
    )
    groups = tuple(sorted((g for g in demand.groups if g.number), key=_order_of))
    rules = tuple(r for pool in policy.pools for r in rules_of(pool, snapshot, now_s))
    pending = _pending(groups, snapshot.nodes)
    hedges = _hedges(demand, worth, pending)
    eligible = [group.eligible for group in groups]
    eligible += [_names(snapshot.nodes, hedge.pool) for hedge in hedges]
    zones, zone_of = zones_of(nodes, eligible)
    wants = _wants(groups, hedges, zones, worth)
    needs = _needs(wants, rules)
    menus = Menus(
        pools={p.name: _terms(p, policy, models, needs, rules) for p in policy.pools},
        needs=needs,
        shares=_shares(groups, nodes, zone_of),
        worth=worth,
    )
    fleet = with_hosts(group_nodes(nodes, zones, zone_of, menus), wants)
    heaviest = max((group.weight for group in groups), default=1.0)
    mix = Mix(
        kinds=fleet.kinds,
        wants=wants,
        bonuses=_bonuses(demand, worth, pending, zones),
        rules=tuple(_rule(rule, zones, worth, heaviest) for rule in rules),
    )
    return Problem(mix, fleet, groups, hedges, rules, worth)


def _order_of(group: DemandGroup) -> tuple[object, ...]:
    """Order groups by what they ask for and by their pods, never by names of nodes."""
    pod = group.pods[0]
    return (
        tuple(group.bundle.items()),
        -group.weight,
        group.gang,
        pod.namespace,
        pod.name,
        group.number,
    )


def _names(nodes: Iterable[FleetNode], pool: str | None) -> frozenset[str]:
    return frozenset(node.name for node in nodes if pool is None or node.pool == pool)


def _pending(
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


def _running(demand: Demand, pool: str, resource: str) -> int:
    return demand.running.get(pool, Counts())[resource]


def _hedges(
    demand: Demand, worth: Worth, pending: Mapping[tuple[str, str], int]
) -> tuple[Hedge, ...]:
    """Return the instances for queued work, then those that the past makes likely."""
    hedges = [
        Hedge(name, number, worth.of_hedge(name)) for name, number in demand.queued.items()
    ]
    for (pool, name), reach in sorted(worth.history.reach.items()):
        wanted = _running(demand, pool, name) + pending.get((pool, name), 0)
        hedges += [
            Hedge(name, number, worth.of_hedge(name, chance), pool)
            for number, chance in hedge_steps(reach, wanted)
        ]
    return tuple(hedges)


def _wants(
    groups: tuple[DemandGroup, ...],
    hedges: tuple[Hedge, ...],
    zones: tuple[Zone, ...],
    worth: Worth,
) -> tuple[Want, ...]:
    members: dict[int, set[int]] = {}
    for place, zone in enumerate(zones):
        for index in zone.wants:
            members.setdefault(index, set()).add(place)
    wants = [
        Want(
            bundle=group.bundle,
            number=group.number,
            value=worth.of_bundle(group.bundle, group.weight),
            zones=frozenset(members.get(index, ())),
            gang=group.gang,
            gang_min=group.gang_min,
            per_node=1 if group.one_per_node else None,
        )
        for index, group in enumerate(groups)
    ]
    wants += [
        Want(
            bundle=Counts({hedge.resource: 1}),
            number=hedge.number,
            value=hedge.value,
            zones=frozenset(members.get(index, ())),
        )
        for index, hedge in enumerate(hedges, start=len(groups))
    ]
    return tuple(wants)


def _needs(wants: Iterable[Want], rules: Iterable[PoolRule]) -> Counts:
    """Return how many instances of a resource anything can use at most."""
    needs: dict[str, int] = {}
    for want in wants:
        for name, number in want.bundle.items():
            needs[name] = needs.get(name, 0) + number * want.number
    for rule in rules:
        needs[rule.resource] = needs.get(rule.resource, 0) + max(1, rule.limit)
    return Counts(needs)


def _terms(
    pool: Pool,
    policy: Policy,
    models: Iterable[GpuModel],
    needs: Counts,
    rules: Iterable[PoolRule],
) -> PoolTerms:
    return PoolTerms(
        allowed={model.key: allowed_in(pool, model, needs) for model in models},
        out_of_service_s=expected_out_of_service_s(pool.driver, policy),
        wants_whole=any(
            rule.pool == pool.name and rule.kind is RuleKind.RESERVE and not rule.is_met
            for rule in rules
        ),
    )


def allowed_in(pool: Pool, model: GpuModel, asked: Iterable[str]) -> Allowed:
    """Return the profiles of a model that may be created in a pool.

    Parameters
    ----------
    pool
        Names them; or does not, and then variants count only where someone asks.
    model
        Names that it does not have are left out: a pool may hold several models.
    asked
        Resources that anything asks for.
    """
    if pool.profiles is not None:
        wished = set(pool.profiles)
    else:
        found = (parse_resource(model, name) for name in asked)
        wished = {*model.plain_names, *(name for name in found if name is not None)}
    names = tuple(profile.name for profile in model.profiles if profile.name in wished)
    return Allowed(names, frozenset(pool.ceilings) & frozenset(names))


def _shares(
    groups: Iterable[DemandGroup], nodes: Iterable[FleetNode], zone_of: Mapping[str, int]
) -> dict[tuple[int, str], float]:
    """Return the share of a zone's free instances that waiting pods would take.

    Each group is spread evenly over all free instances that it may take.
    """
    free: dict[str, Counts] = {node.name: free_of(node) for node in nodes}
    available: dict[tuple[frozenset[str], str], int] = {}
    shares: dict[tuple[int, str], float] = {}
    zones_for: dict[frozenset[str], set[int]] = {}
    for group in groups:
        if group.eligible not in zones_for:
            zones_for[group.eligible] = {zone_of[n] for n in group.eligible if n in zone_of}
        for name, number in group.bundle.items():
            key = (group.eligible, name)
            if key not in available:
                available[key] = sum(free[n][name] for n in group.eligible if n in free)
            if not available[key]:
                continue
            for zone in zones_for[group.eligible]:
                use = number * group.number / available[key]
                shares[zone, name] = min(1.0, shares.get((zone, name), 0.0) + use)
    return shares


def _bonuses(
    demand: Demand,
    worth: Worth,
    pending: Mapping[tuple[str, str], int],
    zones: tuple[Zone, ...],
) -> tuple[Bonus, ...]:
    bonuses = []
    for (pool, name), home in sorted(worth.history.home.items()):
        running = _running(demand, pool, name)
        number = min(home, running + pending.get((pool, name), 0)) - running
        if number > 0:
            bonuses.append(Bonus(name, _zones_in(pool, zones), number, worth.of_home(name)))
    return tuple(bonuses)


def _rule(rule: PoolRule, zones: tuple[Zone, ...], worth: Worth, heaviest: float) -> Rule:
    return rule.as_rule(_zones_in(rule.pool, zones), worth, heaviest)


def _zones_in(pool: str, zones: tuple[Zone, ...]) -> frozenset[int]:
    return frozenset(index for index, zone in enumerate(zones) if zone.pool == pool)
