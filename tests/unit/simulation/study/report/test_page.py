"""The page of a study: what is on it, how large it is, and that it needs nothing else."""

import json
import re

import pytest

from autoscaler.simulation.page import get_plotlyjs
from autoscaler.simulation.study.report.drawing import draw_layout, draw_queues
from autoscaler.simulation.study.report.look import MOST_GPUS
from autoscaler.simulation.study.report.page import duration_text, render_study
from tests.studies import ONE, THREE, WHOLE
from tests.study_results import case_of, exact, result_of, static

LARGE = {ONE: 1, THREE: 1}
FACTORS = [("jobs", "</script><b>&")]


def results():
    made = []
    for number, rows in enumerate([[(0, 600, THREE), (60, 600, THREE)], [(0, 60, ONE)] * 9]):
        case = case_of(*rows, name=f"case <{number}>")
        tuned, other = (
            static(case, {WHOLE: 1}),
            exact(
                case,
                {
                    THREE: 2,
                },
                policy="<i>x</i>",
            ),
        )
        made.append(result_of(case, tuned, other))
    return made


def pictures_of(page):
    found = re.search(r'<script type="application/json" id="pictures">(.*?)</script>', page)
    return json.loads(found[1])


def test_a_page_needs_nothing_but_a_browser():
    """All is in it: nothing is loaded from elsewhere, and nobody's text is markup."""
    page = render_study(results(), FACTORS)
    own = page.replace(get_plotlyjs(), "")
    assert len(own) < len(page)
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(|fetch\(", own)
    assert "&lt;/script&gt;&lt;b&gt;&amp;" in own
    assert "<i>x</i>" not in own
    assert own.count("</script>") == 4


def test_the_same_results_give_the_same_page():
    """Nothing of the moment gets in."""
    assert render_study(results(), FACTORS) == render_study(results(), FACTORS)


def test_each_case_has_its_pictures_and_each_policy_a_layout():
    """They are drawn when they are chosen, so the page holds their data only."""
    page = render_study(results(), FACTORS)
    first, second = pictures_of(page)
    assert list(first["layouts"]) == ["static-past", "<i>x</i>"]
    names = [trace.get("name") for trace in first["queues"]["figure"]["data"]]
    assert names == ["static-past", "<i>x</i>"]
    assert len(second["usage"]["figure"]["data"]) == 4
    assert page.count('<option value="') == 2


def test_the_tables_say_who_is_faster():
    """Two 3g beside each other against one after the other: 1200 of 1740 s; nobody has 1g."""
    page = render_study(results(), FACTORS)
    assert f"{1200 / 1740:.3f}" in page
    assert "some never ran" in page
    assert "less than the 2 s that a pod may take to start" in page
    assert '<td class="number wins">0 s / 0 s</td>' in page


def test_the_tables_say_who_alone_runs_all_jobs():
    """A tuned mix of sevenths never has a half; there is no mean ratio of the cases."""
    case = case_of((0, 60, ONE), (0, 600, THREE))
    result = result_of(case, exact(case, {ONE: 7}, policy="static-past"), exact(case, LARGE))
    assert '<td class="number better">all ran, not so in static-past</td>' in render_study(
        [result, result], []
    )


def test_a_case_without_the_mark_shows_times():
    """There is nothing to compare with, and the page says so."""
    case = case_of((0, 600, THREE))
    page = render_study([result_of(case, exact(case, {THREE: 2}))], [])
    assert "static-past was not run" in page
    assert '<td class="number ">10 min</td>' in page


def test_what_is_left_out_is_told():
    """Of nine jobs the five longest are drawn, of as many GPUs the first ones."""
    rows = [(100 * k, 60 + k, ONE) for k in range(9)]
    case = case_of(*rows, gpus=40)
    drawn = draw_layout(exact(case, *[{ONE: 7}] * 40), case, 5)
    assert drawn.notes[0] == f"The first {MOST_GPUS} of 40 GPUs are drawn."
    assert drawn.notes[1].startswith("4 jobs that lasted less than")
    bars = [trace for trace in drawn.figure.data if trace.type == "bar"]
    assert len(bars[0].x) == 5


def test_a_run_without_layouts_has_no_picture_of_them():
    """Bounds that move jobs freely tell none."""
    case = case_of((0, 60, ONE))
    outcome = exact(case, {ONE: 7})
    assert draw_layout(type(outcome)("miso", outcome.jobs, 60.0), case, 5) is None


def test_long_lines_say_that_they_are_means():
    """One job after another, each waiting for half a minute."""
    case = case_of(*[(60.0 * k, 60.0, WHOLE) for k in range(200)], span_s=12_000)
    outcome = exact(case, {WHOLE: 1})
    assert draw_queues([outcome], case, 1000).notes == ()
    late = case_of(*[(50.0 * k, 60.0, WHOLE) for k in range(200)], span_s=12_000)
    drawn = draw_queues([exact(late, {WHOLE: 1})], late, 50)
    assert drawn.notes == ("Lines with more than 50 changes show means over 4 min.",)
    assert len(drawn.figure.data[0].x) == 51


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (5999, "100 min"),
        (7200, "2.0 h"),
    ],
)
def test_times_have_the_digits_that_count(seconds, text):
    """Seconds, then minutes, then hours."""
    assert duration_text(seconds) == text
