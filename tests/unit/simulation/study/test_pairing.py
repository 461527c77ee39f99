"""Paired comparisons."""

from math import inf

import pytest

from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.pairing import Ratio, Verdict, geometric_mean, ratio_of
from tests.studies import WHOLE, jobs


def outcome(completions, days=None):
    rows = [
        (DAY_S * (k if days is None else days[k]), 1, WHOLE) for k in range(len(completions))
    ]
    times = [
        JobTimes(job, job.arrival_s, None if own is None else job.arrival_s + own)
        for job, own in zip(jobs(*rows), completions, strict=True)
    ]
    return Outcome("x", tuple(times), 0.0)


def test_the_ratio_is_that_of_the_means():
    """Ten days at half the time: better, without doubt."""
    ratio = ratio_of(outcome([50.0] * 10), outcome([100.0] * 10))
    assert (ratio.value, ratio.low, ratio.high) == (0.5, 0.5, 0.5)
    assert ratio.verdict is Verdict.BETTER


def test_the_saving_is_in_seconds_a_job():
    """Days of three jobs and one, 10 s and 50 s sooner each: (3 x 10 + 50) / 4."""
    own = outcome([90.0, 90.0, 90.0, 50.0], [0, 0, 0, 1])
    ratio = ratio_of(own, outcome([100.0] * 4, [0, 0, 0, 1]))
    assert ratio.saved_s == pytest.approx(20.0)
    assert ratio.saved_low_s == pytest.approx(10.0)
    assert ratio.saved_high_s == pytest.approx(50.0)
    assert ratio.as_json()["saved"] == 20.0


def test_a_difference_inside_the_noise_is_a_tie():
    """Better on every other day and worse on the rest."""
    own = outcome([50.0, 160.0] * 5)
    ratio = ratio_of(own, outcome([100.0] * 10))
    assert ratio.value == pytest.approx(1.05)
    assert ratio.low < 1 < ratio.high
    assert ratio.verdict is Verdict.TIE
    assert not ratio.exceeds(1.01)


def test_a_clear_loss_exceeds_a_limit():
    """Two percent worse on each day, beyond a limit of one."""
    ratio = ratio_of(outcome([102.0] * 5), outcome([100.0] * 5))
    assert ratio.exceeds(1.01)
    assert not ratio.exceeds(1.02)
    assert ratio.verdict is Verdict.WORSE


@pytest.mark.parametrize(
    ("own_s", "verdict"), [(7201.3, "tie"), (7198.7, "tie"), (7203, "worse")]
)
def test_a_difference_that_starting_pods_makes_is_a_tie(own_s, verdict):
    """However sure it is: only one of both simulators has pods. The numbers stay."""
    ratio = ratio_of(outcome([own_s] * 10), outcome([7200.0] * 10))
    assert ratio.verdict == verdict
    assert (ratio.value, ratio.low) == pytest.approx((own_s / 7200, own_s / 7200))
    assert ratio.as_json()["saved"] == pytest.approx(7200 - own_s)


def test_the_same_seed_gives_the_same_interval():
    """And jobs of one day are drawn together."""
    own, other = outcome([50.0, 70.0, 90.0]), outcome([60.0, 60.0, 60.0])
    assert ratio_of(own, other, seed=3) == ratio_of(own, other, seed=3)
    one_day = ratio_of(outcome([50.0, 70.0], [0, 0]), outcome([60.0, 60.0], [0, 0]))
    assert one_day == Ratio(1.0, saved_s=0.0)
    assert one_day.verdict is Verdict.TIE


def test_whoever_leaves_jobs_waiting_for_ever_is_worse():
    """Whoever runs them is better, by no number; where both do, there is nothing to say."""
    done, lost = outcome([1.0, 1.0]), outcome([1.0, None])
    assert ratio_of(lost, done).value == inf
    assert ratio_of(lost, done).verdict is Verdict.WORSE
    assert ratio_of(done, lost).value == 0
    assert ratio_of(done, lost).verdict is Verdict.BETTER
    assert ratio_of(lost, lost) == Ratio(None)
    for one, other in ((lost, done), (done, lost)):
        assert ratio_of(one, other).as_json()["ratio"] is None


def test_the_geometric_mean_of_cases():
    """0.5 and 2 cancel out; a ratio of 0 would outweigh everything."""
    assert geometric_mean([0.5, 2.0]).value == pytest.approx(1.0)
    assert geometric_mean([0.5, 0.0, 2.0]).value == pytest.approx(1.0)
    assert geometric_mean([0.0]).value is None
    assert geometric_mean([]).value is None
