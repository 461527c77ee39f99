"""The evaluation in a few lines, from made-up results."""

from pathlib import Path

from autoscaler.simulation.study.evaluation.rows import Part, Row, planned
from autoscaler.simulation.study.evaluation.summary import as_text, summary_rows
from tests.evaluations import in_peaks, kept

CASES = planned(Path("results"))


def rows(ratios, part=Part.BASE):
    """Return the summary when the first cases of a part are run."""
    left = list(ratios)
    found = []
    for case in CASES:
        mine = case.part is part and case.row is Row.AGENT and left
        peaks = in_peaks(0.7, 0.4) if part is Part.PEAKS else {}
        found.append(kept(case, left.pop(0) if mine else None, peakVersus=peaks))
    return summary_rows(found)


def test_a_set_has_its_geometric_mean_its_best_and_its_worst():
    """Sets without results are left out."""
    (line,) = rows([0.5, 2.0, 1.0])
    assert line[:6] == ("agent", "base", "3 of 14", "1.00", "0.50", "2.00")
    assert sum(map(int, line[6:])) == 3
    assert rows([]) == []


def test_peaks_count_by_the_jobs_that_arrive_in_them():
    """Not by all jobs of the trace."""
    (line,) = rows([0.9], Part.PEAKS)
    assert line[:6] == ("agent", "peaks", "1 of 24", "0.70", "0.70", "0.70")


def test_columns_are_below_each_other():
    """Words to the left, numbers to the right."""
    head, line = as_text(rows([0.5])).splitlines()
    assert head.index("mean") + 4 == line.index("0.50") + 4
    assert line.startswith("agent   base")
