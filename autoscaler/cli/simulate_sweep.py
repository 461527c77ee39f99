"""Sweeps of ``simulate``: cases that are kept, so that a run that was stopped goes on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.simulate_report import check_folder, folder_named
from autoscaler.cli.simulate_run import progress_bar, workers_of
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.figures import Json
from autoscaler.simulation.study.sweep import (
    code_version,
    entries_of,
    is_done,
    read_entries,
    refuse_others,
    sweep,
)

SweepOption = Annotated[
    Path | None,
    typer.Option(
        "--sweep",
        help="Keep each case in this folder, and run only those that are not there yet. A"
        " folder is for one sweep: cases of other inputs are never replaced.",
        metavar="DIR",
        parser=folder_named,
    ),
]
DaskOption = Annotated[
    str,
    typer.Option(
        help="Run the cases of a sweep on a Dask cluster, e.g. tcp://10.0.0.1:8786.",
        metavar="ADDRESS",
    ),
]
ProcessesOption = Annotated[int, typer.Option(min=1, help="Cases to run at once.")]


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Where cases run, and where they are kept."""

    processes: ProcessesOption = 1
    sweep: SweepOption = None
    dask: DaskOption = ""


def check(options: SweepOptions, *, has_files: bool) -> None:
    """Refuse options that do not go together; a usage error."""
    if options.dask and options.sweep is None:
        raise typer.BadParameter("--dask needs --sweep: a folder in which cases are kept")
    if options.sweep is not None and has_files:
        raise typer.BadParameter(
            "--sweep keeps figures and not what pages and pictures are drawn from"
        )
    if options.sweep is not None:
        check_sweep_folder(options.sweep)


def check_sweep_folder(path: Path) -> None:
    """Refuse a folder that could not be made or written to, before anything runs."""
    nearest = next(own for own in (path, *path.parents) if own.exists())
    check_folder(nearest)


def run_sweep(comparison: Comparison, folder: Path, options: SweepOptions) -> list[Json]:
    """Run what is not there yet under a progress bar; return all cases in their order."""
    entries, code = entries_of(comparison, folder), code_version()
    refuse_others(entries)
    done = sum(is_done(entry, code) for entry in entries)
    with progress_bar() as progress, workers_of(options.processes, options.dask) as workers:
        task = progress.add_task("cases", total=len(entries), completed=done)
        sweep(entries, code, workers, lambda *_: progress.advance(task))
    return read_entries(entries)
