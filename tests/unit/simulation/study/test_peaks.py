"""Peaks."""

from dataclasses import replace
from math import ceil

import pytest

from autoscaler.agent.wiring import new_agent
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.peak_note import read_notes
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.study.announcing import note_of
from autoscaler.simulation.study.checks import problems_of
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.jobs import work_of
from autoscaler.simulation.study.peaks import Peak, parse_peak, parse_peaks, with_peaks
from autoscaler.simulation.study.policies import Conditions, run_policy
from autoscaler.simulation.study.splits import Announcement, Case, Work
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.studies import MODEL, ONE, THREE, WHOLE, jobs

HOUR_S = 3600.0


def steady(days=2, seed=0):
    """A 7g of 600 s each hour, and in the past a 3g too."""
    rows = [(HOUR_S * k, 600.0, WHOLE) for k in range(24 * days)]
    past = Work(jobs(*rows, (10, 300, THREE), (20, 500, THREE)), days * DAY_S)
    return Case("steady", MODEL, 2, 0.5, past, Work(jobs(*rows), days * DAY_S), seed)


def with_peak(case, peak):
    return with_peaks(case, [peak])


def test_a_peak_is_read_from_its_text():
    """One profile, or two with a share of 70 and 30 %."""
    assert parse_peak("3g:2.5", MODEL) == Peak((THREE,), 2.5)
    assert parse_peak("3g+7g:2", MODEL) == Peak((THREE, WHOLE), 2.0)
    for text in ("", "3g", "3g:1", "3g:x", "1g+2g+3g:2", "3g:inf"):
        with pytest.raises(ConfigError, match="is no peak such as"):
            parse_peak(text, MODEL)


def test_days_hours_and_announcement_are_words_of_a_peak():
    """In any order; days count once, and in their order."""
    found = parse_peak("3g:2 announced hours=9.5-13 days=4,1,4", MODEL)
    assert found == Peak((THREE,), 2.0, (1, 4), 9.5, 13.0, is_announced=True)
    for word in ("hours=13-9", "hours=9-25", "days=", "days=1,", "daily"):
        with pytest.raises(ConfigError, match=f"'{word}' is not understood"):
            parse_peak(f"3g:2 {word}", MODEL)


def test_usual_days_are_those_that_the_run_has():
    """Four in two weeks; of three days the second."""
    assert len(Peak((THREE,), 2.5).windows(15 * DAY_S)) == 4
    assert Peak((THREE,), 2.5).windows(3 * DAY_S) == [
        (DAY_S + 10 * HOUR_S, DAY_S + 16 * HOUR_S)
    ]
    with pytest.raises(ConfigError, match="too short for a peak on day 1"):
        Peak((THREE,), 2.5).windows(1.5 * DAY_S)


def test_the_work_of_the_hours_is_a_multiple_of_the_mean():
    """2.5 times, up to the last job that would be too much."""
    case = with_peak(steady(), Peak((THREE,), 2.5, days=(1,)))
    own = [
        j for j in case.present.jobs if DAY_S + 10 * HOUR_S <= j.arrival_s < DAY_S + 16 * HOUR_S
    ]
    mean = work_of(steady().present.jobs, MODEL) / (2 * DAY_S)
    assert work_of(own, MODEL) / (6 * HOUR_S) == pytest.approx(2.5 * mean, rel=0.05)
    assert {j.profile for j in own} == {THREE, WHOLE}
    assert {j.run_s for j in own if j.profile == THREE} <= {300.0, 500.0}


def test_the_jobs_that_a_peak_adds_are_told():
    """With their number, after what was told before."""
    case = with_peak(replace(steady(), notices=("first",)), Peak((THREE,), 2.5, days=(1,)))
    added = len(case.present.jobs) - len(steady().present.jobs)
    assert added > 1
    assert case.notices == ("first", f"peak {THREE}:2.5: added {added} jobs")


def test_all_jobs_of_the_hours_are_marked():
    """Those that come anyway too, and nobody else."""
    case = with_peak(steady(), Peak((THREE,), 2.5, days=(1,)))
    for job in case.present.jobs:
        is_within = DAY_S + 10 * HOUR_S <= job.arrival_s < DAY_S + 16 * HOUR_S
        assert job.in_peak == is_within
    assert [j.number for j in case.present.jobs] == list(range(len(case.present.jobs)))


def test_the_seed_decides():
    """The same seed gives the same jobs, another one others."""
    peak = Peak((THREE,), 2.5, days=(1,))
    assert with_peak(steady(), peak).present == with_peak(steady(), peak).present
    assert with_peak(steady(), peak).present != with_peak(steady(seed=1), peak).present


