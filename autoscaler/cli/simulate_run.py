"""Runs the cases of ``simulate``, and shows how far they are."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from autoscaler.cli.output import console
from autoscaler.simulation.study.comparison import CaseResult, Comparison, compare


def run_all(comparison: Comparison, processes: int) -> tuple[CaseResult, ...]:
    """Run a comparison under a progress bar, which only a terminal shows."""
    with progress_bar() as progress:
        task = progress.add_task("cases", total=len(comparison.recipes))
        return compare(comparison, processes, lambda _: progress.advance(task))


def progress_bar() -> Progress:
    """Return a bar that is gone when all is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console(stderr=True), transient=True)
