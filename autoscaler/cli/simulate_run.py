"""Runs the cases of ``simulate``, and shows how far they are."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from autoscaler.adapters.dask_cluster import dask_pool
from autoscaler.cli.output import console
from autoscaler.simulation.study.comparison import CaseResult, Comparison, compare
from autoscaler.simulation.study.processes import process_pool
from autoscaler.simulation.study.sweep import HERE, Workers


def run_all(comparison: Comparison, processes: int) -> tuple[CaseResult, ...]:
    """Run a comparison under a progress bar, which only a terminal shows."""
    with progress_bar() as progress:
        task = progress.add_task("cases", total=len(comparison.recipes))
        return compare(comparison, processes, lambda _: progress.advance(task))


def progress_bar() -> Progress:
    """Return a bar that is gone when all is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    err = console(stderr=True)
    # Where nobody looks, an empty line is all that it would leave.
    return Progress(
        *columns,
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


@contextmanager
def workers_of(processes: int, dask: str = "") -> Iterator[Workers]:
    """Yield who runs the cases of a sweep: a cluster, processes, or this one."""
    if dask:
        with dask_pool(dask) as (pool, number):
            yield Workers(pool, number)
    elif processes > 1:
        with process_pool(processes) as local:
            yield Workers(local, processes)
    else:
        yield HERE
