"""The evaluation as a program."""

import json

import pytest

from autoscaler.cli.evaluate import main, run_missing, write_page
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Days, Division
from autoscaler.simulation.study.evaluation.rows import Part, Planned, Row, planned
from autoscaler.simulation.study.policies import Conditions
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.source import TraceFile
from autoscaler.simulation.study.splits import Draw, Split
from autoscaler.simulation.study.sweep import HERE, Entry
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.evaluations import document, kept
from tests.studies import MODEL


def test_a_page_is_written_from_results_alone(tmp_path):
    """Nothing is run."""
    page, cases = tmp_path / "page.md", planned(tmp_path / "results")
    path = cases[0].entry.path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document(0.0, 0.9)))
    assert main([str(tmp_path / "results"), str(page), "--page-only"]) == 0
    assert f"1 of {len(cases)} planned cases are run." in page.read_text()


def tiny_case(folder):
    """Return a case of two policies on a trace of four days, as the first of a row."""
    trace = folder / "jobs.csv"
    rows = [f"{3600 * k},7200,{('1g', '7g')[k % 2]}" for k in range(96)]
    trace.write_text("arrival_s,duration_s,profile\n" + "\n".join(rows) + "\n")
    draw = Draw(Split.BASE, 0.5, 1, Division(Days(0, 2), Days(2, 4)))
    recipe = CaseRecipe(TraceFile(trace, "profile"), MODEL, draw)
    policies = ("static-past", "unpartitioned")
    comparison = Comparison((recipe,), policies, Conditions(unthrottled()))
    entry = Entry(folder / "results" / "agent" / "tiny.json", comparison)
    return Planned(Row.AGENT, Part.BASE, entry)


def test_a_case_is_run_once(tmp_path, capsys):
    """It is told while others run; then it is there, with what the page needs."""
    case = tiny_case(tmp_path)
    assert run_missing([case], HERE, first=0) == 0
    assert run_missing([case], HERE) == 1
    assert capsys.readouterr().err.startswith("1/1 agent/base/tiny: unpartitioned ")
    kept = json.loads(case.entry.path.read_text())
    assert {"inputs", "code", "runs", "gpus"} < kept.keys()
    assert "byProfile" not in kept["runs"][0]
    assert run_missing([case], HERE) == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--only", "nothing"], 65, "no case is called so"),
        (["--processes", "0"], 64, "Invalid value for '--processes'"),
        (["--dask", "nowhere"], 65, "is no address of a Dask cluster"),
        (["--page-only"], 65, "results: holds no case of the evaluation"),
        (["--page-only", "--only", "agent"], 64, "--page-only runs nothing"),
        (["--page-only", "--first", "0"], 64, "Usage: python -m autoscaler.cli.evaluate "),
    ],
)
def test_what_is_wrong_is_said(tmp_path, capsys, options, code, words):
    """In a line; nothing is run, and the page stays as it is."""
    page = tmp_path / "page.md"
    page.write_text("kept")
    given = [str(tmp_path / "results"), str(page), *options]
    assert main(given) == code
    assert words in capsys.readouterr().err
    assert page.read_text() == "kept"


@pytest.mark.parametrize(
    ("results", "page", "words"),
    [
        (
            "results",
            "nowhere/page.md",
            "nowhere/page.md: cannot be written: there is no folder",
        ),
        ("results", "folder", "folder: cannot be written: it is a folder"),
        ("file", "page.md", "file: is a file, not a folder"),
    ],
)
def test_places_that_cannot_be_are_refused_before_anything_runs(
    tmp_path, capsys, results, page, words
):
    """Runs take hours, and would be for nothing."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert main([str(tmp_path / results), str(tmp_path / page), "--first", "1"]) == 65
    assert words in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_the_page_has_its_picture_once_something_is_run(tmp_path):
    """It lies beside the page; without results there is none, and no link to one."""
    page, picture = tmp_path / "page.md", tmp_path / "decision-quality.png"
    write_page(page, [kept(case, None) for case in planned(tmp_path)])
    assert "decision-quality.png" not in page.read_text()
    assert not picture.exists()
    write_page(page, [kept(case, 0.9) for case in planned(tmp_path)])
    assert "](decision-quality.png)" in page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
