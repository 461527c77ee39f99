"""The evaluation of decisions: ``python -m autoscaler.cli.evaluate RESULTS PAGE``.

Without ``--page-only`` it runs what is missing first, which takes hours. A case that is
there, from the same inputs and by the same code, is not run again.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.agent.wiring import new_agent
from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.main import run_app
from autoscaler.cli.output import write_file
from autoscaler.cli.simulate_report import check_file
from autoscaler.cli.simulate_run import workers_of
from autoscaler.cli.simulate_sweep import check_sweep_folder
from autoscaler.cli.standard_output import is_output_open
from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.evaluation.kept import OURS, CaseRuns, read_cases, slim
from autoscaler.simulation.study.evaluation.page import PICTURE, page_of
from autoscaler.simulation.study.evaluation.rows import Planned, planned
from autoscaler.simulation.study.evaluation.summary import as_text, summary_rows
from autoscaler.simulation.study.figures import Json
from autoscaler.simulation.study.report.points import evaluated_points
from autoscaler.simulation.study.sweep import Entry, Workers, code_version, is_done, sweep


def evaluate(
    results: Annotated[Path, typer.Argument(help="Folder of results, one file a case.")],
    page: Annotated[Path, typer.Argument(help="Page to write from them.")],
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Run nothing, write the page.")
    ] = False,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print the summary of what has been run.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run only cases with this in row/part/name, e.g. agent/base."),
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=0, help="Run only so many of those that are missing.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Cases to run at once.")] = 1,
    dask: Annotated[str, typer.Option(help="Address of a Dask cluster to run them on.")] = "",
) -> None:
    """Run what is missing of the evaluation, and write the page from what there is."""
    if page_only and (only or first is not None or dask or processes > 1):
        raise typer.BadParameter("--page-only runs nothing: no other option says what to run")
    check(results, page)
    cases = planned(results, new_agent)
    if page_only:
        read = read_cases(cases)
        if not any(case.is_run for case in read):
            raise ConfigError(f"{results}: holds no case of the evaluation")
        write_page(page, read)
    else:
        chosen = wanted(cases, only or [])
        with workers_of(processes, dask) as workers:
            try:
                run_missing(chosen, workers, first)
            finally:
                # What was run before an error, or before somebody had enough, is shown too.
                read = read_cases(cases)
                write_page(page, read)
    if summary:
        typer.echo(as_text(summary_rows(read)))


def check(results: Path, page: Path) -> None:
    """Refuse what cannot be read or written before anything runs, because runs take long."""
    check_sweep_folder(results)
    check_file(page)
    check_file(page.with_name(PICTURE))
    # Not everyone has it.
    if find_spec("matplotlib") is None:
        raise ConfigError("the page's picture needs matplotlib: mig-autoscaler[pictures]")


def write_page(page: Path, cases: Sequence[CaseRuns]) -> None:
    """Write the page, and beside it the picture that it shows once there is something."""
    write_file(page, page_of(cases))
    points = evaluated_points(cases)
    if points:
        # The library of pictures takes a while to load.
        from autoscaler.simulation.study.report.images import draw_ratios

        draw_ratios(points, page.with_name(PICTURE), policy=OURS)


def wanted(cases: Sequence[Planned], only: Sequence[str]) -> list[Planned]:
    """Return the cases whose name has one of some texts in it; ConfigError when none has."""
    found = [case for case in cases if not only or any(text in name_of(case) for text in only)]
    if not found:
        raise ConfigError(f"--only {', '.join(only)}: no case is called so")
    return found


def name_of(case: Planned) -> str:
    """Return row, part and name of a case."""
    return f"{case.row.value}/{case.part.value}/{case.entry.path.stem}"


def run_missing(cases: Sequence[Planned], workers: Workers, first: int | None = None) -> int:
    """Run what is not there yet, a line each on standard error; return how many."""
    code = code_version()
    missing = [case for case in cases if not is_done(case.entry, code)][:first]
    names = {case.entry.path: name_of(case) for case in missing}
    number = count(1)

    def told(entry: Entry, document: Json) -> None:
        place, ratios = f"{next(number)}/{len(missing)}", " ".join(_ratios(document))
        sys.stderr.write(f"{place} {names[entry.path]}: {ratios}\n")
        sys.stderr.flush()

    return sweep([case.entry for case in missing], code, workers, told, keep=slim)


def _ratios(document: Json) -> list[str]:
    runs = document["runs"]
    found = []
    for run in runs if isinstance(runs, list) else ():
        own = run.get("versusStaticPast") or {}
        if run["policy"] != "static-past":
            found.append(f"{run['policy']} {own.get('ratio')}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run as a program of its own and return the exit code."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(evaluate)
    return run_app(app, arguments, "python -m autoscaler.cli.evaluate")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if is_output_open() else ExitCode.ERROR)
