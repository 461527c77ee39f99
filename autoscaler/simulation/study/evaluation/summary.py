"""The evaluation in a few lines: how long jobs take, over the tuned mix, by set of cases."""

from collections import Counter
from collections.abc import Iterable, Sequence

from autoscaler.simulation.study.evaluation.kept import CaseRuns, Cases, part_of
from autoscaler.simulation.study.evaluation.rows import Part, Row
from autoscaler.simulation.study.evaluation.targets import in_peak, whole
from autoscaler.simulation.study.pairing import Verdict, geometric_mean

HEAD = ("driver", "cases", "number", "mean", "best", "worst", "better", "tie", "worse")
WITH_PEAKS = (Part.PEAKS, Part.ANNOUNCED)


def summary_rows(cases: Sequence[CaseRuns]) -> list[tuple[str, ...]]:
    """Return one line a set of cases that has results, those of peaks by jobs in peaks.

    The mean is the geometric one of the ratios.
    """
    found = (_row(row, part, part_of(cases, row, part)) for row in Row for part in Part)
    return [line for line in found if line]


def _row(row: Row, part: Part, cases: Cases) -> tuple[str, ...]:
    ratio_of = in_peak if part in WITH_PEAKS else whole
    ratios = [ratio_of(case) for case in cases.run]
    values = [own.value for own in ratios if own.value is not None]
    if not values:
        return ()
    mean = geometric_mean(values).value
    verdicts = Counter(own.verdict for own in ratios)
    return (
        row.value,
        part.value,
        f"{len(values)} of {len(cases.all)}",
        *(f"{value:.2f}" for value in (mean, min(values), max(values)) if value is not None),
        *(str(verdicts[own]) for own in (Verdict.BETTER, Verdict.TIE, Verdict.WORSE)),
    )


def as_text(rows: Iterable[Sequence[str]]) -> str:
    """Return lines as a text whose columns are below each other."""
    lines = [HEAD, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
