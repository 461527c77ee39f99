"""The checks of a run: silent on sound ones, loud on each planted fault."""

from dataclasses import replace

import pytest

from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.outcome import JobTimes
from autoscaler.simulation.study.players import Static
from autoscaler.simulation.study.splits import Case, Work
from tests.studies import MODEL, ONE, SIZES, THREE, WHOLE, fleet, jobs

ROWS = [(60.0 * k, 500.0 + 37 * (k % 5), (ONE, THREE, WHOLE)[k % 3]) for k in range(40)]
CASE = Case("by hand", MODEL, 2, 0.5, Work(jobs(*ROWS), 7200.0), Work(jobs(*ROWS), 7200.0))


def run():
    return play("static", fleet({WHOLE: 1}, {THREE: 2}), CASE.present.jobs, Static(SIZES))


def with_times(number, **changes):
    outcome = run()
    times = list(outcome.jobs)
    times[number] = replace(times[number], **changes)
    return replace(outcome, jobs=tuple(times))


def test_a_sound_run_has_no_problems():
    """Conservation, order, run times, places, capacity and Little's law all hold."""
    assert problems_of(run(), CASE) == []


def test_a_lost_job_is_noticed():
    """One that came and is not among the jobs of the run."""
    outcome = run()
    assert (
        "jobs missing: [39]" in problems_of(replace(outcome, jobs=outcome.jobs[:-1]), CASE)[0]
    )


def test_a_job_that_is_there_twice_is_noticed():
    """Its second end would count as another success."""
    outcome = run()
    doubled = replace(outcome, jobs=(*outcome.jobs, outcome.jobs[0]))
    assert any("jobs too many: [0]" in text for text in problems_of(doubled, CASE))


def test_a_double_booking_is_noticed():
    """Two jobs on one instance at the same time."""
    outcome = run()
    first, other = outcome.jobs[0], outcome.jobs[3]
    booked = with_times(3, place=first.place, start_s=first.start_s, end_s=first.end_s)
    assert other.place != first.place or other.start_s != first.start_s
    assert any("share" in text for text in problems_of(booked, CASE))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start_s": 0.0}, "job 5 starts before it arrives"),
        ({"end_s": 301.0, "start_s": 302.0}, "job 5 ends before it starts"),
        ({"start_s": 5000.0, "end_s": 5001.0}, "job 5 ends before its work is done"),
    ],
)
def test_impossible_times_are_noticed(changes, words):
    """Causes come before effects, and work takes its time."""
    assert words in problems_of(with_times(5, **changes), CASE)


def test_more_work_than_slices_is_noticed():
    """All jobs at once do not fit on two GPUs, whatever instances are claimed."""
    outcome = run()
    times = tuple(
        JobTimes(t.job, 3000.0, 3000.0 + t.job.run_s, t.job.profile) for t in outcome.jobs
    )
    found = problems_of(replace(outcome, jobs=times), CASE)
    assert any("slices are in use at 3000 s of 14" in text for text in found)
