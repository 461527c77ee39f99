"""The problem of one moment: fleet, demand and rules in the words of the mix problem."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.program.aging import aged
from autoscaler.planning.program.crowd import Crowd, Returning, crowd_of
from autoscaler.planning.program.expectation import (
    Hedge,
    bonuses_of,
    hedges_of,
    pending_by_pool,
)
from autoscaler.planning.program.fleet import (
    Fleet,
    Zone,
    group_nodes,
    with_hosts,
    zones_in,
    zones_of,
)
from autoscaler.planning.program.horizon import Horizon, horizon_of
from autoscaler.planning.program.margin import margins_of
from autoscaler.planning.program.menu import Menus
from autoscaler.planning.program.mix import Mix, Rule, Want
from autoscaler.planning.program.order import groups_in_order
from autoscaler.planning.program.preset import wishes_of
from autoscaler.planning.program.prices import Prices
from autoscaler.planning.program.rules import PoolRule, preset_rules, rules_of
from autoscaler.planning.program.terms import needs_of, shares_of, terms_of_pool
from autoscaler.planning.program.units import asked_of, bundle_of, unit_slices
from autoscaler.planning.program.whole_gpu_cap import cap_rules
from autoscaler.planning.program.worth import Worth, hedges_by_pool, slices_by_resource


@dataclass(frozen=True, slots=True)
class Problem:
    """A mix problem and what its parts stand for.

    Parameters
    ----------
    mix
        The problem: the wants of ``groups`` come first, then those of ``hedges``, then
        those of pods that evictions would make wait again.
    fleet
        Nodes behind its node kinds.
    groups, hedges, rules
        What stands behind wants and rules, in their order.
    worth
        Prices.
    crowd
        Who may leave a GPU.
    horizon
        How long changes serve.
    menus
        What GPUs may become, and the price of it.
    zone_of
        Index of each node's zone by its name.
    """

    mix: Mix
    fleet: Fleet
    groups: tuple[DemandGroup, ...]
    hedges: tuple[Hedge, ...]
    rules: tuple[PoolRule, ...]
    worth: Worth
    crowd: Crowd
    horizon: Horizon
    menus: Menus
    zone_of: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Past:
    """What the past says.

    Parameters
    ----------
    values
        Of the worth of instances.
    records
        Of rollouts that are over.
    """

    values: ValueHistory = field(default_factory=ValueHistory)
    records: tuple[RolloutRecord, ...] = ()


def state_problem(
    snapshot: Snapshot,
    demand: Demand,
    policy: Policy,
    now_s: float,
    past: Past | None = None,
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
    past
        What is known of the past; nothing by default.
    """
    past = past or Past()
    nodes = (*snapshot.nodes, *snapshot.outsiders)
    models = sorted({n.model for n in nodes if n.model is not None}, key=lambda m: m.key)
    horizon = horizon_of(policy, now_s)
    worth = Worth(
        horizon.anytime_s,
        {**slices_by_resource(models), **unit_slices(models)},
        past.values,
        policy.planning,
        policy.demand.peaks.weight,
        hedges_by_pool(policy),
    )
    asked = aged((g for g in demand.groups if g.number), worth, now_s)
    groups = groups_in_order(asked, nodes)
    wishes = wishes_of(policy, snapshot, demand, now_s)
    rules = (*_all_rules(snapshot, policy, past, now_s), *preset_rules(wishes))
    pending = pending_by_pool(groups, snapshot.nodes)
    hedges = hedges_of(demand, worth, pending)
    first = len(groups) + len(hedges)
    crowd = crowd_of(demand, nodes, policy, worth, first_want=first)
    zones, zone_of = zones_of(nodes, _eligible(groups, hedges, crowd, snapshot))
    named = {node.name: node for node in nodes}
    wants = _wants((groups, hedges, crowd.returning), zones, worth, named)
    needs = needs_of(wants, rules)
    pools = {p.name: terms_of_pool(p, policy, models, needs, rules) for p in policy.pools}
    prices = Prices(
        out_of_service_s={name: terms.out_of_service_s for name, terms in pools.items()},
        needs=needs,
        shares=shares_of(groups, nodes, zone_of),
        worth=worth,
        margins=margins_of(policy.planning, past.records, now_s),
    )
    menus = Menus(pools, needs, prices, crowd.departures, horizon, wishes)
    fleet = with_hosts(group_nodes(nodes, zones, zone_of, menus), wants)
    heaviest = max((group.weight for group in groups), default=1.0)
    mix = Mix(
        kinds=fleet.kinds,
        wants=wants,
        bonuses=bonuses_of(demand, worth, pending, zones),
        rules=tuple(_rule(rule, zones, worth, heaviest) for rule in rules),
        limits=crowd.room,
    )
    return Problem(mix, fleet, groups, hedges, rules, worth, crowd, horizon, menus, zone_of)


def _all_rules(
    snapshot: Snapshot, policy: Policy, past: Past, now_s: float
) -> tuple[PoolRule, ...]:
    return tuple(
        rule
        for pool in policy.pools
        for rule in (
            *rules_of(pool, snapshot, now_s),
            *cap_rules(pool, snapshot, past.values, policy, now_s),
        )
    )


def _eligible(
    groups: Iterable[DemandGroup], hedges: Iterable[Hedge], crowd: Crowd, snapshot: Snapshot
) -> list[frozenset[str]]:
    """Return the names of the nodes that may take each want, in the order of wants."""
    eligible = [group.eligible for group in groups]
    eligible += [_names(snapshot.nodes, hedge.pool) for hedge in hedges]
    return eligible + [own.eligible for own in crowd.returning]


def _names(nodes: Iterable[FleetNode], pool: str | None) -> frozenset[str]:
    return frozenset(node.name for node in nodes if pool is None or node.pool == pool)


def _wants(
    asked: tuple[tuple[DemandGroup, ...], tuple[Hedge, ...], tuple[Returning, ...]],
    zones: tuple[Zone, ...],
    worth: Worth,
    nodes: Mapping[str, FleetNode],
) -> tuple[Want, ...]:
    groups, hedges, returning = asked
    members: dict[int, set[int]] = {}
    for place, zone in enumerate(zones):
        for index in zone.wants:
            members.setdefault(index, set()).add(place)
    wants = [
        Want(
            bundle=bundle_of(group),
            number=group.number,
            value=worth.of_bundle(_valued(group, nodes), group.weight),
            zones=frozenset(members.get(index, ())),
            gang=group.gang,
            gang_min=group.gang_min,
            per_node=1 if group.one_per_node else None,
            is_one=bool(group.unit),
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
    wants += [
        Want(
            bundle=own.bundle,
            number=own.number,
            value=worth.of_bundle(own.bundle, own.weight),
            zones=frozenset(members.get(index, ())),
            is_returning=True,
        )
        for index, own in enumerate(returning, start=len(groups) + len(hedges))
    ]
    return tuple(wants)


def _valued(group: DemandGroup, nodes: Mapping[str, FleetNode]) -> Counts:
    if not group.bundle[GPU]:
        return group.bundle
    return asked_of(group, [nodes[name] for name in sorted(group.eligible) if name in nodes])


def _rule(rule: PoolRule, zones: tuple[Zone, ...], worth: Worth, heaviest: float) -> Rule:
    return rule.as_rule(zones_in(rule.pool, zones), worth, heaviest)
