"""The checks of a run: silent on sound ones, loud on each planted fault."""

from dataclasses import replace

import pytest

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.simulation.study.checks import problems_of, require_sound
from autoscaler.simulation.study.light import play
from autoscaler.simulation.study.outcome import Cut, JobTimes
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


def test_an_instance_that_goes_while_a_job_runs_is_noticed():
    """GPU 0 is whole when its job starts at 120, and nothing at all 10 s later."""
    outcome = run()
    job = next(t for t in outcome.jobs if t.place[0] == "0")
    lost = Cut(job.start_s + 10, "0", "nothing", Geometry())
    cuts = sorted((*outcome.cuts, lost), key=lambda cut: cut.at_s)
    found = problems_of(replace(outcome, cuts=tuple(cuts)), CASE)
    assert f"job {job.job.number} has no {job.place[1]} of 0 at {lost.at_s:.0f} s" in found


def test_an_instance_that_was_never_there_is_noticed():
    """A job claims a 1g of a GPU that was only ever cut into halves."""
    found = problems_of(with_times(1, place=("1", f"{ONE}@0")), CASE)
    assert found == [f"job 1 has no {ONE}@0 of 1 at 0 s"]


def test_a_layout_that_no_gpu_can_have_is_noticed():
    """A 3g starts at memory slice 0 or 4, and not at 2."""
    odd = Cut(9e6, "0", "odd", Geometry((GpuInstance(2, 4, THREE),)))
    outcome = run()
    found = problems_of(replace(outcome, cuts=(*outcome.cuts, odd)), CASE)
    assert found == [f"0 is cut into {THREE}@2 at 9000000 s"]


def test_an_unsound_run_is_an_error():
    """It names policy and case, and the first problems of many."""
    require_sound(run(), CASE)
    broken = replace(run(), jobs=tuple(replace(t, end_s=0.0) for t in run().jobs))
    with pytest.raises(InvariantError, match=r"static on by hand: job 1 .*; and \d+ more"):
        require_sound(broken, CASE)