def test_impossible_peaks_are_refused():
    """Of a profile that nobody asked for, or behind the end of the run."""
    with pytest.raises(ConfigError, match=rf"peak {ONE}:2\.5: no past job asked for {ONE}"):
        with_peak(steady(), Peak((ONE,), 2.5, days=(1,)))
    with pytest.raises(
        ConfigError, match=r"peak .*: the run is too short for a peak on day 11"
    ):
        with_peak(steady(), Peak((THREE,), 2.5, days=(1, 11)))


def test_an_announcement_changes_no_job():
    """It is the same peak, so that both can be compared."""
    peak = Peak((THREE,), 2.5, days=(1,))
    silent, told = (
        with_peak(steady(), replace(peak, is_announced=own)) for own in (False, True)
    )
    assert told.present == silent.present
    assert (silent.announced, told.name) == ((), f"{silent.name} announced")


def test_one_run_may_have_several_peaks():
    """Each with days of its own; jobs of all of them are marked and announced."""
    first, second = parse_peaks("3g:2.5 days=0 announced; 3g:4 days=1 announced", MODEL)
    case = with_peaks(steady(), [first, second])
    days = {int(job.arrival_s // DAY_S) for job in case.present.jobs if job.in_peak}
    assert days == {0, 1}
    assert [int(own.start_s // DAY_S) for own in case.announced] == [0, 1]
    assert parse_peaks("", MODEL) == []


def test_a_peak_is_no_larger_for_another_that_was_added_before_it():
    """Each is a multiple of what arrives anyway."""
    first, second = parse_peaks("3g:10 days=0; 3g:10 days=1", MODEL)
    both = with_peaks(steady(), [first, second])
    alone = with_peaks(steady(), [second])
    found = [
        work_of([j for j in case.present.jobs if j.in_peak and j.arrival_s >= DAY_S], MODEL)
        for case in (both, alone)
    ]
    assert found[0] == pytest.approx(found[1], rel=0.01)


def test_what_is_announced_is_what_the_hours_hold_on_average():
    """Time within the six hours over their length, and no more than the fleet can have."""
    case = with_peak(steady(), Peak((THREE,), 6.0, days=(1,), is_announced=True))
    end_s = DAY_S + 16 * HOUR_S
    held_s = [
        min(j.run_s, end_s - j.arrival_s) for j in case.present.jobs if j.profile == THREE
    ]
    (own,) = case.announced
    assert (own.start_s, own.end_s) == (DAY_S + 10 * HOUR_S, end_s)
    assert own.number == ceil(sum(held_s) / (6 * HOUR_S))
    flood = with_peak(steady(), Peak((THREE,), 60.0, days=(1,), is_announced=True))
    assert flood.announced[0].number == 2 * flood.gpus


def test_a_job_that_outlives_the_hours_counts_only_within_them():
    """Four hours of run time that begin in an hour are one instance of it, not four."""
    base = steady()
    rows = [(HOUR_S * k, 600.0, WHOLE) for k in range(48)]
    past = Work(jobs(*rows, (10, 4 * HOUR_S, THREE)), 2 * DAY_S)
    peak = Peak((THREE,), 20.0, days=(1,), start_h=10, end_h=11, is_announced=True)
    case = with_peak(replace(base, gpus=9, past=past), peak)
    long = [job for job in case.present.jobs if job.profile == THREE]
    assert 1 <= case.announced[0].number <= len(long) == 2


def test_an_announcement_reads_as_people_write_it():
    """One note a peak, with all profiles of it, that the product's own reader takes."""
    own = [
        Announcement(3600.0, 7200.0, THREE, 4),
        Announcement(3600.0, 7200.0, ONE, 7),
        Announcement(DAY_S, DAY_S + 60.0, THREE, 1),
    ]
    first, second = read_notes(note_of(own, 1_000_000.0))
    assert first.profiles == {ONE: 7, THREE: 4}
    assert (first.from_s, first.to_s) == (1_003_600.0, 1_007_200.0)
    assert (second.profiles, second.from_s) == ({THREE: 1}, 1_000_000.0 + DAY_S)


@pytest.mark.parametrize("driver", list(Driver))
def test_an_announced_peak_gains_more(driver):
    """Jobs of the hours wait less when the autoscaler knew of them; no others differ."""
    rows = [(HOUR_S * k + 1, 900.0, WHOLE) for k in range(6)]
    past = Work(jobs(*rows, (10, 900, THREE)), DAY_S)
    base = Case("release", MODEL, 2, 0.5, past, Work(jobs(*rows), 6 * HOUR_S))
    peak = Peak((THREE,), 6.0, days=(0,), start_h=2.5, end_h=3.5)
    conditions = Conditions(unthrottled(), driver=driver, agent=new_agent)
    waits_s = []
    for is_announced in (False, True):
        case = with_peak(base, replace(peak, is_announced=is_announced))
        outcome = run_policy("autoscaler", case, conditions)
        assert problems_of(outcome, case) == []
        waits_s.append(sum(t.wait_s for t in outcome.jobs if t.job.in_peak))
    assert waits_s[1] < 0.9 * waits_s[0]
