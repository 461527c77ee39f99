"""Who wins where, by hand."""

import pytest

from autoscaler.simulation.study.report.standing import groups_of, standings
from tests.studies import ONE, THREE, WHOLE
from tests.study_results import case_of, exact, result_of, static

ROWS = [(0, 600, THREE), (0, 600, THREE), (0, 60, ONE)]


def test_the_lowest_wait_wins_its_profile():
    """A whole GPU serves one after the other; halves serve both 3g at once, but no 1g."""
    case = case_of(*ROWS)
    result = result_of(
        case,
        static(case, {WHOLE: 1}, policy="unpartitioned"),
        static(case, {THREE: 2}, policy="halves"),
    )
    assert groups_of(result) == ("all", ONE, THREE)
    whole, halves = standings(result)
    assert [cell.mean_s for cell in whole.cells] == [pytest.approx(600), 1200, 300]
    assert [cell.mean_s for cell in halves.cells] == [200, 600, 0]
    assert [cell.wins for cell in halves.cells] == [True, True, True]
    assert [cell.wins for cell in whole.cells] == [False, False, False]


def test_who_never_serves_a_profile_does_not_win_it():
    """A mean over the others would say nothing, so there is none."""
    case = case_of(*ROWS)
    result = result_of(
        case,
        exact(case, {THREE: 2}, policy="halves"),
        static(case, {WHOLE: 1}, policy="unpartitioned"),
    )
    halves, whole = standings(result)
    assert (halves.cells[0].never_ran, halves.cells[1].mean_s) == (1, None)
    assert (halves.cells[0].mean_s, halves.cells[0].p95_s) == (None, None)
    assert [cell.wins for cell in halves.cells] == [False, False, True]
    assert [cell.wins for cell in whole.cells] == [True, True, False]
    assert halves.completion_s is None


def test_nobody_wins_where_all_are_alike():
    """Green everywhere would say nothing."""
    case = case_of(*ROWS)
    outcomes = [static(case, {THREE: 2}, policy=name) for name in ("a", "b")]
    assert not any(
        cell.wins for own in standings(result_of(case, *outcomes)) for cell in own.cells
    )


def test_ratios_need_the_mark():
    """Without the tuned mix there is nothing to compare with."""
    case = case_of(*ROWS)
    alone = standings(result_of(case, static(case, {THREE: 2}, policy="a")))
    assert alone[0].ratio is None
    both = standings(
        result_of(case, static(case, {THREE: 2}, policy="a"), static(case, {WHOLE: 1}))
    )
    # Completion of 600, 600 and 660 s against 600, 1200 and 1260 s.
    assert both[0].ratio.value == pytest.approx(1860 / 3060)
