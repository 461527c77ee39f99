"""Cases of the real trace, whose sizes are known from an independent experiment."""

import re
from dataclasses import replace

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.dates import DAY_S, MONDAY_S
from autoscaler.simulation.study.division import Days, Division, usual_days
from autoscaler.simulation.study.sources.memory import jobs_of
from autoscaler.simulation.study.sources.synthetic import synthetic_named
from autoscaler.simulation.study.splits import (
    Draw,
    Split,
    build_case,
    fleet_size,
    gpus_filled,
    resampled,
    scaled,
    work_of_days,
)
from autoscaler.simulation.study.trace_file import Trace, TraceRow, read_trace, shipped_trace
from tests.studies import MODEL, ONE, TWO, WHOLE, work

SHARE, EQUIVALENT = "mig_share", "mig_v100eq"


def case(column, load, split=Split.BASE, seed=0):
    return build_case(
        read_trace(shipped_trace(), column), column, MODEL, Draw(split, load, seed)
    )


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        (SHARE, {0.3: 22, 0.4: 16, 0.5: 13, 0.6: 11, 0.7: 9, 0.8: 8, 0.9: 7, 0.95: 7}),
        (EQUIVALENT, {0.3: 12, 0.4: 9, 0.5: 7, 0.6: 6, 0.7: 5, 0.8: 4, 0.95: 3}),
    ],
)
def test_fleets_are_as_large_as_their_load_needs(column, sizes):
    """The GPUs that the jobs of the test days fill to each load."""
    assert {load: case(column, load).gpus for load in sizes} == sizes


def test_the_base_split_has_its_known_jobs():
    """3,387 jobs to learn from and 3,005 to be judged on; swapped the other way round."""
    base, swapped = case(SHARE, 0.5), case(SHARE, 0.5, Split.SWAPPED)
    assert (len(base.past.jobs), len(base.present.jobs)) == (3387, 3005)
    assert (swapped.past, swapped.present) == (base.present, base.past)


def test_no_job_is_shorter_than_a_second_or_longer_than_a_day():
    """Longer ones are services, and no job takes no time."""
    runs = [job.run_s for job in case(SHARE, 0.5).present.jobs]
    assert min(runs) >= 1.0
    assert max(runs) <= DAY_S


def test_resampled_days_keep_the_time_of_day():
    """Each day is one of the past, moved as a whole; the seed chooses."""
    base, drawn = case(SHARE, 0.5).present, case(SHARE, 0.5, Split.RESAMPLED, 3).present
    known = {(j.arrival_s % DAY_S, j.run_s, j.profile) for j in base.jobs}
    assert {(j.arrival_s % DAY_S, j.run_s, j.profile) for j in drawn.jobs} <= known
    assert drawn == resampled(base, 3)
    assert drawn != resampled(base, 4)
    assert [j.number for j in drawn.jobs] == list(range(len(drawn.jobs)))


def test_a_fleet_holds_the_work_at_its_load():
    """Two GPUs for half a day of seven slices on each of four at load 0.25."""
    filled = gpus_filled(work((0, 43_200, WHOLE)), MODEL)
    assert fleet_size(filled, 0.25) == 2
    assert fleet_size(filled, 0.5) == 1
    with pytest.raises(ConfigError, match="more than all the work"):
        fleet_size(gpus_filled(work((0, 60, ONE)), MODEL), 0.5)


def test_jobs_as_they_are_have_the_load_that_they_make_of_a_fleet():
    """Nothing is drawn, and no fleet is no load."""
    trace = read_trace(shipped_trace(), SHARE)
    own = build_case(trace, SHARE, MODEL, Draw(Split.BASE, None, gpus=13))
    sized = build_case(trace, SHARE, MODEL, Draw(Split.BASE, 0.5))
    assert sized.gpus == own.gpus
    assert (own.past, own.present) == (sized.past, sized.present)
    assert own.load == pytest.approx(gpus_filled(own.present, MODEL) / 13, abs=1e-4)
    assert own.name == f"{trace.name} {SHARE} base load {own.load:g} (own) gpus 13"
    with pytest.raises(ConfigError, match="how many GPUs"):
        build_case(trace, SHARE, MODEL, Draw(Split.BASE, None))


def test_the_usual_days_of_the_shipped_trace_are_its_dense_ones():
    """Nineteen to learn from and fifteen to be judged on, whatever the column."""
    for column in (SHARE, EQUIVALENT):
        trace = read_trace(shipped_trace(), column)
        assert usual_days(trace) == (Days(115, 134), Days(134, 149))


def days_trace(*numbers):
    """A trace with so many jobs on each day."""
    rows = [
        TraceRow(day * DAY_S + 60.0 * k, 60.0, "1g", 1)
        for day, number in enumerate(numbers)
        for k in range(number)
    ]
    return Trace("days", tuple(rows))


