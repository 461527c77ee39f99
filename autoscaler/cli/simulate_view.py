"""Draws what ``simulate`` has found."""

from collections.abc import Sequence

from rich.console import Console

from autoscaler.cli.output import table
from autoscaler.simulation.study.comparison import CaseResult


def draw_results(out: Console, results: Sequence[CaseResult], *, wide: bool) -> None:
    """Draw one table a case."""
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
