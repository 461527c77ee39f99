"""``simulate --report``: the page that a small study leaves behind."""

import json
import re

import pytest

from tests.commands import Shell

ROWS = [(0, 600, "3g"), (60, 600, "3g"), (90, 300, "1g")]
DAY_S = 86_400


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def trace(tmp_path):
    """Write two days with the same jobs, and return the options that name them."""
    path = tmp_path / "jobs.csv"
    lines = [f"{day * DAY_S + at},{run},{name}" for day in (0, 1) for at, run, name in ROWS]
    path.write_text("\n".join(["arrival_s,duration_s,profile", *lines]) + "\n")
    days = ("--past-days", "0:1", "--days", "1:2", "--load", "0.004")
    return ("--trace", str(path), "--profile-column", "profile", *days)


def test_the_page_holds_what_the_command_prints(shell, trace, tmp_path):
    """Each policy with its layout and its times, and what they depend on."""
    page = tmp_path / "study.html"
    result = shell.run("simulate", *trace, "--report", str(page), "-o", "json")
    assert result.code == 0
    text = page.read_text()
    found = re.search(r'id="pictures">(.*?)</script>', text)
    (pictures,) = json.loads(found[1])
    assert list(pictures["layouts"]) == [run["policy"] for run in result.json["runs"]]
    assert all(drawn["figure"]["data"] for drawn in pictures["layouts"].values())
    assert "jobs.csv profile base load 0.004" in text
    assert "1 to learn from, 1 to be judged on" in text


def test_a_page_without_a_folder_is_refused_before_anything_runs(shell, trace, tmp_path):
    """A study takes long; its end is no time to find out."""
    page = tmp_path / "none" / "study.html"
    result = shell.run("simulate", *trace, "--report", str(page))
    assert (result.code, result.out) == (65, "")
    assert result.err == f"error: {page}: cannot be written: there is no folder {page.parent}\n"


def test_pictures_are_written_into_a_folder(shell, trace, tmp_path):
    """It is made if it is not there; the page and the pictures go together."""
    folder, page = tmp_path / "png", tmp_path / "study.html"
    given = ("--png", str(folder), "--report", str(page), "--policies", "static-past,hedged")
    assert shell.run("simulate", *trace, *given).code == 0
    names = sorted(file.name for file in folder.iterdir())
    assert "ratios-hedged.png" in names
    assert "jobs.csv_profile_base_0.004-layout-hedged.png" in names
    assert page.exists()


def test_pictures_without_a_parent_are_refused_before_anything_runs(shell, trace, tmp_path):
    """As the page is."""
    folder = tmp_path / "none" / "png"
    result = shell.run("simulate", *trace, "--png", str(folder))
    assert (result.code, result.out) == (65, "")
    assert "there is no folder" in result.err


def test_help_tells_of_the_files(shell):
    """Under their own names."""
    text = shell.run("simulate", "--help").out
    assert "--report FILE" in text
    assert "--png DIR" in text
