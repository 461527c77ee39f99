"""Job logs: what is read of them, and where they are wrong."""

import gzip
from math import inf

import pytest

from autoscaler.adapters.job_log import profile_named, read_job_log
from autoscaler.domain.errors import ConfigError
from autoscaler.planning.past.queue_model import Job
from tests.builders import model
from tests.pasts import ONE, THREE, WHOLE


def write(folder, *lines, name="jobs.csv"):
    """Write a log; return its path."""
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def read(path, column=None, max_s=inf):
    """Read a log of A100 jobs."""
    return read_job_log(path, model(), "pool", column, max_s)


def test_jobs_are_read_by_profile(tmp_path):
    """In order of arrival, as often as they want instances."""
    path = write(
        tmp_path,
        "arrival_s,duration_s,profile,mig_count",
        "200,50,1g.5gb,1",
        "100,60,1g.5gb,2",
        "300,70,3g,",
    )
    log = read(path)
    assert log.jobs == {
        ("pool", ONE): (Job(100, 60), Job(100, 60), Job(200, 50)),
        ("pool", THREE): (Job(300, 70),),
    }
    assert (log.first_s, log.last_s, log.notices) == (100, 300, ())


@pytest.mark.parametrize("start", ["start_s", "scheduled_s"])
def test_waiting_is_no_service(tmp_path, start):
    """From its start to its end, not from its arrival."""
    path = write(tmp_path, f"arrival_s,{start},end_s,mig", "0,100,160,7g")
    assert read(path).jobs == {("pool", WHOLE): (Job(0, 60),)}


def test_without_a_start_it_began_when_it_came(tmp_path):
    """Nothing says otherwise."""
    path = write(tmp_path, "arrival_s,end_s,mig", "40,100,7g")
    assert read(path).jobs == {("pool", WHOLE): (Job(40, 60),)}


def test_what_is_left_out_is_said(tmp_path):
    """Never started, services, and jobs without an instance."""
    path = write(
        tmp_path,
        "arrival_s,duration_s,profile,mig_count",
        "0,,1g.5gb,1",
        "0,999,1g.5gb,1",
        "0,5,,0",
        "0,5,1g.5gb,1",
    )
    log = read(path, max_s=100)
    assert log.jobs == {("pool", ONE): (Job(0, 5),)}
    assert [notice.removeprefix(f"{path}: ") for notice in log.notices] == [
        "1 jobs are left out: they never started",
        "1 jobs are left out: they ran longer than the limit",
        "1 jobs are left out: they ask for no instance",
    ]


def test_packed_logs_and_other_columns_are_read(tmp_path):
    """As traces come."""
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(b"arrival_s,duration_s,mig_share\n0,5,1g\n"))
    assert read(str(path), "mig_share").jobs == {("pool", ONE): (Job(0, 5),)}


HEAD = "arrival_s,duration_s,profile,mig_count"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((HEAD, "0,5,1g.5gb,1", "x,5,1g.5gb,1"), ":3: arrival_s = 'x': not a number"),
        ((HEAD, ",5,1g.5gb,1"), ":2: arrival_s = '': is empty"),
        ((HEAD, "0,nan,1g.5gb,1"), ":2: duration_s = 'nan': not a number"),
        ((HEAD, "0,inf,1g.5gb,1"), ":2: duration_s = 'inf': not a number"),
        ((HEAD, "0,-5,1g.5gb,1"), ":2: duration_s = '-5': it ends before it starts"),
        ((HEAD, "0,5,9g.1gb,1"), ":2: profile = '9g.1gb': no profile of a100-40gb"),
        ((HEAD, "0,5,,1"), ":2: profile = '': no profile of a100-40gb"),
        ((HEAD, "0,5,1g.5gb,-1"), ":2: mig_count = '-1': not from 0"),
        ((HEAD, "0,5,1g.5gb,1.5"), ":2: mig_count = '1.5': not a whole number"),
        ((HEAD, "0,5,1g.5gb"), ":2: has another number of fields than line 1"),
        ((HEAD, "0,5,1g.5gb,1,9"), ":2: has another number of fields than line 1"),
        ((HEAD,), ": holds no job that could be used"),
        (("arrival_s,duration_s", "0,5"), ":1: there is no column profile or mig"),
        (("duration_s,profile", "5,1g"), ":1: there is no column arrival_s"),
        (("arrival_s,profile", "5,1g"), ":1: there is no column duration_s or end_s"),
        (("",), ":1: there is no column"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, lines, said):
    """And its column."""
    path = write(tmp_path, *lines)
    with pytest.raises(ConfigError) as error:
        read(path)
    assert f"{path}{said}" in str(error.value)


def test_files_that_are_no_text_are_refused(tmp_path):
    """Missing, binary, or cut off."""
    binary, cut = tmp_path / "a", tmp_path / "b"
    binary.write_bytes(b"\xff\xfe\x00")
    cut.write_bytes(gzip.compress(b"arrival_s\n" * 99)[:30])
    for path in (binary, cut, tmp_path / "none"):
        with pytest.raises(ConfigError, match=str(path)):
            read(str(path))


def test_a_size_means_the_smallest_profile_of_it():
    """Names of profiles mean themselves."""
    assert profile_named("1g", model()) == "1g.5gb"
    assert profile_named("1g.10gb", model()) == "1g.10gb"
    assert profile_named("5g", model()) is None
