"""Reading traces, ours and those of users."""

import gzip

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import load_models
from autoscaler.simulation.study.trace_file import (
    TraceRow,
    profile_named,
    profiles_of,
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


def test_a_column_says_who_goes_first(tmp_path):
    """0 where it is empty, and the same for all where there is none."""
    path = tmp_path / "a.csv"
    path.write_text("arrival_s,duration_s,profile,priority\n0,5,3g,100\n1,5,3g,\n2,5,1g,-7\n")
    assert [row.priority for row in read_trace(path, "profile").rows] == [100, 0, -7]


def test_rows_without_gpu_or_run_time_are_left_out(tmp_path):
    """A pod without GPUs is no job here; of one that never ran people are told."""
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "1,5,3g,1\n2,5,,0\n3,,1g,1\n")
    trace = read_trace(path, "profile")
    assert len(trace.rows) == 1
    assert trace.notices == ("a.csv: 1 jobs have no duration and are left out",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column arrival_s"),
        ("arrival_s,duration_s\n1,2\n", "no column profile"),
        (HEADER + "1,x,3g,1\n", ":2: duration_s = 'x'"),
        (HEADER + "1,2,3g,1\n-1,2,3g,1\n", ":3: arrival_s = '-1'"),
        (HEADER + "1,inf,3g,1\n", ":2: duration_s = 'inf'"),
        (HEADER + "1,2,3g,1.5\n", ":2: mig_count = '1.5'"),
        (HEADER[:-1] + ",Priority\n1,2,3g,1,5\n", ":1: column 'Priority': write 'priority'"),
        (HEADER.replace("mig", " mig") + "1,2,3g,1\n", ":1: column ' mig_count': write"),
        (HEADER[:-1] + ",priority\n1,2,3g,1,high\n", ":2: priority = 'high'"),
        (HEADER[:-1] + ",priority\n1,2,3g,1,1.5\n", ":2: priority = '1.5'"),
        (HEADER[:-1] + ",priority\n1,2,3g,1,2e9\n", ":2: priority = '2e9': not from -1"),
        (HEADER + "1,2\n", ":2: has another number of fields"),
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


def by_key(key):
    return next(m for m in load_models() if m.key == key)


@pytest.mark.parametrize(
    ("key", "profiles"),
    [
        # Seven slices: each share has a profile of its own.
        ("h100-80gb", ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")),
        ("h200-141gb", ("1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb")),
        # Four slices: 2/7 and 3/7 are more than a quarter and no more than a half.
        ("a30-24gb", ("1g.6gb", "2g.12gb", "2g.12gb", "4g.24gb", "4g.24gb")),
        (
            "rtx-pro-6000-blackwell-96gb",
            ("1g.24gb", "2g.48gb", "2g.48gb", "4g.96gb", "4g.96gb"),
        ),
        # Two slices: 3/7 is the last share that half a GPU holds.
        (
            "rtx-pro-4500-blackwell-32gb",
            ("1g.16gb", "1g.16gb", "1g.16gb", "2g.32gb", "2g.32gb"),
        ),
    ],
)
def test_shares_become_profiles_of_each_model(key, profiles):
    """The smallest profile that is no smaller a share of the GPU."""
    shares = ("1g", "2g", "3g", "4g", "7g")
    assert tuple(profile_named(by_key(key), share) for share in shares) == profiles


def test_a_share_becomes_the_smallest_profile_that_is_no_smaller():
    """Of every model of the table, for every share."""
    for own in load_models():
        for slices in range(1, 8):
            found = own.require([profile_named(own, f"{slices}g")])[0]
            assert found.compute_slices / own.compute_slices >= slices / 7
            smaller = [
                p
                for p in own.profiles
                if p.is_plain and slices / 7 <= p.compute_slices / own.compute_slices
            ]
            assert found.compute_slices == min(p.compute_slices for p in smaller)


def test_a_name_of_another_model_is_its_share():
    """A half of an A100 is a half of an H100; of an A30 it is the quarter's double."""
    assert profile_named(by_key("h100-80gb"), "3g.20gb") == "3g.40gb"
    assert profile_named(by_key("a30-24gb"), "7g.80gb") == "4g.24gb"
    assert profile_named(model(), "1g.6gb") == "2g.10gb"
    with pytest.raises(ConfigError, match=r"1g\.24gb is 1 of 2 or 1 of 4 or 1 of 7 slices"):
        profile_named(model(), "1g.24gb")


def test_a_profile_that_no_gpu_has_is_named_with_its_line(tmp_path):
    """The first line that has it."""
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "1,2,3g,1\n1,2,9x,1\n2,2,9x,1\n")
    with pytest.raises(ConfigError, match=r"a\.csv:3: 9x is no profile"):
        profiles_of(read_trace(path, "profile"), model())


def test_the_column_of_the_profile_is_found(tmp_path):
    """Where nobody names one; a file without any is refused."""
    path = tmp_path / "a.csv"
    path.write_text("arrival_s,duration_s,mig_v100eq\n1,2,3g\n")
    assert read_trace(path, "").rows[0].profile == "3g"
    other = tmp_path / "b.csv"
    other.write_text("arrival_s,duration_s\n1,2\n")
    with pytest.raises(ConfigError, match="no column profile, mig_share, mig_v100eq or mig"):
        read_trace(other, "")


def test_the_shipped_trace_has_its_known_size():
    """All GPU pods, with those that never ran to their end."""
    trace = read_trace(shipped_trace(), "mig_share")
    (notice,) = trace.notices
    (unfinished,) = (int(word) for word in notice.split() if word.isdecimal())
    assert len(trace.rows) + unfinished == 7064
