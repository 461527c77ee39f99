"""The page of a study in a real browser, without a network."""

import os
import re
import subprocess

import pytest

from autoscaler.simulation.study.report.page import render_study
from tests.studies import ONE, THREE, WHOLE
from tests.study_results import case_of, exact, result_of, static

pytestmark = pytest.mark.browser

OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
    "--window-size=1280,2000",
    "--dump-dom",
)


def shown(path, tmp_path):
    """Return what the page is once its scripts have run, and what the browser says."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = ["chromium", *OPTIONS, *sandbox, profile, path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    return done.stdout, done.stderr


def study():
    """Return two cases; of the second only queues and usage are known."""
    first = case_of((0, 600, THREE), (60, 600, THREE), (90, 60, ONE), name="first")
    second = case_of(*[(30.0 * k, 60, ONE) for k in range(12)], name="second")
    halves = exact(first, {THREE: 1, ONE: 3})
    bound = exact(second, {ONE: 7}, policy="free-repack")
    return [
        result_of(first, halves, static(first, {WHOLE: 1})),
        result_of(second, type(bound)("free-repack", bound.jobs, bound.ended_s)),
    ]


def test_pictures_are_drawn_and_follow_the_choice(tmp_path):
    """Three jobs are three bars; the second case has no layout, and the page says so."""
    page = tmp_path / "study.html"
    page.write_text(render_study(study(), []))
    dom, told = shown(page, tmp_path)
    assert "Uncaught" not in told
    body = dom[dom.index("<body") :]
    drawn = r'<div id="(?:layout|queues|usage)"><div class="js-plotly-plot"'
    assert len(re.findall(drawn, body)) == 3
    layout = body[body.index('<div id="layout"') : body.index('id="layout-note"')]
    assert layout.count('class="point"') == 3
    later = tmp_path / "later.html"
    text = page.read_text()
    assert text.count("\nshowCase();\n") == 1
    choose = '\nshowCase();\ncaseChoice.value = "1"; caseChoice.onchange();\n'
    later.write_text(text.replace("\nshowCase();\n", choose))
    dom, told = shown(later, tmp_path)
    assert "Uncaught" not in told
    assert (
        "This policy does not tell its layouts."
        in dom[dom.index("<body") :].split("<script")[0]
    )
    assert re.search(r'<div class="case" data-case="0" hidden', dom)