def test_the_usual_days_of_short_traces_leave_something_to_be_judged_on():
    """The last day is hardly ever whole, but of two days it has to do."""
    assert usual_days(days_trace(9, 9)) == (Days(0, 1), Days(1, 2))
    assert usual_days(days_trace(9, 9, 9)) == (Days(0, 1), Days(1, 2))
    assert usual_days(days_trace(1, 0, 20, 20, 20, 20)) == (Days(2, 4), Days(4, 5))
    with pytest.raises(ConfigError, match="within one day"):
        usual_days(days_trace(9))


def test_a_division_may_name_one_side_only():
    """The other is what the trace has before or after it, of its usual days."""
    trace = read_trace(shipped_trace(), SHARE)
    for present, past in (((140, 142), (115, 140)), ((120, 124), (115, 120))):
        assert Division(present=Days(*present)).of(trace) == (Days(*past), Days(*present))
    assert Division(present=Days(900, 901)).of(trace) == (Days(115, 149), Days(900, 901))
    for past, present in (((120, 130), (130, 149)), ((0, 9), (115, 149))):
        assert Division(past=Days(*past)).of(trace) == (Days(*past), Days(*present))
    with pytest.raises(ConfigError, match="none before 115:120 to learn from"):
        Division(present=Days(115, 120)).of(trace)
    with pytest.raises(ConfigError, match="none after 130:149 to be judged on"):
        Division(past=Days(130, 149)).of(trace)


def test_nobody_may_learn_from_days_that_are_judged():
    """Jobs to come would be known; days that touch, or come in the other order, are fine."""
    for past, present in (((120, 130), (122, 124)), ((115, 134), (133, 149))):
        words = re.escape("({}:{}) and days to be judged on ({}:{})".format(*past, *present))
        with pytest.raises(ConfigError, match=words):
            Division(Days(*past), Days(*present))
    Division(Days(115, 134), Days(134, 149))
    Division(Days(134, 149), Days(115, 134))


@pytest.mark.parametrize("gpus", [4, 30, 100])
def test_a_fleet_of_a_size_of_its_own_gets_jobs_for_its_load(gpus):
    """Jobs are left out or added; those that are there stay like those of the trace."""
    base = case(SHARE, 0.5)
    draw = Draw(Split.BASE, 0.5, 7, gpus=gpus)
    found = build_case(read_trace(shipped_trace(), SHARE), SHARE, MODEL, draw)
    assert found.gpus == gpus
    assert gpus_filled(found.present, MODEL) / gpus == pytest.approx(0.5, rel=0.005)
    # The past grows or shrinks by as much, so that it stays a past of the same users.
    factor = gpus * 0.5 / gpus_filled(base.present, MODEL)
    past = gpus_filled(found.past, MODEL) / gpus_filled(base.past, MODEL)
    assert past == pytest.approx(factor, rel=0.005)
    known = {(j.run_s, j.profile) for j in base.present.jobs}
    assert {(j.run_s, j.profile) for j in found.present.jobs} <= known
    arrivals = [j.arrival_s for j in found.present.jobs]
    assert 0 <= min(arrivals) <= max(arrivals) < base.present.span_s


def test_copies_of_a_job_do_not_come_as_one():
    """They are spread over an hour of the job's own day; the seed decides how."""
    own = work((100.0, 600.0, WHOLE), (50_000.0, 60.0, ONE))
    copied = scaled(own, MODEL, 10.0, 1)
    arrivals = sorted(j.arrival_s for j in copied.jobs if j.profile == WHOLE)
    assert len(arrivals) == 10
    # A copy that would come the day before comes as the day begins.
    assert len(set(arrivals) - {0.0}) == sum(at_s > 0 for at_s in arrivals)
    assert max(arrivals) <= 100.0 + 1800.0
    assert copied != scaled(own, MODEL, 10.0, 2)
    with pytest.raises(ConfigError, match="less than any job"):
        scaled(own, MODEL, 1e-9, 1)


def test_several_instances_are_as_many_jobs():
    """Of the profile that the row says."""
    trace = Trace("rows", (TraceRow(5.0, 60.0, "2g", 3),))
    jobs = work_of_days(trace, MODEL, Days(0, 1)).jobs
    assert [(j.arrival_s, j.profile) for j in jobs] == [(5.0, TWO)] * 3


def test_odd_wishes_are_refused():
    """No load, no days, no jobs on the days."""
    with pytest.raises(ConfigError, match="load of 0"):
        case(SHARE, 0)
    with pytest.raises(ConfigError, match="no days"):
        Days(5, 5)
    far = Draw(Split.BASE, 0.5, division=Division(Days(115, 134), Days(900, 901)))
    with pytest.raises(ConfigError, match="no job arrived on days 900 to 901"):
        build_case(read_trace(shipped_trace(), SHARE), SHARE, MODEL, far)


def told(trace, draw):
    """Return what a case says of its jobs."""
    return build_case(trace, "rows", MODEL, draw).notices


