"""Terms: what holds for the nodes of each pool, and who else would use what they have."""

from collections.abc import Iterable, Mapping

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import parse_resource
from autoscaler.domain.policy.policy import Policy, Pool
from autoscaler.planning.program.duration import expected_out_of_service_s
from autoscaler.planning.program.menu import PoolTerms
from autoscaler.planning.program.mix import Want
from autoscaler.planning.program.rules import PoolRule, RuleKind
from autoscaler.planning.program.targets import Allowed
from autoscaler.planning.program.units import bundle_of, free_of, profile_of_unit


def needs_of(wants: Iterable[Want], rules: Iterable[PoolRule]) -> Counts:
    """Return how many instances of a resource anything can use at most."""
    needs: dict[str, int] = {}
    for want in wants:
        for name, number in want.bundle.items():
            needs[name] = needs.get(name, 0) + number * want.number
    for rule in rules:
        if rule.kind is RuleKind.CAP:
            continue
        needs[rule.resource] = needs.get(rule.resource, 0) + max(1, rule.limit)
    return Counts(needs)


def terms_of_pool(
    pool: Pool,
    policy: Policy,
    models: Iterable[GpuModel],
    needs: Counts,
    rules: Iterable[PoolRule],
) -> PoolTerms:
    """Return what holds for the nodes of a pool."""
    return PoolTerms(
        allowed={model.key: allowed_in(pool, model, needs) for model in models},
        out_of_service_s=expected_out_of_service_s(pool.driver, policy),
        wants_whole=any(
            rule.pool == pool.name and rule.kind is RuleKind.RESERVE and not rule.is_met
            for rule in rules
        ),
        capped=frozenset(
            rule.resource
            for rule in rules
            if rule.pool == pool.name and rule.kind is RuleKind.CAP
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
        found = (parse_resource(model, profile_of_unit(name) or name) for name in asked)
        wished = {*model.plain_names, *(name for name in found if name is not None)}
    names = tuple(profile.name for profile in model.profiles if profile.name in wished)
    limited = {name for _, amounts in pool.all_ceilings() for name in amounts}
    return Allowed(names, frozenset(limited) & frozenset(names))


def shares_of(
    groups: Iterable[DemandGroup], nodes: Iterable[FleetNode], zone_of: Mapping[str, int]
) -> dict[tuple[int, str], float]:
    """Return the share of a zone's free instances that waiting pods would take.

    Each group is spread evenly over all free instances that it may take.
    """
    free: dict[str, dict[str, int]] = {}
    for node in nodes:
        for name, number in free_of(node).items():
            free.setdefault(name, {})[node.name] = number
    asked: dict[tuple[frozenset[str], str], int] = {}
    for group in groups:
        for name, number in bundle_of(group).items():
            key = (group.eligible, name)
            asked[key] = asked.get(key, 0) + number * group.number
    shares: dict[tuple[int, str], float] = {}
    zones_for: dict[frozenset[str], set[int]] = {}
    for (eligible, name), number in asked.items():
        own = free.get(name, {})
        available = sum(own[node] for node in own.keys() & eligible)
        if not available:
            continue
        if eligible not in zones_for:
            zones_for[eligible] = {zone_of[node] for node in eligible if node in zone_of}
        for zone in zones_for[eligible]:
            use = number / available
            shares[zone, name] = min(1.0, shares.get((zone, name), 0.0) + use)
    return shares
