"""Scores: what a fleet that some planner has cut is worth, in the words of the program.

Whoever cut it, pods then go where they are worth most, and every change has the same
price. So planners are told apart by their changes alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.baselines.greedy import best_fit_decreasing, first_fit
from autoscaler.planning.baselines.nos import nos_fixed, nos_strict
from autoscaler.planning.program.formulation import formulate
from autoscaler.planning.program.mix import Choice
from autoscaler.planning.program.optimizer import finish
from autoscaler.planning.program.problem import Problem, state_problem
from autoscaler.planning.solving.solver import solve

Baseline = Callable[[Snapshot, Demand], Snapshot]

BASELINES: Mapping[str, Baseline] = {
    "first-fit": first_fit,
    "best-fit-decreasing": best_fit_decreasing,
    "nos": nos_strict,
    "nos-fixed": nos_fixed,
}


@dataclass(frozen=True, slots=True)
class Score:
    """What a planner made of a fleet.

    Parameters
    ----------
    objective
        Worth of what is served less the price of all changes.
    unmet_slices
        Compute slices of the pods that wait on.
    disturbed_nodes
        Nodes of which a GPU is re-cut.
    """

    objective: float
    unmet_slices: int
    disturbed_nodes: int


def score(before: Snapshot, after: Snapshot, demand: Demand, policy: Policy) -> Score:
    """Return what a planner made of a fleet.

    Parameters
    ----------
    before, after
        The fleet as it was and as it was cut; the same nodes in the same order.
    demand
        What pods ask for.
    policy
        The constants of prices.
    """
    now_s = before.observed_at_s
    problem = state_problem(before, demand, policy, now_s)
    served = _best_use(state_problem(after, demand, policy, now_s))
    pairs = list(zip(before.nodes, after.nodes, strict=True))
    cost = sum(_price(problem, old, new) for old, new in pairs)
    unmet = sum(
        (group.number - served.served[index])
        * sum(problem.worth.slices_of(n) * k for n, k in group.bundle.items())
        for index, group in enumerate(problem.groups)
    )
    disturbed = sum(1 for old, new in pairs if is_cut(old, new))
    return Score(served.objective - cost, unmet, disturbed)


def _best_use(problem: Problem) -> Choice:
    """Return where pods go if nothing is changed."""
    kinds = tuple(replace(kind, gpus=(), node_options=()) for kind in problem.mix.kinds)
    formulation = formulate(replace(problem.mix, kinds=kinds))
    choice, _ = finish(formulation, np.zeros(0), solve)
    if choice is None:
        raise PlanningError("the solver failed on a fleet as it stands")
    return choice


def _price(problem: Problem, old: FleetNode, new: FleetNode) -> float:
    if not is_cut(old, new):
        return 0.0
    prices, zone = problem.menus.prices, problem.zone_of[old.name]
    total = prices.of_closing(old, zone).charged()
    for gpu, cut in zip(old.gpus, new.gpus, strict=True):
        if gpu.counts != cut.counts:
            total += prices.of_gpu(gpu, old, zone).charged()
    return total


def is_cut(old: FleetNode, new: FleetNode) -> bool:
    """Say whether a GPU of a node was re-cut."""
    return any(a.counts != b.counts for a, b in zip(old.gpus, new.gpus, strict=True))
