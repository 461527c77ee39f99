"""Jobs by the GPU memory they need."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import load_models
from autoscaler.simulation.study.sources.memory import (
    MemoryJobs,
    ProfileJobs,
    jobs_of,
    smallest_holding,
    usable_mib,
)
from autoscaler.simulation.study.trace_file import TraceRow
from tests.studies import FOUR, MODEL, ONE, THREE, TWO, WHOLE


def by_key(key):
    return next(m for m in load_models() if m.key == key)


def read(tmp_path, text, model=MODEL):
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    return jobs_of(path).read(model)


@pytest.mark.parametrize(
    ("needed_mib", "profile"),
    [(1, ONE), (4864, ONE), (4865, TWO), (9856, TWO), (9857, THREE), (19968, THREE),
     (19969, WHOLE), (40192, WHOLE)],
)  # fmt: skip
def test_a_job_asks_for_the_smallest_instance_that_holds_it(needed_mib, profile):
    """Of the memory that can be used: a 1g.5gb has 4864 MiB. No job needs a 4g for memory."""
    assert smallest_holding(MODEL, needed_mib).name == profile
    assert profile != FOUR


def test_memory_is_that_of_the_model(tmp_path):
    """Twelve GiB are a half of an A30, a quarter of an H100, and more than an A30's half."""
    text = "arrival,duration,memory\n0,60,11.5\n0,60,12\n"
    assert [r.profile for r in read(tmp_path, text, by_key("a30-24gb")).rows] == [
        "2g.12gb",
        "4g.24gb",
    ]
    assert {r.profile for r in read(tmp_path, text, by_key("h100-80gb")).rows} == {"2g.20gb"}
    assert smallest_holding(MODEL, 40193) is None


def test_unpublished_memory_is_taken_to_be_little():
    """The least share of the name that any known profile leaves: 20 of 24 GiB on a GB200."""
    unknown = by_key("rtx-pro-4500-blackwell-32gb").require(["1g.16gb"])[0]
    assert unknown.memory_mib is None
    assert usable_mib(unknown) == int(16 * 1024 * 10 / 12)


@pytest.mark.parametrize(
    ("column", "value", "profile"),
    [
        ("memory_mib", "4864", ONE),
        ("memory_mib", "4865", TWO),
        ("memory_gib", "4.75", ONE),
        ("memory", "4.75", ONE),
        ("memory", "5000 MiB", TWO),
        ("memory", "5GB", ONE),
        ("gpu_memory_gb", "5.2", TWO),
        ("memory_mb", "5100", ONE),
        ("memory_bytes", "5368709120", TWO),
        ("memory", "5Gi", TWO),
    ],
)
def test_memory_comes_in_the_units_people_use(tmp_path, column, value, profile):
    """In the name of the column or behind the number; GiB where neither says."""
    trace = read(tmp_path, f"arrival,duration,{column}\n0,60,{value}\n")
    assert trace.rows[0].profile == profile


def test_times_are_seconds_or_written_out(tmp_path):
    """A time without a zone is one of UTC."""
    text = (
        "arrival,duration,memory\n"
        "1970-01-01T01:00:00,1h30m,1\n"
        "1970-01-01T01:00:00+01:00,90,1\n"
        "7.5,2m,1\n"
    )
    found = [(r.arrival_s, r.run_s) for r in read(tmp_path, text).rows]
    assert found == [(0.0, 90.0), (7.5, 120.0), (3600.0, 5400.0)]


def test_a_job_of_several_instances_says_so(tmp_path):
    """In the column that other traces have too."""
    trace = read(tmp_path, "arrival,duration,memory,mig_count\n0,60,1,3\n")
    assert trace.rows[0].count == 3


def test_jobs_without_gpu_or_end_are_counted_and_said(tmp_path):
    """What is left out is no secret."""
    trace = read(tmp_path, "arrival,duration,memory\n0,60,1\n1,60,0\n2,,3\n")
    assert len(trace.rows) == 1
    assert trace.notices == (
        "jobs.csv: 1 jobs need no GPU memory and are left out",
        "jobs.csv: 1 jobs have no duration and are left out",
    )


