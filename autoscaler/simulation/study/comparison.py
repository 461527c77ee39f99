"""Runs policies on cases, on as many processes as wanted, in an order of its own."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.checks import require_sound
from autoscaler.simulation.study.contrast import contrast_of
from autoscaler.simulation.study.figures import Json, figures_of
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.policies import Conditions, require, run_policy
from autoscaler.simulation.study.processes import process_pool
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.splits import Case


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is run.

    Parameters
    ----------
    recipes
        One a case.
    policies
        Names; each is run on each case.
    """

    recipes: tuple[CaseRecipe, ...]
    policies: tuple[str, ...]
    conditions: Conditions

    def __post_init__(self) -> None:
        require(self.policies, self.conditions)
        if not self.recipes or not self.policies:
            raise ConfigError("nothing to run: name a load and a policy")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All runs of one case.

    Parameters
    ----------
    outcomes
        One a policy, in the order asked for.
    figures
        Those of each.
    """

    recipe: CaseRecipe
    case: Case
    outcomes: tuple[Outcome, ...]
    figures: tuple[Json, ...]


def compare(
    comparison: Comparison,
    processes: int = 1,
    on_done: Callable[[CaseResult], None] | None = None,
) -> tuple[CaseResult, ...]:
    """Run everything; results are in the order of the recipes, however many processes.

    Parameters
    ----------
    on_done
        Is told of each result as soon as it and all before it are there.
    """
    results = []
    for result in _results(comparison, processes):
        results.append(result)
        if on_done is not None:
            on_done(result)
    return tuple(results)


def run_case(
    comparison: Comparison, recipe: CaseRecipe, built: Case | None = None
) -> CaseResult:
    """Run all policies on one case; InvariantError when a run is not sound.

    Parameters
    ----------
    built
        What the recipe makes, where that is done already.
    """
    case = recipe.build() if built is None else built
    outcomes = tuple(
        run_policy(name, case, comparison.conditions) for name in comparison.policies
    )
    by_policy = {outcome.policy: outcome for outcome in outcomes}
    figures = tuple(
        {
            "policy": outcome.policy,
            "split": recipe.draw.split.value,
            "seed": recipe.draw.seed,
            "clusterSeed": recipe.cluster_seed,
            "column": recipe.column,
            **figures_of(outcome, case),
            **contrast_of(outcome, by_policy),
        }
        for outcome in outcomes
    )
    for outcome in outcomes:
        require_sound(outcome, case)
    return CaseResult(recipe, case, outcomes, figures)


def _results(comparison: Comparison, processes: int) -> Iterator[CaseResult]:
    run = partial(run_case, replace(comparison, recipes=comparison.recipes[:1]))
    if processes <= 1 or len(comparison.recipes) == 1:
        yield from map(run, comparison.recipes)
        return
    with process_pool(processes) as pool:
        yield from _in_order(pool, run, comparison.recipes)


def _in_order(
    pool: Executor, run: Callable[[CaseRecipe], CaseResult], recipes: Iterable[CaseRecipe]
) -> Iterator[CaseResult]:
    futures: list[Future[CaseResult]] = [pool.submit(run, recipe) for recipe in recipes]
    try:
        for future in futures:
            yield future.result()
    finally:
        # After an error nothing new is begun; what runs comes to its end.
        for future in futures:
            future.cancel()
