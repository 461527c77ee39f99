"""From a scenario file to what is run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from autoscaler.adapters.policy_file import load_policy
from autoscaler.adapters.section_file import SectionFile, read_section
from autoscaler.domain.errors import ConfigError, LoadError
from autoscaler.domain.mig.profile import GpuModel, load_models
from autoscaler.domain.policy.complaints import did_you_mean
from autoscaler.simulation.controllers.agents import AgentFactory
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Days, Division
from autoscaler.simulation.study.peaks import ANNOUNCED, parse_peak
from autoscaler.simulation.study.policies import (
    GPUS_PER_NODE,
    Conditions,
    draw_by_seed,
    has_loop,
    require,
    require_for,
)
from autoscaler.simulation.study.recipe import (
    CaseRecipe,
    but_for_seeds,
    distinct,
    draws_of,
    on_clusters,
)
from autoscaler.simulation.study.scenario_form import Announced, PrometheusHistory, Scenario
from autoscaler.simulation.study.sources.memory import jobs_of
from autoscaler.simulation.study.sources.named import SHIPPED, source_named
from autoscaler.simulation.study.sources.source import JobSource
from autoscaler.simulation.study.sources.synthetic import Synthetic
from autoscaler.simulation.study.splits import load_of, usual_load
from autoscaler.simulation.study.unthrottled import unthrottled

AskHistory = Callable[[PrometheusHistory, GpuModel], JobSource]


def load_scenario(
    path: Path, agent: AgentFactory | None, ask_history: AskHistory
) -> Comparison:
    """Return what a scenario asks to be run.

    Parameters
    ----------
    agent
        Makes node agents.
    ask_history
        Reads jobs from a Prometheus.

    Raises
    ------
    ConfigError
        When anything in the file is wrong, or what it names; it names file, line and key.
    """
    file = read_section(Scenario, path)
    scenario = file.section
    conditions = _conditions(file, agent)
    names = (*(name for name, _ in conditions.named), *scenario.baselines)
    for number, name in enumerate(scenario.baselines):
        with file.about("baselines", number):
            require([name], conditions)
            if name in scenario.baselines[:number]:
                raise ConfigError(f"{name} is there twice")
    chance = draw_by_seed(names, conditions.gpus_per_node)
    found = _recipes(file, ask_history)
    drawn = distinct(
        replace(recipe, draw=replace(recipe.draw, has_chance=chance)) for recipe in found
    )
    recipes = on_clusters(drawn, scenario.seeds.clusters if has_loop(names) else 1)
    _require_runnable(file, recipes, conditions)
    for recipe in but_for_seeds(recipes):
        _require_buildable(file, recipe)
    with file.about("baselines"):
        return Comparison(recipes, names, conditions)


def _require_runnable(
    file: SectionFile[Scenario], recipes: Iterable[CaseRecipe], conditions: Conditions
) -> None:
    """Refuse policies that do not go with a model: others would have run when it shows."""
    scenario = file.section
    for model in dict.fromkeys(recipe.model for recipe in recipes):
        for number, own in enumerate(scenario.policies):
            with file.about("policies", number, "file"):
                require_for(model, own.name, conditions)
        for number, name in enumerate(scenario.baselines):
            with file.about("baselines", number):
                require_for(model, name, conditions)


def _require_buildable(file: SectionFile[Scenario], recipe: CaseRecipe) -> None:
    """Refuse a case that cannot be made: those before it would have run when it shows."""
    try:
        recipe.build()
    except ConfigError as error:
        is_load = isinstance(error, LoadError)
        with file.about(*_load_keys(file, recipe) if is_load else ("workload",)):
            raise


def _load_keys(file: SectionFile[Scenario], recipe: CaseRecipe) -> tuple[str | int, ...]:
    """Return where the load of a case stands."""
    loads = [load_of(own) for own in file.section.fleet.loads or ()]
    return ("fleet", "loads", loads.index(recipe.draw.load)) if loads else ("fleet",)


def _conditions(file: SectionFile[Scenario], agent: AgentFactory | None) -> Conditions:
    scenario, named = file.section, []
    for number, own in enumerate(scenario.policies):
        with file.about("policies", number, "file"):
            named.append((own.name, load_policy(file.path.parent / own.file).policy))
    with file.about("policies"):
        return Conditions(
            policy=unthrottled(),
            driver=scenario.driver,
            gpus_per_node=scenario.fleet.gpus_per_node or GPUS_PER_NODE[scenario.driver],
            closes_by_profile=scenario.close_by_profile,
            agent=agent,
            named=tuple(named),
        )


def _recipes(file: SectionFile[Scenario], ask_history: AskHistory) -> Iterator[CaseRecipe]:
    scenario = file.section
    fleet, seeds, days = scenario.fleet, scenario.seeds, scenario.days
    with file.about("days"):
        division = Division(
            *(None if own is None else Days(*own) for own in (days.past, days.present))
        )
    draws = draws_of(
        days.split,
        _loads(scenario),
        range(seeds.first, seeds.first + seeds.number),
        division,
        gpus=fleet.gpus,
    )
    for number, key in enumerate(fleet.models):
        with file.about("fleet", "models", number):
            model = _model_of(key)
        source = _source(file, model, ask_history)
        peaks = list(_peak_texts(file, model))
        for draw, peak in product(draws, peaks):
            yield CaseRecipe(source, model, draw, peak)


def _loads(scenario: Scenario) -> list[float | None]:
    asked, fleet = scenario.workload, scenario.fleet
    if fleet.loads is not None:
        return [load_of(own) for own in fleet.loads]
    are_own = asked.jobs is not None or asked.prometheus is not None
    return [usual_load(are_own, fleet.gpus)]


def _source(file: SectionFile[Scenario], model: GpuModel, ask_history: AskHistory) -> JobSource:
    asked, folder = file.section.workload, file.path.parent
    if asked.jobs is not None:
        with file.about("workload", "jobs"):
            return jobs_of(folder / asked.jobs)
    if asked.prometheus is not None:
        with file.about("workload", "prometheus"):
            return ask_history(asked.prometheus, model)
    if asked.synthetic is not None:
        return Synthetic(asked.synthetic, asked.synthetic_days)
    trace = asked.trace or ""
    is_shipped = trace.partition(":")[0] in SHIPPED
    with file.about("workload", "trace"):
        return source_named(trace if is_shipped else str(folder / trace), asked.column or "")


def _peak_texts(file: SectionFile[Scenario], model: GpuModel) -> Iterator[str]:
    """Yield the peaks of a run as text, and the same announced where that is asked for."""
    asked = file.section.workload
    for number, peak in enumerate(asked.peaks):
        with file.about("workload", "peaks", number):
            parse_peak(peak.text(), model)
    if asked.announced is not Announced.YES:
        yield "; ".join(peak.text() for peak in asked.peaks)
    if asked.announced is not Announced.NO:
        yield "; ".join(f"{peak.text()} {ANNOUNCED}" for peak in asked.peaks)


def _model_of(key: str) -> GpuModel:
    models = {model.key: model for model in load_models()}
    if key not in models:
        near, known = did_you_mean(key, models), ", ".join(models)
        raise ConfigError(f"{key} is no GPU model{near}; known are {known}")
    return models[key]
