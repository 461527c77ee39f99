"""``simulate``: what policies would do with the jobs of a trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from autoscaler.adapters.policy_file import load_policy
from autoscaler.agent.wiring import new_agent
from autoscaler.cli.output import FORM_OPTION, Form, console, emit, table
from autoscaler.cli.profiles import find_models
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.study.comparison import (
    CaseResult,
    Comparison,
    compare,
    draws_of,
    recipes_of,
)
from autoscaler.simulation.study.policies import Conditions
from autoscaler.simulation.study.splits import Days, Division, Split
from autoscaler.simulation.study.trace_file import shipped_trace
from autoscaler.simulation.study.unthrottled import unthrottled

# GPUs of a node where nothing else is said: the agent changes one GPU at a time anyway,
# MIG manager closes whole nodes, and those it finds have eight.
GPUS_PER_NODE = {Driver.AGENT: 1, Driver.MIG_MANAGER: 8}
USUAL = "autoscaler,static-past,static-hindsight,unpartitioned"


def simulate(
    trace: Annotated[
        Path | None,
        typer.Option(help="Jobs as CSV, plain or gzip; by default a real trace (openb)."),
    ] = None,
    profile_column: Annotated[
        str, typer.Option(help="Column that says what a job asks for.")
    ] = "mig_share",
    load: Annotated[str, typer.Option(help="Loads, e.g. 0.5 or 0.4,0.7.")] = "0.5",
    split: Annotated[Split, typer.Option(help="How days are divided.")] = Split.BASE,
    seed_base: Annotated[int, typer.Option(help="First seed of resampled days.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 1,
    past_days: Annotated[str, typer.Option(help="Days to learn from.")] = "115:134",
    days: Annotated[str, typer.Option(help="Days to be judged on.")] = "134:149",
    peak: Annotated[str, typer.Option(help="Peaks, e.g. 3g:2.5 or 3g+7g:2.5.")] = "",
    policies: Annotated[str, typer.Option(help="Names of policies.")] = USUAL,
    driver: Annotated[Driver, typer.Option(help="Who cuts for the autoscaler.")] = Driver.AGENT,
    policy: Annotated[Path | None, typer.Option(help="Policy of the autoscaler.")] = None,
    model: Annotated[str, typer.Option(help="GPU model.")] = "a100-40gb",
    gpus_per_node: Annotated[
        int | None, typer.Option(min=1, help="By default 1 with the agent, else 8.")
    ] = None,
    close_by_profile: Annotated[
        bool, typer.Option("--close-by-profile", help="Hold back what no plan has seen yet.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="Cases to run at once.")] = 1,
    form: Annotated[Form, FORM_OPTION] = Form.TABLE,
) -> None:
    """Run policies on the jobs of a trace, and compare how long jobs take."""
    chosen = find_model(model)
    division = Division(parse_days(past_days), parse_days(days))
    draws = draws_of(split, parse_loads(load), range(seed_base, seed_base + seeds), division)
    comparison = Comparison(
        recipes=recipes_of(trace or shipped_trace(), profile_column, chosen, draws, peak),
        policies=tuple(part.strip() for part in policies.split(",") if part.strip()),
        conditions=Conditions(
            policy=load_policy(policy).policy if policy else unthrottled(),
            driver=driver,
            gpus_per_node=gpus_per_node or GPUS_PER_NODE[driver],
            closes_by_profile=close_by_profile,
            agent=new_agent,
        ),
    )
    results = run_all(comparison, processes)
    document: dict[str, object] = {"runs": [run for r in results for run in r.figures]}
    emit(document, form, draw=lambda out, wide: _draw(out, results, wide=wide))


def run_all(comparison: Comparison, processes: int) -> tuple[CaseResult, ...]:
    """Run a comparison under a progress bar, which only a terminal shows."""
    err = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as progress:
        task = progress.add_task("cases", total=len(comparison.recipes))
        return compare(comparison, processes, lambda _: progress.advance(task))


def find_model(text: str) -> GpuModel:
    """Return the one model of a name; a usage error when there are several."""
    chosen, *others = find_models(text)
    if others:
        keys = ", ".join(m.key for m in (chosen, *others))
        raise typer.BadParameter(f"{text!r} may be one of {keys}: say which")
    return chosen


def parse_loads(text: str) -> list[float]:
    """Return loads such as ``0.4,0.7``."""
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--load {text}: {error}") from error
    if not all(0 < load < 10 for load in loads):
        raise ConfigError(f"--load {text}: a load is above 0 and below 10")
    return loads


def parse_days(text: str) -> Days:
    """Return days such as ``134:149``; the last one is not included."""
    first, _, end = text.partition(":")
    if not (first.isdecimal() and end.isdecimal()):
        raise ConfigError(f"{text!r} are no days such as 134:149")
    return Days(int(first), int(end))


def _draw(out: Console, results: Sequence[CaseResult], *, wide: bool) -> None:
    for result in results:
        title = f"{result.case.name}, {result.case.gpus} x {result.case.model.key}"
        columns = [
            "policy",
            "completion s",
            "wait s",
            "p95 wait s",
            "used",
            "changes",
            "never ran",
        ]
        if wide:
            columns += ["fragmentation", "unmet slice-h", "evictions", "plan gap"]
        made = table(*columns, title=title, right=columns[1:])
        for run in result.figures:
            made.add_row(*_row(run, wide=wide))
        out.print(made)


def _row(run: dict[str, object], *, wide: bool) -> list[str]:
    waits = run["wait"]
    p95 = waits.get("p95") if isinstance(waits, dict) else None
    names = ["meanCompletion", "meanWait"]
    row = [str(run["policy"]), *(_seconds(run[name]) for name in names), _seconds(p95)]
    row += [str(run["utilisation"]), str(run["changes"]), str(run["unfinished"] or "")]
    if wide:
        row += [str(run[n]) for n in ("fragmentation", "unmetSliceHours", "evictions")]
        row.append(str(run["planGapMax"]))
    return row


def _seconds(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, int | float) else "-"
