"""``simulate --recommend``: which policy to use for these jobs, and what it will do."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, TaskID

from autoscaler.adapters.default_policy import default_policy_for
from autoscaler.adapters.policy_file import parse_policy
from autoscaler.cli.advice_document import advice_document, advised_text
from autoscaler.cli.advice_view import draw_advice
from autoscaler.cli.output import Form, emit, write_file
from autoscaler.cli.simulate_report import check_file
from autoscaler.cli.simulate_run import progress_bar, workers_of
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.study.advice.advice import Advice, advise
from autoscaler.simulation.study.advice.rounds import Budget
from autoscaler.simulation.study.advice.trials import Bench
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.policies import Conditions, for_study, with_driver
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.splits import Case, Split

USUAL_BUDGET = 240


@dataclass(frozen=True, slots=True)
class AdviceOptions:
    """Whether policies are compared or one is searched."""

    recommend: Annotated[
        bool,
        typer.Option(
            "--recommend",
            help="Search the policy to use: changes of --policy, or of the one that a scenario"
            " names (by default of the policy that holds where none is given), are tried on the"
            " earlier of the days to be judged on, and the best is proven on the later ones.",
        ),
    ] = False
    budget: Annotated[
        int,
        typer.Option(
            help="Days that the search may simulate, all candidates together; proving the"
            " advice takes some more."
        ),
    ] = USUAL_BUDGET
    write: Annotated[
        Path | None, typer.Option(help="Write the policy that is advised.", metavar="FILE")
    ] = None


def check(options: AdviceOptions, *, has_files: bool, has_policies: bool) -> None:
    """Refuse options that do not go together, before anything runs."""
    if not options.recommend and (options.write is not None or options.budget != USUAL_BUDGET):
        raise typer.BadParameter("--budget and --write go with --recommend")
    if options.recommend and has_files:
        raise typer.BadParameter("--recommend draws and keeps nothing of its many runs")
    if options.recommend and has_policies:
        raise typer.BadParameter(
            "--recommend compares changes of one policy, that of --policy, with a fixed mix,"
            " and not --policies"
        )
    if options.write is not None:
        check_file(options.write)


def recommend(
    comparison: Comparison, given: Policy | None, options: AdviceOptions, processes: int
) -> tuple[Case, Policy, Advice]:
    """Search under a progress bar; return the case, the policy that was changed, the advice."""
    recipe = the_one(comparison)
    model, conditions = recipe.model, comparison.conditions
    own = with_driver(base_of(given, conditions, model), conditions.driver)
    acting = for_study(own, model, conditions.driver)
    budget = Budget(options.budget, recipe.draw.seed)
    case = recipe.build()
    with progress_bar() as progress, workers_of(processes) as workers:
        counter = Counter(progress, progress.add_task("runs", total=None))
        bench = Bench(acting, replace(conditions, policy=acting), workers, counter.count)
        return case, own, advise(bench, case, budget)


@dataclass(frozen=True, slots=True)
class Counter:
    """Shows how many runs are over; how many there will be, the search itself decides."""

    progress: Progress
    task: TaskID

    def count(self) -> None:
        """Show one more."""
        self.progress.advance(self.task)


def the_one(comparison: Comparison) -> CaseRecipe:
    """Return the one case that advice is for."""
    recipe, *others = comparison.recipes
    if others:
        raise ConfigError("--recommend is for one load, one seed and one cluster at a time")
    if recipe.draw.split is Split.RESAMPLED:
        raise ConfigError(
            "--recommend draws days itself: --split resampled would mix the days that prove"
            " the advice with those that choose it"
        )
    return recipe


def base_of(given: Policy | None, conditions: Conditions, model: GpuModel) -> Policy:
    """Return the policy to change: the one that was given, else the one for who gives none.

    Studies hold nothing back unless told otherwise, and that is no policy for people.

    Parameters
    ----------
    given
        ``None`` where none was given but those that the conditions name.

    Raises
    ------
    ConfigError
        When there are several.
    """
    if given is not None:
        return given
    if len(conditions.named) > 1:
        names = ", ".join(name for name, _ in conditions.named)
        raise ConfigError(f"--recommend is for one policy, and the scenario has {names}")
    if conditions.named:
        ((_, policy),) = conditions.named
        return policy
    return default_policy_for(model.products)


def run_advice(
    comparison: Comparison,
    given: Policy | None,
    options: AdviceOptions,
    *,
    processes: int,
    form: Form,
) -> None:
    """Search, print the advice, and write its policy if that is asked for."""
    case, own, advice = recommend(comparison, given, options, processes)
    document = advice_document(advice, case, own)
    if options.write is not None:
        text = advised_text(advice, case, own)
        # A file that the product refuses would be worse than none.
        parse_policy(text, str(options.write))
        write_file(options.write, text)
        document["written"] = str(options.write)
    emit(
        document,
        form,
        draw=lambda out, wide: draw_advice(out, document, wide=wide),
        names=[str(document["advice"])],
    )
