"""The hedged policy that the planner's objective comes from, in its plainest form.

Whole, with its constants as they were measured, and independent of the planner: so the
planner can be compared with what it was meant to do. An integer program chooses how
many GPUs of each state get which maximal geometry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import layouts_around
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.queue_model import Job
from autoscaler.planning.solving.linear import ProgramBuilder
from autoscaler.planning.solving.solver import solve
from autoscaler.simulation.study.jobs import queued_by_profile, slices_of
from autoscaler.simulation.study.splits import Work
from autoscaler.simulation.study.static_mix import plain_sizes

USUAL_SERVICE_S = 3000.0
GAP = 1e-6
MOST_PER_GPU = 7
# Of two re-cuts with the same new slices, fewer GPUs.
PRICE_OF_ANY = 0.01
# What is fixed on a GPU, and all its instances.
State = tuple[Geometry, Geometry]


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of the policy; an infinite cap is none."""

    home_bonus: float = 0.1
    hedge: float = 0.2
    cost_per_slice: float = 0.005
    service_power: float = 0.5
    prior_jobs: float = 5.0
    cap_share: float = 0.10


@dataclass(frozen=True, slots=True)
class HedgedPast:
    """What the policy knows of the past, by profile.

    Parameters
    ----------
    home
        Instances of the static mix tuned on it.
    service_s
        Mean run time, drawn towards that of all jobs where there are few.
    reach
        Share of the time with at least 1, 2, … instances wanted at once.
    """

    home: Counts
    service_s: Mapping[str, float]
    reach: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Hedged:
    """Chooses geometries.

    Parameters
    ----------
    past
        What is known.
    gpus
        Size of the fleet; the cap is a share of it.
    """

    model: GpuModel
    past: HedgedPast
    gpus: int
    constants: Constants = field(default_factory=Constants)

    def weight(self, profile: str) -> float:
        """Return what an instance is worth, in compute slices."""
        ratio = self.past.service_s.get(profile, USUAL_SERVICE_S) / USUAL_SERVICE_S
        return float(slices_of(self.model)[profile] / ratio**self.constants.service_power)

    def steps(self, profile: str, wanted: int, most: int) -> list[tuple[float, int]]:
        """Return the value of the first, second … instance, equal ones together."""
        weight, rules = self.weight(profile), self.constants
        home = min(self.past.home[profile], wanted)
        reach = self.past.reach.get(profile, ())
        steps: list[tuple[float, int]] = []
        value = inf
        for k in range(1, most + 1):
            chance = reach[k - 1] if k <= len(reach) else 0.0
            own = 1.0 + rules.home_bonus if k <= home else 1.0
            value = min(value, weight * (own if k <= wanted else rules.hedge * chance))
            if value <= 0:
                break
            if steps and steps[-1][0] == value:
                steps[-1] = (value, steps[-1][1] + 1)
            else:
                steps.append((value, 1))
        return steps

    def choose(
        self, states: Mapping[State, int], wanted: Counts
    ) -> list[tuple[State, Geometry, int]]:
        """Return how many GPUs of each state get which other geometry.

        Parameters
        ----------
        states
            Number of GPUs by what is fixed and what there is in all.
        wanted
            Instances that are held or waited for, by profile.
        """
        names = plain_sizes(self.model).names
        builder = ProgramBuilder()
        supply = {name: builder.row(-inf, 0.0) for name in names}
        limit = builder.row(-inf, self._most_whole(states))
        options: list[tuple[int, State, Geometry]] = []
        for state in sorted(states):
            one = builder.row(states[state], states[state])
            for target in (state[1], *_targets(self.model, state[0], names)):
                price = self._price(state[1], target)
                column = builder.column(-price, states[state], is_integer=True)
                builder.enter(one, column, 1.0)
                for name, number in target.counts.items():
                    builder.enter(supply[name], column, -number)
                builder.enter(limit, column, target.counts[self.model.whole_gpu.name])
                options.append((column, state, target))
        for name in names:
            for value, number in self.steps(name, wanted[name], MOST_PER_GPU * self.gpus):
                builder.enter(supply[name], builder.column(value, number), 1.0)
        answer = solve(builder.build(), gap=GAP, max_nodes=100_000)
        if answer.x is None:
            raise PlanningError(f"the hedged policy: the solver ended with {answer.status}")
        chosen = [(s, t, round(float(answer.x[c]))) for c, s, t in options if t != s[1]]
        return [entry for entry in chosen if entry[2]]

    def _most_whole(self, states: Mapping[State, int]) -> float:
        """Return the limit of whole-GPU instances; those in use may exceed it."""
        whole, rules = self.model.whole_gpu.name, self.constants
        if rules.cap_share == inf:
            return inf
        fixed = sum(number * state[0].counts[whole] for state, number in states.items())
        return max(fixed, self.past.home[whole] + max(1, round(rules.cap_share * self.gpus)))

    def _price(self, present: Geometry, target: Geometry) -> float:
        new = _new_slices(self.model, present, target)
        return self.constants.cost_per_slice * (new + PRICE_OF_ANY) if new else 0.0


def hedged_past(work: Work, home: Counts, prior_jobs: float = 5.0) -> HedgedPast:
    """Return what the policy learns from some work and its static mix."""
    by_profile = queued_by_profile(work.jobs)
    everything = [job.service_s for jobs in by_profile.values() for job in jobs]
    mean_s = sum(everything) / len(everything)
    service_s = {
        name: (sum(job.service_s for job in jobs) + prior_jobs * mean_s)
        / (len(jobs) + prior_jobs)
        for name, jobs in by_profile.items()
    }
    reach = {name: reach_of(jobs, work.span_s) for name, jobs in by_profile.items()}
    return HedgedPast(home, service_s, reach)


def reach_of(jobs: Sequence[Job], span_s: float) -> tuple[float, ...]:
    """Return the share of a time with at least 1, 2, … jobs if none ever waited."""
    moves = [(job.arrival_s, 1) for job in jobs]
    moves += [(job.arrival_s + job.service_s, -1) for job in jobs]
    lasted: list[float] = []
    now, since_s = 0, 0.0
    for at_s, change in [*sorted(moves), (span_s, 0)]:
        until_s = min(at_s, span_s)
        lasted.extend([0.0] * (now + 1 - len(lasted)))
        lasted[now] += max(0.0, until_s - since_s)
        since_s = max(since_s, until_s)
        now += change
    return tuple(sum(lasted[k:]) / span_s for k in range(1, len(lasted)))


@lru_cache(maxsize=65536)
def _targets(model: GpuModel, fixed: Geometry, names: tuple[str, ...]) -> tuple[Geometry, ...]:
    return layouts_around(model, fixed, names)


@lru_cache(maxsize=65536)
def _new_slices(model: GpuModel, present: Geometry, target: Geometry) -> int:
    slices = slices_of(model)
    return sum(slices[i.profile] for i in target.instances if i not in present.instances)
