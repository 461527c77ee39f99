"""Scenario files of ``simulate``, in place of the options that they say the same of."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoscaler.agent.wiring import new_agent
from autoscaler.cli.simulate_sources import Wanted, history_from
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.scenario_file import load_scenario
from autoscaler.simulation.study.scenario_form import PrometheusHistory
from autoscaler.simulation.study.sources.source import JobSource

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ScenarioArgument = Annotated[
    Path | None,
    typer.Argument(
        help="Scenario file; it says what options on jobs, cases and policies say otherwise.",
        metavar="SCENARIO",
    ),
]


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """Which scenario, if any."""

    scenario: ScenarioArgument = None


def scenario_of(path: Path, *groups: "DataclassInstance") -> Comparison:
    """Return what a scenario asks for.

    A usage error when an option of some groups is given too: what holds would be unclear.
    """
    for group in groups:
        for name in _given(group):
            option = "--" + name.replace("_", "-")
            raise typer.BadParameter(f"{option} cannot go with a scenario file, which says it")
    return load_scenario(path, new_agent, _history)


def _given(group: "DataclassInstance") -> Iterator[str]:
    """Yield the fields that are not as they are by default."""
    for field in fields(group):
        if getattr(group, field.name) != field.default:
            yield field.name


def _history(asked: PrometheusHistory, model: GpuModel) -> JobSource:
    wanted = Wanted(
        from_prometheus=asked.url,
        history=format_duration(asked.history_s),
        pool=asked.pool,
    )
    return history_from(wanted, model, None)
