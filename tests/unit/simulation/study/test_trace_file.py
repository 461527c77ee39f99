"""Reading traces, ours and those of users."""

import gzip

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import load_models
from autoscaler.simulation.study.trace_file import (
    TraceRow,
    profile_named,
    read_trace,
    shipped_trace,
)
from tests.builders import model

HEADER = "arrival_s,duration_s,profile,mig_count\n"


def test_rows_are_read_in_order_of_arrival(tmp_path):
    """Whatever their order in the file, plain or gzip."""
    text = HEADER + "20,5,3g,1\n10,7,7g,2\n"
    plain, packed = tmp_path / "a.csv", tmp_path / "b.csv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    rows = (TraceRow(10, 7, "7g", 2), TraceRow(20, 5, "3g", 1))
    assert read_trace(plain, "profile").rows == rows
    assert read_trace(packed, "profile").rows == rows


def test_rows_without_gpu_or_run_time_are_left_out(tmp_path):
    """A pod without GPUs is no job here; one that never ran is counted."""
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "1,5,3g,1\n2,5,,0\n3,,1g,1\n")
    trace = read_trace(path, "profile")
    assert (len(trace.rows), trace.without_run_time) == (1, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "column arrival_s is missing"),
        ("arrival_s,duration_s\n1,2\n", "column profile is missing"),
        (HEADER + "1,x,3g,1\n", ":2: duration_s is 'x'"),
        (HEADER + "1,2,3g,1\n-1,2,3g,1\n", ":3: arrival_s is '-1'"),
        (HEADER + "1,inf,3g,1\n", ":2: duration_s is 'inf'"),
        (HEADER + "1,2,3g,1.5\n", ":2: mig_count is '1.5'"),
        (HEADER + "1,2\n", ":2: not 4 values"),
        (HEADER + "1,,3g,1\n", "no row has a duration"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    """A trace that cannot be read as it is meant is refused."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_trace(path, "profile")


def test_a_share_is_that_of_seven_slices():
    """On a GPU of four slices 3g of seven is two, and a name is itself."""
    small = next(m for m in load_models() if m.key == "a30-24gb")
    assert profile_named(model(), "3g") == "3g.20gb"
    assert profile_named(small, "3g") == "2g.12gb"
    assert profile_named(small, "7g") == "4g.24gb"
    assert profile_named(model(), "1g.5gb") == "1g.5gb"
    with pytest.raises(ConfigError, match="a variant"):
        profile_named(model(), "1g.5gb+me")
    with pytest.raises(ConfigError, match="no profile"):
        profile_named(model(), "5g.99gb")
    with pytest.raises(ConfigError, match="no share"):
        profile_named(model(), "8g")


def test_the_shipped_trace_has_its_known_size():
    """All GPU pods, with those that never ran to their end."""
    trace = read_trace(shipped_trace(), "mig_share")
    assert len(trace.rows) + trace.without_run_time == 7064