def test_jobs_longer_than_a_day_are_told():
    """Those of the days in question, by what the days are for; instances count."""
    long = [TraceRow(at_s, 2 * DAY_S, "7g", 2) for at_s in (60.0, DAY_S, DAY_S + 5, 9 * DAY_S)]
    trace = Trace("jobs.csv", (*days_trace(9, 9).rows, *long))
    own = Draw(Split.BASE, None, division=Division(Days(0, 1), Days(1, 2)), gpus=1)
    assert told(trace, own) == (
        "jobs.csv: jobs longer than a day are left out: 2 to learn from, 4 to be judged on",
    )
    alone = Trace("jobs.csv", tuple(long))
    with pytest.raises(
        ConfigError, match="no job arrived on days 0 to 1 that ran for a day at most"
    ):
        told(alone, own)


def test_days_that_are_left_out_are_told():
    """The last one, and those before jobs come densely; but not where days were named."""
    trace = days_trace(1, 0, 20, 20, 20, 9)
    assert told(trace, Draw(Split.BASE, None, gpus=1)) == (
        "days: left out before day 2: 1 job that came too sparsely",
        "days: left out of day 5, the last: 9 jobs",
    )
    named = Division(Days(2, 4), Days(4, 5))
    assert told(trace, Draw(Split.BASE, None, division=named, gpus=1)) == ()
    assert told(days_trace(9, 9), Draw(Split.BASE, None, gpus=1)) == ()


def test_jobs_that_are_added_or_left_out_for_a_load_are_told():
    """A job of a minute on one of seven slices: 20 of 40 are half of their work."""
    trace, division = days_trace(20, 40), Division(Days(0, 1), Days(1, 2))
    full = 40 * 60 / (7 * DAY_S)
    half = Draw(Split.BASE, full / 2, division=division, gpus=1)
    assert told(trace, half) == (
        f"jobs are left out to make load {full / 2:g} on 1 x {MODEL.key}:"
        " 10 to learn from, 20 to be judged on",
    )
    thrice = Draw(Split.BASE, full, division=division, gpus=3)
    assert told(trace, thrice) == (
        f"copies of jobs are added to make load {full:g} on 3 x {MODEL.key}:"
        " 40 to learn from, 80 to be judged on",
    )


def test_drawn_days_are_told():
    """They are those that are judged; what there is to learn from stays."""
    division = Division(Days(0, 1), Days(1, 4))
    draw = Draw(Split.RESAMPLED, None, 3, division, 1)
    assert told(days_trace(9, 9, 9, 9), draw) == (
        "days: days to be judged on are drawn from themselves, with repeats: 3",
    )


FRIDAY = 20_455
"""2026-01-02 in days since 1970."""


@pytest.mark.parametrize("moment", ["2026-01-0{}T09:00:00Z", "{}"])
def test_a_run_begins_on_the_first_day_that_is_judged(tmp_path, moment):
    """Where jobs have dates, written out or as seconds since 1970."""
    path = tmp_path / "jobs.csv"
    days = range(1, 5)
    times = [
        moment.format(day if "T" in moment else int((FRIDAY - 2 + day) * DAY_S)) for day in days
    ]
    path.write_text("arrival,duration,memory\n" + "".join(f"{at},60,4\n" for at in times))
    division = Division(Days(FRIDAY - 1, FRIDAY), Days(FRIDAY, FRIDAY + 2))
    draw = Draw(Split.BASE, None, division=division, gpus=1)
    built = build_case(jobs_of(path).read(MODEL), "memory", MODEL, draw)
    assert built.start_s == FRIDAY * DAY_S


def test_a_past_on_other_weekdays_is_told():
    """Days to learn from count as those right before the run, wherever they were."""
    undated = days_trace(*[9] * 12)
    dated = replace(undated, zero_s=MONDAY_S)
    # Monday and Tuesday count as Wednesday and Thursday before a Friday.
    gap = Draw(Split.BASE, None, division=Division(Days(0, 2), Days(4, 6)), gpus=1)
    (told_of,) = told(dated, gap)
    assert told_of.endswith("right before the run, so their weekdays are 2 too late")
    assert told(undated, gap) == ()
    for past, present in ((Days(0, 4), Days(4, 6)), (Days(0, 2), Days(9, 10))):
        own = Draw(Split.BASE, None, division=Division(past, present), gpus=1)
        assert told(dated, own) == ()


def test_drawn_jobs_keep_their_weekday():
    """Day 0 is drawn as a Monday, so day 16 is a Wednesday."""
    trace = synthetic_named("ci").read(MODEL)
    first = usual_days(trace)[1].first
    built = build_case(trace, "drawn", MODEL, Draw(Split.BASE, 0.5))
    assert first == 16
    assert built.start_s == MONDAY_S + first * DAY_S


def test_days_since_nobody_knows_when_are_judged_from_a_monday_on():
    """As the traces that are shipped are."""
    assert case(SHARE, 0.5).start_s == MONDAY_S
