"""What the past of each pool says about the worth of instances.

Found once a day and kept: the mix that would have served the past best, how long
requests ran, and how often how many instances were wanted at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.policy.policy import PlanningRules, Pool
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.planning.past.demand_history import DemandHistory, Service
from autoscaler.planning.past.home_share import PoolGpus, home_share
from autoscaler.planning.past.past_jobs import mean_service_s, without_waits
from autoscaler.planning.past.reach import share_of_time
from autoscaler.planning.past.values import ValueHistory

# Chances closer than this are one: each step of the hedge is a column of the program.
CHANCE_STEP = 0.02

Reach = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class PoolPast:
    """What the past of a pool says.

    Parameters
    ----------
    pool
        Name of the pool.
    made_at_s
        When it was found, epoch seconds.
    inputs
        Hash of the history it rests on.
    gpus
        The pool's GPUs in words.
    sources
        Where the history comes from.
    known_s
        Time of the past that was known.
    services
        Service times of past requests by resource.
    home
        Instances of the home mix by resource, zero for whole GPUs included; empty when
        there is none.
    reach
        Share of the past with at least 1, 2, … instances wanted, by resource.
    reason
        Why the past does not count; empty when it does.
    notices
        What is missing or odd, one sentence each.
    """

    pool: str
    made_at_s: float
    inputs: str = ""
    gpus: str = ""
    sources: tuple[str, ...] = ()
    known_s: float = 0.0
    services: Mapping[str, Service] = field(default_factory=dict)
    home: Mapping[str, int] = field(default_factory=dict)
    reach: Reach = field(default_factory=dict)
    reason: str = ""
    notices: tuple[str, ...] = ()


def pool_past(
    history: DemandHistory, pool: Pool, gpus: PoolGpus, rules: PlanningRules, made_at_s: float
) -> PoolPast:
    """Return what the past of a pool says.

    Parameters
    ----------
    history
        The past.
    pool
        The pool.
    gpus
        Its GPUs that may be cut.
    rules
        Constants.
    made_at_s
        Now, epoch seconds.
    """
    known_s = history.known_s(pool.name)
    reason = ""
    if known_s < rules.past.min_history_s:
        have, need = format_duration(known_s), format_duration(rules.past.min_history_s)
        reason = f"only {have} of the past are known, {need} are needed"
    services = {
        resource: history.services.get((pool.name, resource), Service())
        for resource in history.of_pool(pool.name)
    }
    smooth = without_waits(history, mean_service_s(services, rules.prior_jobs))
    notices = list(history.notices)
    home: dict[str, int] = {}
    if not reason and gpus.total:
        jobs = {name: smooth.jobs[pool.name, name] for name in services}
        home, said = home_share(jobs, pool, gpus, history.grid.end_s)
        notices += said
    return PoolPast(
        pool=pool.name,
        made_at_s=made_at_s,
        inputs=history.fingerprint(pool.name),
        gpus=gpus.text(),
        sources=tuple(source.value for source in history.sources),
        known_s=known_s,
        services=services,
        home=dict(sorted(home.items())),
        reach={} if reason else reach_of(smooth, pool.name),
        reason=reason,
        notices=tuple(dict.fromkeys(notices)),
    )


def reach_of(history: DemandHistory, pool: str) -> dict[str, tuple[float, ...]]:
    """Return the share of the past with at least 1, 2, … wanted, in coarse steps."""
    found = history.of_pool(pool)
    shares = {name: coarse(share_of_time(samples)) for name, samples in found.items()}
    return {name: own for name, own in shares.items() if own}


def coarse(reach: Iterable[float]) -> tuple[float, ...]:
    """Return chances in even steps, the smallest left out."""
    steps = (round(chance / CHANCE_STEP) for chance in reach)
    return tuple(round(step * CHANCE_STEP, 6) for step in steps if step > 0)


def values_of(
    pasts: Iterable[PoolPast], rules: PlanningRules, expected: Mapping[str, Reach] | None = None
) -> ValueHistory:
    """Return the worth of instances that the past of all pools gives.

    Parameters
    ----------
    pasts
        One a pool; those that do not count change nothing.
    rules
        Constants.
    expected
        Chances from forecasts that may be relied on, by pool and resource: they stand
        in place of the plain share of time.
    """
    services: dict[str, Service] = {}
    home: dict[tuple[str, str], int] = {}
    reach: dict[tuple[str, str], tuple[float, ...]] = {}
    for past in sorted(pasts, key=lambda p: p.pool):
        if past.reason:
            continue
        for name, own in past.services.items():
            services[name] = services.get(name, Service()).plus(own)
        home |= {(past.pool, name): number for name, number in past.home.items()}
        reach |= {(past.pool, name): own for name, own in past.reach.items()}
    for pool, chances in sorted((expected or {}).items()):
        reach |= {(pool, name): coarse(own) for name, own in chances.items()}
    return ValueHistory(mean_service_s(services, rules.prior_jobs), home, reach)
