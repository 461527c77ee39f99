"""Peaks."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.jobs import work_of
from autoscaler.simulation.study.peaks import Peak, parse_peak, with_peak
from autoscaler.simulation.study.splits import DAY_S, Case, Work
from tests.studies import MODEL, ONE, THREE, WHOLE, jobs

HOUR_S = 3600.0


def steady(days=2, seed=0):
    """A 7g of 600 s each hour, and in the past a 3g too."""
    rows = [(HOUR_S * k, 600.0, WHOLE) for k in range(24 * days)]
    past = Work(jobs(*rows, (10, 300, THREE), (20, 500, THREE)), days * DAY_S)
    return Case("steady", MODEL, 2, 0.5, past, Work(jobs(*rows), days * DAY_S), seed)


def test_a_peak_is_read_from_its_text():
    """One profile, or two with a share of 70 and 30 %."""
    assert parse_peak("3g:2.5", MODEL) == Peak((THREE,), 2.5)
    assert parse_peak("3g+7g:2", MODEL) == Peak((THREE, WHOLE), 2.0)
    for text in ("3g", "3g:1", "3g:x", "1g+2g+3g:2", "3g:inf"):
        with pytest.raises(ConfigError, match="is no peak such as"):
            parse_peak(text, MODEL)


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
    with pytest.raises(ConfigError, match=f"no past job asked for {ONE}"):
        with_peak(steady(), Peak((ONE,), 2.5, days=(1,)))
    with pytest.raises(ConfigError, match="too short for a peak on day 11"):
        with_peak(steady(), Peak((THREE,), 2.5))