@pytest.mark.parametrize(
    "needs", [("memory", "4"), ("profile", "3g")], ids=["memory", "profile"]
)
def test_a_column_says_who_goes_first(tmp_path, needs):
    """0 where it is empty."""
    column, value = needs
    text = f"arrival,duration,{column},priority\n0,60,{value},9\n1,60,{value},\n"
    assert [row.priority for row in read(tmp_path, text).rows] == [9, 0]


def test_a_file_with_profiles_in_place_of_memory_is_read_by_them(tmp_path):
    """Which says more than memory does; times come in the same forms."""
    text = (
        "arrival,duration,profile,mig_count\n"
        "1970-01-01T01:00:00Z,1h30m,3g,1\n"
        "7.5,90,1g.5gb,2\n"
        "8,,1g,1\n"
        "9,60,,1\n"
    )
    trace = read(tmp_path, text)
    found = [(r.arrival_s, r.run_s, r.profile, r.count, r.line) for r in trace.rows]
    assert found == [(7.5, 90.0, "1g.5gb", 2, 3), (3600.0, 5400.0, "3g", 1, 2)]
    assert trace.notices == ("jobs.csv: 1 jobs have no duration and are left out",)
    assert jobs_of(tmp_path / "jobs.csv") == ProfileJobs(tmp_path / "jobs.csv", "profile")
    older = "arrival_s,duration_s,mig_share\n0,60,3g\n"
    assert read(tmp_path, older).rows == (TraceRow(0.0, 60.0, "3g", 1),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"jobs\.csv:1: there is no column memory"),
        ("arrival,duration\n0,1\n", r"jobs\.csv:1: there is no column memory"),
        ("duration,memory\n0,1\n", r"jobs\.csv:1: there is no column arrival_s or arrival"),
        ("duration,profile\n1,1g\n", r":1: there is no column arrival_s or arrival"),
        ("arrival,duration,profile\nmonday,1,1g\n", r":2: arrival = 'monday': neither"),
        ("arrival,duration,profile\n0,,1g\n", "no row has a duration and a value of profile"),
        ("arrival,memory\n0,1\n", r":1: there is no column duration_s or duration"),
        ("arrival,duration,memory,memory_mib\n0,1,1,1\n", "say the same: keep one"),
        ("arrival,duration,memory\n", "holds no job"),
        ("arrival,duration,memory\n0,1,\n", r":2: memory = '': is empty"),
        ("arrival,duration,memory\n0,1,1\n0,1,x\n", r":3: memory = 'x': not a number"),
        ("arrival,duration,memory\n0,1,-1\n", r":2: memory = '-1': not an amount from 0"),
        ("arrival,duration,memory\n0,1,1e308\n", r":2: memory = '1e308': not an amount"),
        (f"arrival,duration,memory\n0,1,{'9' * 400}Gi\n", r":2: memory = '9+Gi': not an amo"),
        ("arrival,duration,memory\n0,1,90\n", r":2: memory = '90': 92160 MiB: a a100-40gb"),
        ("arrival,duration,memory\n-1,1,1\n", r":2: arrival = '-1': not a number of seconds"),
        ("arrival,duration,memory\nnan,1,1\n", r":2: arrival = 'nan': not a number of sec"),
        ("arrival,duration,memory\n0,1x,1\n", r":2: duration = '1x': neither seconds nor"),
        ("arrival,duration,memory\nmonday,1,1\n", r":2: arrival = 'monday': neither seconds"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    """And its column."""
    with pytest.raises(ConfigError, match=words):
        read(tmp_path, text)


def test_the_same_file_has_the_same_fingerprint(tmp_path):
    """And another content another."""
    path = tmp_path / "jobs.csv"
    path.write_text("arrival,duration,memory\n0,60,1\n")
    before = MemoryJobs(path).fingerprint()
    assert MemoryJobs(path).fingerprint() == before
    path.write_text("arrival,duration,memory\n0,60,2\n")
    assert MemoryJobs(path).fingerprint() != before
