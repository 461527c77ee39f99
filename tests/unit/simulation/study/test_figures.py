"""Figures of runs, by hand."""

from dataclasses import replace

import pytest

from autoscaler.simulation.study.figures import figures_of, idle_while_waiting, quantile, usages
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.players import Exact
from autoscaler.simulation.study.splits import Case, Work
from tests.studies import MODEL, ONE, THREE, WHOLE, fleet, jobs


def case_of(rows, gpus=1, span_s=100.0, **changes):
    present = Work(jobs(*rows, **changes), span_s)
    return Case("by hand", MODEL, gpus, 0.5, present, present)


def played(case, *gpus):
    return play("exact", fleet(*gpus), case.present.jobs, Exact())


def test_means_and_quantiles():
    """Waits of 0 and 20 s on one whole GPU, runs of 20 and 10 s."""
    case = case_of([(0, 20, WHOLE), (0, 10, WHOLE)])
    figures = figures_of(played(case, {WHOLE: 1}), case)
    assert (figures["meanCompletion"], figures["meanWait"]) == (25.0, 10.0)
    assert figures["wait"] == {"p50": 0.0, "p95": 20.0, "p99": 20.0}
    assert figures["p95Wait"] == {WHOLE: 20.0}
    assert (figures["jobs"], figures["unfinished"], figures["gpus"]) == (2, 0, 1)


def test_a_quantile_is_a_value_that_was_there():
    """Of a hundred values the 95th, and not something between two of them."""
    values = [float(k) for k in range(1, 101)]
    assert [quantile(values, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]
    assert quantile([], 0.5) is None


def test_a_job_that_never_runs_leaves_no_mean():
    """Else whoever never serves large jobs would look best."""
    case = case_of([(0, 20, ONE), (0, 10, WHOLE)])
    figures = figures_of(played(case, {ONE: 7}), case)
    assert figures["meanCompletion"] is None
    assert (figures["meanCompletionOfFinished"], figures["unfinished"]) == (20.0, 1)
    assert (figures["meanWait"], figures["meanWaitOfStarted"]) == (None, 0.0)
    assert figures["byProfile"][ONE]["meanWait"] == 0.0
    assert figures["p95Wait"] == {ONE: 0.0, WHOLE: None}


def test_a_job_that_never_runs_is_beyond_all_others():
    """Of ten jobs one never runs: the median is known, the 95th percentile is not."""
    case = case_of([*[(0, 20, ONE)] * 9, (0, 10, WHOLE)])
    figures = figures_of(played(case, {ONE: 7}), case)
    assert figures["wait"] == {"p50": 0.0, "p95": None, "p99": None}
    assert figures["completion"] == {"p50": 20.0, "p95": None, "p99": None}


def test_served_and_unmet_slices():
    """Seven slices for 30 of 100 s; a 7g that waits 20 s lacks seven slices so long."""
    case = case_of([(0, 20, WHOLE), (0, 10, WHOLE)])
    figures = figures_of(played(case, {WHOLE: 1}), case)
    assert figures["utilisation"] == 0.3
    assert figures["servedSliceHours"] == pytest.approx(7 * 30 / 3600, abs=1e-3)
    assert figures["unmetSliceHours"] == pytest.approx(7 * 20 / 3600, abs=1e-3)


def test_idle_slices_of_the_wrong_shape_are_fragmentation():
    """A 3g waits 50 of 100 s beside six idle 1g, since one of seven is in use."""
    case = case_of([(0, 50, ONE), (0, 10, THREE)])
    outcome = played(case, {ONE: 7})
    waits = replace(outcome.jobs[1], start_s=50.0, end_s=60.0, profile=THREE)
    outcome = replace(outcome, jobs=(outcome.jobs[0], waits), ended_s=60.0)
    assert idle_while_waiting(outcome, case) == pytest.approx(6 * 50 / (7 * 100))


def test_a_job_that_never_runs_waits_to_the_end_of_the_judged_days():
    """Also where the run is over after 20 of 100 s: six 1g are idle beside it, then seven."""
    case = case_of([(0, 20, ONE), (0, 10, THREE)])
    outcome = played(case, {ONE: 7})
    assert outcome.ended_s == 20
    figures = figures_of(outcome, case)
    assert figures["unmetSliceHours"] == pytest.approx(3 * 100 / 3600, abs=1e-3)
    assert figures["fragmentation"] == pytest.approx((6 * 20 + 7 * 80) / 700, abs=1e-4)


def test_a_job_that_never_ends_is_busy_to_the_end_of_the_judged_days():
    """It holds its instance as long as anybody looks."""
    case = case_of([(0, 20, ONE)])
    outcome = played(case, {ONE: 7})
    times = replace(outcome.jobs[0], end_s=None)
    figures = figures_of(replace(outcome, jobs=(times,)), case)
    assert figures["servedSliceHours"] == pytest.approx(100 / 3600, abs=1e-3)


def test_jobs_of_peaks_and_priorities_are_told_apart():
    """One group each, and none where there is only one priority."""
    case = case_of([(0, 20, WHOLE), (0, 10, WHOLE)])
    first, second = case.present.jobs
    marked = (first, replace(second, in_peak=True, priority=5))
    case = replace(case, present=Work(marked, 100.0))
    figures = figures_of(played(case, {WHOLE: 1}), case)
    assert figures["peak"]["jobs"] == 1
    assert figures["peak"]["meanCompletion"] == 10.0
    assert set(figures["byPriority"]) == {"0", "5"}
    plain = case_of([(0, 20, WHOLE)])
    assert "byPriority" not in figures_of(played(plain, {WHOLE: 1}), plain)


def test_usage_is_told_from_change_to_change():
    """Busy slices, and idle ones that would do for who waits, to the end of the judged days."""
    case = case_of([(0, 90, THREE), (0, 60, THREE), (20, 300, ONE)])
    outcome = played(case, {THREE: 2})
    found = [(u.start_s, u.end_s, u.busy, u.lost) for u in usages(outcome, case)]
    assert found == [(0, 20, 6, 0), (20, 60, 6, 1), (60, 90, 3, 4), (90, 100, 0, 7)]


def test_what_nobody_can_know_is_no_figure():
    """A plan without a bound has no gap; jobs that change sizes have no known use."""
    case = case_of([(0, 20, WHOLE)])
    outcome = replace(played(case, {WHOLE: 1}), plan_gap=float("inf"), resizes=True)
    figures = figures_of(outcome, case)
    names = ("planGapMax", "utilisation", "servedSliceHours", "fragmentation")
    assert [figures[name] for name in names] == [None] * 4
    assert figures_of(replace(outcome, plan_gap=0.01), case)["planGapMax"] == 0.01
