"""``demo``: the whole product on an embedded cluster, with a real trace."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from autoscaler.cli.demo_document import demo_document
from autoscaler.cli.demo_live import Show
from autoscaler.cli.demo_policy import demo_policy, policy_text
from autoscaler.cli.demo_report import draw_comparison, draw_factors, factors_of
from autoscaler.cli.demo_run import AutoscaledRun, run_alone, run_autoscaled
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.output import console, write_file
from autoscaler.simulation.collecting import few_collections
from autoscaler.simulation.demo.comparison import compare
from autoscaler.simulation.demo.scenario import (
    Choice,
    ScenarioSettings,
    build_scenario,
)

# Monday evening, an hour before the window of the policy opens.
START_S = 1_772_456_400.0


def run_demo(
    seed: Annotated[int, typer.Option(help="Seed of the arrivals.")] = 1,
    hours: Annotated[float, typer.Option(help="Hours to run, of eight.", min=1, max=8)] = 8.0,
    nodes: Annotated[
        int, typer.Option(help="Nodes, the reserved one included.", min=2, max=40)
    ] = 12,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Draw the run, where there is a terminal.")
    ] = True,
    speed: Annotated[
        float | None,
        typer.Option(help="Most virtual seconds in a second; default: no limit.", min=1),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write all figures and requests.", metavar="FILE"),
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a report.", metavar="FILE")
    ] = None,
) -> int:
    """Watch the loop re-cut a simulated fleet for jobs of a real trace."""
    out = console()
    scenario = build_scenario(settings_of(seed, hours, nodes))
    factors = factors_of(scenario)
    draw_factors(out, factors)
    out.print("\nPOLICY\n")
    out.print(policy_text(scenario), end="")
    with few_collections():
        alone = run_alone(scenario)
        out.print("\nThe hours with the starting mix left alone are over; now autoscaled.")
        show = Show(out, alone, is_live=live and out.is_terminal, speed=speed)
        with show.shown():
            run = run_autoscaled(scenario, demo_policy(scenario), show)
    rows = compare(alone, run.record, run.changes)
    draw_comparison(out, rows)
    if json_file is not None:
        document = demo_document(scenario, alone, run, rows, factors)
        write_file(json_file, json.dumps(document, indent=1) + "\n")
    if html_file is not None:
        # The library of the pictures takes a while to load, so only for who wants them.
        from autoscaler.cli.demo_page import demo_page

        write_file(html_file, demo_page(scenario, alone, run, rows, factors))
    return conclude(out, run)


def settings_of(seed: int, hours: float, nodes: int) -> ScenarioSettings:
    """Return the settings of a scenario; fewer hours are the first of the eight."""
    choice = Choice()
    cut = replace(
        choice,
        past=replace(choice.past, end_h=choice.past.start_h + hours),
        present=replace(choice.present, end_h=choice.present.start_h + hours),
    )
    return ScenarioSettings(START_S, seed=seed, nodes=nodes, choice=cut)


def conclude(out: Console, run: AutoscaledRun) -> ExitCode:
    """Say how the nodes were left, and return the exit code."""
    if run.faults:
        for fault in run.faults:
            sys.stderr.write(f"error: {fault}\n")
        return ExitCode.ERROR
    changed = len({change.record.node for change in run.changes if change.is_done})
    out.print(
        f"\nNo node is cordoned, and every node that changed ({changed}) advertises what was"
        " planned for it."
    )
    return ExitCode.OK
