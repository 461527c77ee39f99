"""The options of ``simulate``, and what their texts mean."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.adapters.policy_file import load_policy
from autoscaler.cli.profiles import find_models
from autoscaler.domain.errors import ConfigError, LoadError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.domain.policy.quantity import shown
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Days
from autoscaler.simulation.study.policies import AUTOSCALER, require_for
from autoscaler.simulation.study.recipe import but_for_seeds
from autoscaler.simulation.study.splits import (
    MOST_GPUS,
    OWN,
    Split,
    load_of,
    load_text,
    usual_load,
)

LAST_DAY = 100_000
MOST_SEEDS = 10**9
USUAL = "autoscaler,static-past,static-hindsight,unpartitioned"

LoadOption = Annotated[
    str | None,
    typer.Option(
        help="Loads, e.g. 0.5 or 0.4,0.7; own: the jobs as they are, on --gpus. By default"
        " own for jobs of one's own with --gpus, else 0.5."
    ),
]
SplitOption = Annotated[Split, typer.Option(help="How days are divided.")]
SeedBaseOption = Annotated[
    int,
    typer.Option(
        min=0, max=MOST_SEEDS, help="First seed of all that is drawn: days, jobs, nos."
    ),
]
SeedsOption = Annotated[int, typer.Option(min=1, max=10_000, help="How many seeds.")]
ClustersOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=1000,
        help="On how many clusters each case is run; they differ by which free device a pod"
        " gets and by how long changes take.",
    ),
]
GpusOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_GPUS,
        help="Size of the fleet; jobs are left out or added until they make the load."
        " By default the load sets the size.",
    ),
]
PastDaysOption = Annotated[
    str,
    typer.Option(help="Days to learn from, e.g. 115:134; by default those before --days."),
]
DaysOption = Annotated[
    str, typer.Option(help="Days to be judged on; by default those after --past-days.")
]
PeakOption = Annotated[
    str,
    typer.Option(help='Peaks, e.g. "3g:2.5" or "3g+7g:2.5 days=1,4 hours=10-16 announced".'),
]
PoliciesOption = Annotated[
    str,
    typer.Option(
        help="Names of policies; NAME=FILE is the autoscaler with a policy file of its own."
    ),
]
DriverOption = Annotated[Driver, typer.Option(help="Who cuts for the autoscaler.")]
PolicyOption = Annotated[Path | None, typer.Option(help="Policy of the autoscaler.")]
ModelOption = Annotated[str, typer.Option(help="GPU model.")]
NodeOption = Annotated[
    int | None, typer.Option(min=1, max=16, help="By default 1 with the agent, else 8.")
]
ClosingOption = Annotated[
    bool, typer.Option("--close-by-profile", help="Hold back what no plan has seen yet.")
]


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """Which cases are made of the jobs."""

    load: LoadOption = None
    split: SplitOption = Split.BASE
    seed_base: SeedBaseOption = 1
    seeds: SeedsOption = 1
    clusters: ClustersOption = 1
    gpus: GpusOption = None
    past_days: PastDaysOption = ""
    days: DaysOption = ""
    peak: PeakOption = ""
    model: ModelOption = "a100-40gb"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is run on the cases."""

    policies: PoliciesOption = USUAL
    driver: DriverOption = Driver.AGENT
    policy: PolicyOption = None
    gpus_per_node: NodeOption = None
    close_by_profile: ClosingOption = False


def find_model(text: str) -> GpuModel:
    """Return the one model of a name; a usage error when there are several."""
    chosen, *others = find_models(text)
    if others:
        keys = ", ".join(m.key for m in (chosen, *others))
        raise typer.BadParameter(f"{text!r} may be one of {keys}: say which")
    return chosen


def loads_of(chosen: CaseOptions, *, are_own: bool) -> list[float | None]:
    """Return the loads asked for; ``None`` is that of the jobs as they are.

    Parameters
    ----------
    are_own
        Whether the jobs are the user's own.
    """
    if chosen.load is None:
        return [usual_load(are_own, chosen.gpus)]
    loads = parse_loads(chosen.load)
    if None in loads and chosen.gpus is None:
        raise ConfigError("--load own is the load of the jobs on a given fleet: add --gpus")
    return loads


def parse_loads(text: str) -> list[float | None]:
    """Return loads such as ``0.4,0.7``; ``None`` is that of the jobs as they are."""
    loads: dict[float | None, None] = {}
    for part in text.split(","):
        try:
            loads[load_of(part.strip())] = None
        except ValueError as error:
            raise ConfigError(
                f"--load {text}: {part.strip()!r} is neither a number nor {OWN}"
            ) from error
    if not all(load is None or 0 < load < 10 for load in loads):
        raise ConfigError(f"--load {text}: a load is above 0 and below 10")
    return list(loads)


def require_runnable(comparison: Comparison, runs: RunOptions) -> None:
    """Refuse what can only be known case by case, before the first case is run.

    Whatever ran before it showed would be lost.
    """
    recipes = comparison.recipes
    for model in dict.fromkeys(recipe.model for recipe in recipes):
        for name in comparison.policies:
            try:
                require_for(model, name, comparison.conditions)
            except ConfigError as error:
                raise ConfigError(f"{_said_of(name, runs)}: {error}") from error
    for recipe in but_for_seeds(recipes):
        try:
            recipe.build()
        except LoadError as error:
            raise ConfigError(f"--load {load_text(recipe.draw.load)}: {error}") from error


def _said_of(name: str, runs: RunOptions) -> str:
    """Return the option that says what a policy is, with its file."""
    if name == AUTOSCALER and runs.policy is not None:
        return f"--policy {runs.policy}"
    parts = (part.strip() for part in runs.policies.split(","))
    own = next(part for part in parts if part.partition("=")[0].strip() == name)
    return f"--policies {own}"


def parse_days(option: str, text: str) -> Days | None:
    """Return days such as ``134:149`` without the last one; ``None`` for the usual ones."""
    if not text:
        return None
    first, _, end = text.partition(":")
    if not (first.isdecimal() and end.isdecimal()):
        raise ConfigError(f"{option}: {text!r} are no days such as 134:149")
    # Length first: of thousands of digits Python makes no number.
    if any(len(own) > len(str(LAST_DAY)) or int(own) > LAST_DAY for own in (first, end)):
        raise ConfigError(f"{option}: {shown(text)}: the last day there can be is {LAST_DAY:,}")
    if int(first) >= int(end):
        raise ConfigError(f"{option}: {text} are no days: the last is not included")
    return Days(int(first), int(end))


def parse_policies(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, Policy], ...]]:
    """Return names set apart by commas, and those that have a policy file of their own."""
    names: list[str] = []
    named: list[tuple[str, Policy]] = []
    for part in text.split(","):
        name, is_named, path = (own.strip() for own in part.partition("="))
        if is_named and not (name and path):
            raise ConfigError(f"--policies {part.strip()}: give a name and a file, NAME=FILE")
        if is_named:
            named.append((name, load_policy(path).policy))
        names += [name] if name else []
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--policies {text}: {name} is there twice")
    if not names:
        raise ConfigError("--policies: names none")
    return tuple(names), tuple(named)
