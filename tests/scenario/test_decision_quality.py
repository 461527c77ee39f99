"""The page on decision quality is what its results say, and nothing more."""

from pathlib import Path

from autoscaler.simulation.study.evaluation.kept import read_cases
from autoscaler.simulation.study.evaluation.page import page_of
from autoscaler.simulation.study.evaluation.rows import planned
from autoscaler.simulation.study.evaluation.summary import as_text, summary_rows
from tools.output import recorded


def test_the_page_is_written_from_the_results():
    """``make quality`` writes it anew."""
    cases = read_cases(planned(Path("simulations/results")))
    assert Path("docs/decision-quality.md").read_text(encoding="utf-8") == page_of(cases)


def test_no_result_is_left_over():
    """Each kept file belongs to a case that is planned."""
    known = {case.entry.path for case in planned(Path("simulations/results"))}
    assert set(Path("simulations/results").rglob("*.json")) <= known


def test_the_readme_has_the_summary_of_the_results():
    """The same command writes it."""
    text = as_text(summary_rows(read_cases(planned(Path("simulations/results")))))
    assert recorded(Path("README.md").read_text(encoding="utf-8"), "quality") == text
