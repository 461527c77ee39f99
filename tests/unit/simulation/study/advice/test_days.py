"""Days that choose, days that prove, and draws of them."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.advice.days import (
    drawn,
    halves_of,
    in_order,
    joined,
)
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.splits import Case, Work
from tests.studies import MODEL, ONE, jobs, work


def case_of(days, past=2):
    """Return a case with a job of its own length on each day, an hour after midnight."""
    rows = [(day * DAY_S + 3600, 60.0 + day, ONE) for day in range(days)]
    before = [(day * DAY_S, 10.0 + day, ONE) for day in range(past)]
    return Case(
        "tiny",
        MODEL,
        1,
        0.5,
        Work(jobs(*before), past * DAY_S),
        Work(jobs(*rows), days * DAY_S),
    )


def test_later_days_prove_and_learn_from_all_before():
    """Of five days three choose; nothing of the later two is seen by the search."""
    case = case_of(5)
    halves = halves_of(case)
    assert [job.run_s for job in halves.choosing.present.jobs] == [60, 61, 62]
    assert [job.run_s for job in halves.proving.present.jobs] == [63, 64]
    assert [job.arrival_s for job in halves.proving.present.jobs] == [3600, DAY_S + 3600]
    assert halves.choosing.past == case.past
    assert [job.run_s for job in halves.proving.past.jobs] == [10, 11, 60, 61, 62]
    assert halves.proving.past.span_s == 5 * DAY_S
    assert halves.choosing.gpus == halves.proving.gpus == case.gpus
    assert halves.proving.start_s == halves.choosing.start_s + 3 * DAY_S


def test_too_few_days_are_refused():
    """Three would leave a day that proves nothing."""
    with pytest.raises(ConfigError, match="3 days to be judged on are too few"):
        halves_of(case_of(3))
    halves = halves_of(case_of(4))
    assert (halves.choosing.present.span_s, halves.proving.present.span_s) == (
        2 * DAY_S,
        2 * DAY_S,
    )


def test_a_half_without_a_job_is_refused():
    """There would be nothing to compare."""
    case = case_of(5)
    early = Work(case.present.jobs[:2], case.present.span_s)
    with pytest.raises(ConfigError, match="no job arrives"):
        halves_of(Case("tiny", MODEL, 1, 0.5, case.past, early))


def test_joined_work_goes_on_where_the_first_ends():
    """Numbers and spans too."""
    found = joined(work((0, 1, ONE), span_s=100.0), work((5, 2, ONE), span_s=50.0))
    assert [(job.arrival_s, job.number) for job in found.jobs] == [(0, 0), (105, 1)]
    assert found.span_s == 150.0


def test_drawn_days_know_where_they_come_from():
    """Each job is one of the day that was drawn, at its time of the day."""
    own = drawn(case_of(5), 8, seed=3)
    assert len(own.sources) == 8
    assert own.case.present.span_s == 8 * DAY_S
    found = [(int(job.arrival_s // DAY_S), job.run_s - 60) for job in own.case.present.jobs]
    assert found == list(enumerate(own.sources))
    assert all(job.arrival_s % DAY_S == 3600 for job in own.case.present.jobs)


def test_the_same_seed_draws_the_same_days():
    """And another one others."""
    draws = [drawn(case_of(9), 9, seed).sources for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_days_without_a_job_are_not_drawn_alone():
    """Nothing can be compared on them."""
    sparse = Case("x", MODEL, 1, 0.5, work((0, 1, ONE)), work((0, 1, ONE), span_s=30 * DAY_S))
    assert all(drawn(sparse, 1, seed).case.present.jobs for seed in range(20))


def test_all_days_in_order_are_their_own_source():
    """As they came."""
    assert in_order(case_of(4)).sources == (0, 1, 2, 3)
