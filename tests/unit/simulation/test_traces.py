"""Traces, loads and tasks."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.timing import Span, draw_fraction
from autoscaler.simulation.traces import (
    Hours,
    Rule,
    TraceJob,
    load_openb,
    replay,
    resample,
    select,
    work_by_slices,
)
from autoscaler.simulation.workload import resource_of, tasks_of
from tests.builders import model

DAY_S = 86_400.0


def job(number: int, arrival_s: float, duration_s: float = 60.0, **changes) -> TraceJob:
    values = {"slices": 3, "instances": 1, "cpu_milli": 1000, "memory_mib": 1024}
    return TraceJob(number, arrival_s, duration_s, **(values | changes))


def test_openb_has_the_published_numbers():
    """Jobs with a duration and a GPU; shares of the work by the two mappings."""
    jobs = load_openb(Rule.V100_EQUIVALENT)
    assert len(jobs) == 6203
    assert min(j.duration_s for j in jobs) >= 1
    assert [j.arrival_s for j in jobs] == sorted(j.arrival_s for j in jobs)
    dense = select(jobs, Hours(115, 133))
    assert sum(j.instances for j in dense) == 3387
    assert sum(j.instances for j in select(jobs, Hours(134, 148))) == 3005
    # By compute share most of the work is whole GPUs, scaled down it is halves.
    shares = {}
    for rule in (Rule.SHARE, Rule.V100_EQUIVALENT):
        work = work_by_slices(select(load_openb(rule), Hours(115, 148)))
        shares[rule] = {slices: amount / sum(work.values()) for slices, amount in work.items()}
    assert 0.8 < shares[Rule.SHARE][7] < 0.9
    assert max(shares[Rule.V100_EQUIVALENT], key=shares[Rule.V100_EQUIVALENT].get) == 3


def test_hours_select_by_day_and_time_of_day():
    """The end of the hours is not part of them, the last day is."""
    hours = Hours(1, 2, 8, 16)
    at = {
        "before": DAY_S + 8 * 3600 - 1,
        "first": DAY_S + 8 * 3600,
        "last": 2 * DAY_S + 16 * 3600 - 1,
        "after": 2 * DAY_S + 16 * 3600,
    }
    assert [name for name, time_s in at.items() if hours.contains(time_s)] == ["first", "last"]
    assert hours.offset_s(at["last"]) == 8 * 3600 - 1
    with pytest.raises(ValueError, match="not hours"):
        Hours(2, 1)


def test_long_jobs_can_be_left_out():
    """A limit on the duration keeps those out that never end within a run."""
    jobs = [job(1, 10.0), job(2, 20.0, 2 * DAY_S)]
    assert [j.number for j in select(jobs, Hours(0, 0))] == [1]


def test_replay_keeps_times_and_order():
    """Arrivals are offsets from the first of the hours."""
    load = replay([job(2, DAY_S + 7300.0), job(1, DAY_S + 7200.0)], Hours(1, 1, 2, 4))
    assert [(a.offset_s, a.job.number) for a in load.arrivals] == [(0.0, 1), (100.0, 2)]


def test_resampling_meets_the_work_and_depends_on_the_seed_alone():
    """The same seed gives the same arrivals, another one others."""
    hours = Hours(134, 148, 8, 16)
    jobs = select(load_openb(Rule.V100_EQUIVALENT), hours)
    work = 0.9 * 8 * 7 * hours.span_s
    load = resample(jobs, hours, work=work, seed=1)
    assert load == resample(jobs, hours, work=work, seed=1)
    assert load != resample(jobs, hours, work=work, seed=2)
    assert load.offered == sum(a.job.work for a in load.arrivals)
    largest = max(j.work for j in jobs)
    assert abs(load.offered - work) <= largest / 2
    assert all(0 <= a.offset_s < hours.span_s for a in load.arrivals)
    with pytest.raises(ConfigError, match="no job"):
        resample([], hours, work=work, seed=1)


def test_tasks_ask_for_the_smallest_profile_that_is_large_enough():
    """A model without a profile of that size gives the next larger one."""
    assert resource_of(model(), 3) == "nvidia.com/mig-3g.20gb"
    assert resource_of(model("a30-24gb"), 3) == "nvidia.com/mig-4g.24gb"
    with pytest.raises(ConfigError, match="no profile of 7"):
        resource_of(model("a30-24gb"), 7)


def test_job_of_several_gpus_is_split_or_kept_whole():
    """As many tasks of one instance, or one pod that asks for all."""
    load = replay([job(1, 0.0, slices=7, instances=2)], Hours(0, 0))
    split = tasks_of(load.arrivals, model(), start_s=1000.0)
    assert [t.requests.total() for t in split] == [1, 1]
    assert len({t.name for t in split}) == 2
    (whole,) = tasks_of(load.arrivals, model(), start_s=1000.0, split=False)
    assert dict(whole.requests) == {"nvidia.com/mig-7g.40gb": 2}


def test_delays_depend_on_seed_and_key_alone():
    """Whole milliseconds within the span, whatever was drawn before."""
    span = Span(1.0, 3.0)
    first = span.draw(1, "n1", "start")
    assert first == span.draw(1, "n1", "start")
    assert first != span.draw(2, "n1", "start")
    assert first == round(first, 3)
    draws = [span.draw(1, number) for number in range(200)]
    assert min(draws) >= 1.0
    assert max(draws) <= 3.0
    assert 1.8 < sum(draws) / len(draws) < 2.2
    assert 0 <= draw_fraction(0) < 1
    with pytest.raises(ValueError, match="not a span"):
        Span(3.0, 1.0)
