"""The past that plans rest on: looked at once a day, one pool a cycle, and kept.

Home mixes live in the status ConfigMap, so a new leader goes on with those of the last
one. Forecasts are of the hour and are made anew. Whatever fails leaves what was known
before, and plans without a past are plans by sizes and present demand.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf

from autoscaler.domain.errors import AutoscalerError
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import ForecastRules, Policy, Pool
from autoscaler.planning.forecasting.forecast import Forecast, forecast
from autoscaler.planning.past.demand_history import DemandHistory, Grid
from autoscaler.planning.past.home_share import gpus_of
from autoscaler.planning.past.past_jobs import mean_service_s, without_waits
from autoscaler.planning.past.value_history import PoolPast, pool_past, values_of
from autoscaler.planning.past.values import ValueHistory
from autoscaler.ports import PastDemand

STEP_S = 300.0
# A longer past is looked at in wider steps.
MOST_STEPS = 20_000
HOUR_S = 3600.0
# After a failure, and between two looks because the GPUs of a pool changed.
RETRY_S = 900.0
CHANGED_S = HOUR_S
HASH_DIGITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """What is known of the past.

    Parameters
    ----------
    pools
        What it says, by pool.
    forecasts
        What is expected, by pool.
    tried_s
        When each pool was last looked at, epoch seconds.
    notices
        What failed at the last look, by pool.
    """

    pools: Mapping[str, PoolPast] = field(default_factory=dict)
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    tried_s: Mapping[str, float] = field(default_factory=dict)
    notices: Mapping[str, str] = field(default_factory=dict)

    def newer_of(self, kept: Mapping[str, PoolPast]) -> "Past":
        """Return this past with what another replica found later."""
        pools = dict(self.pools)
        for name, own in kept.items():
            if name not in pools or pools[name].made_at_s < own.made_at_s:
                pools[name] = own
        return replace(self, pools=dict(sorted(pools.items())))

    def values(self, policy: Policy, now_s: float) -> ValueHistory:
        """Return the worth that it gives instances now; old findings count no more."""
        names = {pool.name for pool in policy.pools}
        oldest_s = now_s - policy.planning.past.history_s
        pools = [p for n, p in self.pools.items() if n in names and p.made_at_s >= oldest_s]
        expected = {
            name: own.reach()
            for name, own in self.forecasts.items()
            if name in names and own.is_confident and now_s < own.made_at_s + own.horizon_s
        }
        return values_of(pools, policy.planning, expected)


NO_PAST = Past()


def fingerprint_of(values: ValueHistory) -> str:
    """Return a short hash of what the past is worth."""
    content = [
        sorted(values.service_s.items()),
        sorted(values.home.items()),
        sorted(values.reach.items()),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:HASH_DIGITS]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the past.

    Parameters
    ----------
    source
        Where it is known.
    policy
        How far to look, and what it counts for.
    snapshot
        The fleet.
    now_s
        Epoch seconds.
    """

    source: PastDemand
    policy: Policy
    snapshot: Snapshot
    now_s: float

    def refreshed(self, past: Past) -> Past:
        """Return the past after looking at the pool that is most overdue, if one is."""
        pool = next(iter(self.overdue(past)), None)
        return past if pool is None else self.at(past, pool)

    def overdue(self, past: Past) -> tuple[Pool, ...]:
        """Return the pools to look at, the one that was looked at longest ago first."""
        due = []
        for pool in self.policy.pools:
            tried_s = past.tried_s.get(pool.name, -inf)
            # A look in the future is one of a clock that has gone back.
            if tried_s <= self.now_s < tried_s + RETRY_S:
                continue
            if self._is_new_hour(past, pool) or self._is_due(past, pool):
                due.append((tried_s, pool.name, pool))
        return tuple(pool for _, _, pool in sorted(due, key=lambda item: item[:2]))

    def at(self, past: Past, pool: Pool) -> Past:
        """Return the past after looking at one pool; a failure is a notice."""
        policy, now_s = self.policy, self.now_s
        looked = replace(
            past,
            tried_s={**past.tried_s, pool.name: now_s},
            notices={name: text for name, text in past.notices.items() if name != pool.name},
        )
        rules = policy.demand.forecast
        reach_back_s = max(policy.planning.past.history_s, rules.history_s if rules else 0.0)
        grid = grid_until(now_s, reach_back_s)
        try:
            history = self.source.demand(pool.name, grid, alone_in(pool.name, self.snapshot))
            if self._is_due(past, pool):
                gpus = gpus_of(pool.name, self.snapshot)
                own = _cut(history, policy.planning.past.history_s)
                found = pool_past(own, pool, gpus, policy.planning, now_s)
                pools = {**past.pools, pool.name: found}
                looked = replace(looked, pools=dict(sorted(pools.items())))
        except AutoscalerError as error:
            text = f"the past of pool {pool.name} is not known: {error}"
            return replace(looked, notices={**looked.notices, pool.name: text})
        if rules is None:
            return replace(looked, forecasts={})
        made = expected_of(history, pool.name, rules, policy)
        return replace(looked, forecasts={**past.forecasts, pool.name: made})

    def _is_new_hour(self, past: Past, pool: Pool) -> bool:
        """Say whether a forecast is wanted that was not made in this hour."""
        made = past.forecasts.get(pool.name)
        if self.policy.demand.forecast is None:
            return False
        return made is None or floor(made.made_at_s / HOUR_S) != floor(self.now_s / HOUR_S)

    def _is_due(self, past: Past, pool: Pool) -> bool:
        """Say whether what the past of a pool says is to be found anew."""
        own = past.pools.get(pool.name)
        if own is None or own.made_at_s > self.now_s + RETRY_S:
            return True
        if self.now_s >= own.made_at_s + self.policy.planning.past.refresh_s:
            return True
        changed = own.gpus != gpus_of(pool.name, self.snapshot).text()
        return changed and self.now_s >= own.made_at_s + CHANGED_S


def expected_of(
    history: DemandHistory, pool: str, rules: ForecastRules, policy: Policy
) -> Forecast:
    """Return what is expected of a pool, as if nothing had to wait."""
    services = {name: own for (_, name), own in history.services.items()}
    means = mean_service_s(services, policy.planning.prior_jobs)
    return forecast(without_waits(history, means), pool, rules)


def grid_until(now_s: float, reach_back_s: float) -> Grid:
    """Return the points of the past up to now, at full multiples of their step."""
    step_s = STEP_S * max(1, ceil(reach_back_s / (STEP_S * MOST_STEPS)))
    last_s = floor(now_s / step_s) * step_s
    number = max(1, floor(reach_back_s / step_s))
    return Grid(last_s - (number - 1) * step_s, step_s, number)


def alone_in(pool: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the resources that only this pool's GPUs can offer."""
    offered: dict[str, set[str]] = {}
    for node in (*snapshot.nodes, *snapshot.outsiders):
        for profile in node.model.profiles if node.model is not None else ():
            offered.setdefault(resource_name(profile.name), set()).add(node.pool)
    return tuple(sorted(name for name, pools in offered.items() if pools == {pool}))


def _cut(history: DemandHistory, reach_back_s: float) -> DemandHistory:
    """Return the end of a history."""
    grid = history.grid
    number = min(grid.number, max(1, floor(reach_back_s / grid.step_s)))
    first = grid.number - number
    if not first:
        return history
    return replace(
        history,
        grid=Grid(grid.start_s + first * grid.step_s, grid.step_s, number),
        wanted={key: own[first:].copy() for key, own in history.wanted.items()},
        held={key: own[first:].copy() for key, own in history.held.items()},
    )
