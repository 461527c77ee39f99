"""What instances are worth: one currency, slice-seconds.

Serving a request frees its wait over the horizon, so it is worth the compute slices it
asks for times the horizon. The value of the k-th instance of a kind falls with k: most
for the home share, then for requests that wait, least for work that may come.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, sqrt

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import GPU, SHARED_SUFFIX, resource_name
from autoscaler.domain.policy.planning_rules import PlanningRules
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.planning.past.values import ValueHistory

# Rules hold whatever demand says: one instance short of a floor outweighs all that a
# node of eight GPUs could serve instead (56 slices), with room to spare.
RULE_FACTOR = 100.0

# Weights above count as this one: beyond it a single pod outweighs any fleet anyway, and
# the solver could not tell light pods from nothing.
MAX_WEIGHT = 1e4
# Mean service times beyond these are faults of metrics: a pod takes longer to start, and
# no cluster has run for so long. They would make one profile outweigh all others.
LEAST_SERVICE_S = 1.0
MOST_SERVICE_S = 1e9

# What likely work counts where people say nothing: most where a GPU in use stays as it is.
USUAL_HEDGE = 0.2
HEDGES = {Driver.AGENT: USUAL_HEDGE, Driver.MIG_MANAGER: 1.0}


@dataclass(frozen=True, slots=True)
class Worth:
    """Prices of one moment.

    Parameters
    ----------
    horizon_s
        Time over which a change is counted to serve, in seconds.
    slices
        Compute slices of an instance, by resource; 1 where unknown.
    history
        What the past says; without it only size counts.
    rules
        Constants, those of the horizon and of gain aside.
    peak_weight
        Worth of an instance for an announced peak, as a share of one that is waited for.
    hedges
        The same for what nobody asks for yet, by pool.
    """

    horizon_s: float
    slices: Mapping[str, int]
    history: ValueHistory = field(default_factory=ValueHistory)
    rules: PlanningRules = field(default_factory=PlanningRules)
    peak_weight: float = 1.0
    hedges: Mapping[str, float] = field(default_factory=dict)

    def knows(self, pool: str) -> bool:
        """Say whether the past tells what a pool is asked for."""
        return any(own == pool for own, _ in self.history.reach)

    def slices_of(self, resource: str) -> int:
        """Return the compute slices of an instance."""
        return self.slices.get(resource.removesuffix(SHARED_SUFFIX), 1)

    def weight_of(self, resource: str) -> float:
        """Return the weight of an instance in compute slices.

        Requests that run long count less for their size: in the time that one of them
        holds a GPU, many short ones would have been served.
        """
        usual_s = self.rules.usual_service_s
        return self.slices_of(resource) / sqrt(self._service_s(resource) / usual_s)

    def service_of(self, bundle: Counts) -> float:
        """Return the usual service time of a request in seconds, the longest of its parts."""
        times_s = [self._service_s(name) for name in bundle]
        return max(times_s, default=self.rules.usual_service_s)

    def _service_s(self, resource: str) -> float:
        known_s = self.history.service_s.get(resource, 0.0)
        if not 0 < known_s < inf:
            return self.rules.usual_service_s
        return min(max(known_s, LEAST_SERVICE_S), MOST_SERVICE_S)

    def of_bundle(self, bundle: Counts, priority: float = 1.0) -> float:
        """Return the worth of serving a request, in slice-seconds."""
        slices = sum(number * self.weight_of(name) for name, number in bundle.items())
        weight = min(priority, MAX_WEIGHT) if priority > 0 else 0.0
        return self.horizon_s * weight * slices

    def of_home(self, resource: str) -> float:
        """Return the extra worth of an instance of the home share, in slice-seconds."""
        return self.rules.home_bonus * self.horizon_s * self.weight_of(resource)

    def of_queued(self, resource: str) -> float:
        """Return the worth of an instance for work that is held back, in slice-seconds."""
        share = self.rules.hedge if self.rules.hedge is not None else USUAL_HEDGE
        return share * self.horizon_s * self.weight_of(resource)

    def of_hedge(self, resource: str, chance: float, pool: str) -> float:
        """Return the worth of an instance in a pool for likely work, in slice-seconds."""
        share = self.hedges.get(pool, USUAL_HEDGE)
        return share * chance * self.horizon_s * self.weight_of(resource)

    def of_peak(self, resource: str) -> float:
        """Return the worth of an instance for an announced peak, in slice-seconds."""
        return self.peak_weight * self.horizon_s * self.weight_of(resource)

    def of_rule(self, slices: int, largest_weight: float) -> float:
        """Return the price of missing a rule by so many slices, in slice-seconds."""
        weight = min(max(1.0, largest_weight), MAX_WEIGHT)
        return RULE_FACTOR * self.horizon_s * slices * weight


def hedges_by_pool(policy: Policy) -> dict[str, float]:
    """Return what an instance for likely work is worth in each pool, see ``Worth``."""
    given = policy.planning.hedge
    return {p.name: HEDGES[p.driver] if given is None else given for p in policy.pools}


def slices_by_resource(models: Iterable[GpuModel]) -> dict[str, int]:
    """Return the compute slices of an instance of each resource.

    A whole GPU counts as the largest of the models.
    """
    slices: dict[str, int] = {}
    for model in models:
        slices[GPU] = max(slices.get(GPU, 0), model.compute_slices)
        for profile in model.profiles:
            slices[resource_name(profile.name)] = profile.compute_slices
    return slices


def hedge_steps(reach: tuple[float, ...], wanted: int) -> list[tuple[int, float]]:
    """Return how many instances beyond those wanted have which chance to be wanted.

    Parameters
    ----------
    reach
        Chance that at least k instances are wanted, for k = 1, 2 and so on; forced to
        fall, because a larger number cannot be likelier.
    wanted
        Instances wanted now, held ones included.

    Returns
    -------
    list
        Numbers and chances, falling; instances without a chance are left out.
    """
    steps: list[tuple[int, float]] = []
    chance = 1.0
    for k, own in enumerate(reach, start=1):
        chance = min(chance, own if own > 0 else 0.0)
        if k <= wanted or chance <= 0:
            continue
        if steps and steps[-1][1] == chance:
            steps[-1] = (steps[-1][0] + 1, chance)
        else:
            steps.append((1, chance))
    return steps
