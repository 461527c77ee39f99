"""How trials compare, by hand."""

from dataclasses import replace
from math import inf

import pytest

from autoscaler.simulation.study.advice.candidates import FIXED, Candidate
from autoscaler.simulation.study.advice.days import DrawnDays
from autoscaler.simulation.study.advice.trials import Trial, versus
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.pairing import Verdict
from autoscaler.simulation.study.splits import Case, Work
from tests.studies import MODEL, ONE, jobs, work


def draw_of(*sources):
    rows = [(day * DAY_S, 60.0, ONE) for day in range(len(sources))]
    present = Work(jobs(*rows), len(sources) * DAY_S)
    return DrawnDays(Case("x", MODEL, 1, 0.5, work((0, 1, ONE)), present), sources)


def trial_of(draws, completions_s, candidate=FIXED):
    """Return a trial with one job a day, given how long each takes."""
    outcomes = []
    for draw, own in zip(draws, completions_s, strict=True):
        times = [
            JobTimes(job, job.arrival_s, None if s is None else job.arrival_s + s)
            for job, s in zip(draw.case.present.jobs, own, strict=True)
        ]
        outcomes.append(Outcome("x", tuple(times), 0.0))
    return Trial(candidate, tuple(outcomes))


def test_the_ratio_is_of_all_jobs_of_all_draws():
    """Half as long on each of five days."""
    draws = [draw_of(0, 1, 2), draw_of(3, 4)]
    own = trial_of(draws, [(50, 100, 150), (200, 250)], Candidate())
    ratio = versus(own, trial_of(draws, [(100, 200, 300), (400, 500)]), draws)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert ratio.saved_s == pytest.approx(150)
    assert ratio.verdict is Verdict.BETTER


def test_a_day_that_is_drawn_often_counts_once():
    """Ten draws of one day say no more than one: without others there is no interval."""
    draws = [draw_of(*[0] * 10)]
    ratio = versus(trial_of(draws, [[50] * 10]), trial_of(draws, [[100] * 10]), draws)
    assert (ratio.value, ratio.low) == (0.5, None)
    assert ratio.verdict is Verdict.TIE


def test_days_that_disagree_are_a_tie():
    """Twice as long on one of two days, half as long on the other."""
    draws = [draw_of(0, 1)]
    ratio = versus(trial_of(draws, [(200, 50)]), trial_of(draws, [(100, 100)]), draws)
    assert ratio.value == 1.25
    assert ratio.verdict is Verdict.TIE


def test_a_job_that_never_ends_loses():
    """To one that ends all; where neither does nothing can be said."""
    draws = [draw_of(0, 1)]
    lost, fine = trial_of(draws, [(None, 50)]), trial_of(draws, [(100, 100)])
    assert versus(lost, fine, draws).value == inf
    assert versus(fine, lost, draws).verdict is Verdict.BETTER
    assert versus(lost, replace(lost, candidate=Candidate()), draws).value is None
