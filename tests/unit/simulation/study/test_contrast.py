"""Runs beside others of the same case."""

import pytest

from autoscaler.simulation.study.contrast import contrast_of
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from tests.studies import WHOLE, jobs


def outcome(policy, completion_s, in_peak=False):
    """Return a run of ten days, one job each."""
    own = jobs(*[(DAY_S * day, 1, WHOLE) for day in range(10)], in_peak=in_peak)
    times = tuple(
        JobTimes(job, job.arrival_s, job.arrival_s + (completion_s or 0.0))
        if completion_s is not None
        else JobTimes(job)
        for job in own
    )
    return Outcome(policy, times, 0.0)


def contrast(own, *others):
    return contrast_of(own, {each.policy: each for each in (own, *others)})


def test_a_run_is_compared_with_the_tuned_mix_and_the_bounds():
    """90 s a job against 100 s and, in hindsight, 80 s."""
    found = contrast(
        outcome("autoscaler", 90.0),
        outcome("static-past", 100.0),
        outcome("static-hindsight", 80.0),
    )
    assert found["versusStaticPast"]["ratio"] == 0.9
    assert found["versusStaticPast"]["saved"] == 10.0
    assert found["regret"] == {"static-hindsight": {"seconds": 10.0, "share": 0.125}}
    assert "peakVersus" not in found


def test_jobs_of_peaks_are_compared_with_everyone():
    """Half as long as under the tuned mix, a tenth of what whole GPUs take."""
    own = outcome("autoscaler", 50.0, in_peak=True)
    marks = outcome("static-past", 100.0, in_peak=True), outcome("unpartitioned", 500.0, True)
    found = contrast(own, *marks)["peakVersus"]
    assert (found["static-past"]["ratio"], found["unpartitioned"]["ratio"]) == (0.5, 0.1)
    assert "autoscaler" not in found


def test_without_the_mark_nothing_is_made_up():
    """One policy alone has nobody to be compared with."""
    assert contrast(outcome("autoscaler", 90.0)) == {}


@pytest.mark.parametrize("own_s", [None, 90.0])
def test_regret_needs_an_end_of_all_jobs(own_s):
    """On both sides: a mean over some of the jobs is no mean."""
    bound_s = 80.0 if own_s is None else None
    found = contrast(outcome("autoscaler", own_s), outcome("free-repack", bound_s))
    assert found["regret"] == {"free-repack": {"seconds": None, "share": None}}
