"""CSV files of users."""

import gzip

import pytest

from autoscaler.adapters.csv_file import read_csv
from autoscaler.domain.errors import ConfigError


def write(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    return path


def test_rows_come_with_the_line_they_end_on(tmp_path):
    """A field in quotes may hold a line end; a mark of byte order is no part of a name."""
    path = write(tmp_path, b'\xef\xbb\xbfa,b\n1,"x\ny"\n2,z\n')
    file = read_csv(path)
    assert file.columns == ("a", "b")
    assert list(file.rows()) == [(3, {"a": "1", "b": "x\ny"}), (4, {"a": "2", "b": "z"})]


def test_a_packed_file_is_unpacked(tmp_path):
    """Whatever its name."""
    assert read_csv(write(tmp_path, gzip.compress(b"a\n7\n"))).columns == ("a",)


def test_a_field_is_a_number_or_empty(tmp_path):
    """Empty is not zero."""
    file = read_csv(write(tmp_path, b"a,b\n1.5,\n2,x\n"))
    (first, one), (second, two) = file.rows()
    assert file.number(first, one, "a") == 1.5
    assert file.number(first, one, "b") is None
    assert file.whole(second, two, "a") == 2
    with pytest.raises(ConfigError, match=r"a\.csv:2: a = '1\.5': not a whole number"):
        file.whole(first, one, "a")
    with pytest.raises(ConfigError, match=r"a\.csv:3: b = 'x': not a number"):
        file.number(second, two, "b")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,a\n", ":1: column a is there twice"),
        (b"a\n\xff\n", "is not UTF-8"),
        (gzip.compress(b"a\n1\n", mtime=0)[:-9], "cannot be read"),
        (gzip.compress(b"a\n1\n", mtime=0)[:12] + b"\xff" * 20, "cannot be read"),
        (b'a\n"1\n', ":2: is not CSV: unexpected end of data"),
        (b'a\n1\n\n"2\n3\n', ":4: is not CSV: unexpected end of data"),
        (b"a\n" + b"1" * 200_000, ":2: is not CSV: field larger than field limit"),
        (b'"a\n', ":1: is not CSV"),
        (b"a,b\n1,2\n\n\n1\n", ":5: has another number of fields than line 1"),
        (b"a,b\n1\n", ":2: has another number of fields than line 1"),
    ],
)
def test_what_is_no_csv_is_refused(tmp_path, content, words):
    """With the line where there is one."""
    with pytest.raises(ConfigError, match=words):
        list(read_csv(write(tmp_path, content)).rows())


def test_a_file_that_is_not_there_is_named(tmp_path):
    """And why it cannot be read."""
    with pytest.raises(ConfigError, match=r"none\.csv: cannot be read"):
        read_csv(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"a;b", "columns: a;b; fields are set apart by commas, not ';'"),
        (b"a\tb", r"fields are set apart by commas, not '\t'"),
        (b"a,b", "columns: a, b"),
        (b"a", "columns: a"),
    ],
)
def test_other_separators_are_named(tmp_path, header, words):
    """Spreadsheets write semicolons in some countries."""
    message = str(read_csv(write(tmp_path, header + b"\n")).lacks("x"))
    assert message.endswith(words)
