"""Files of kept cases are looked at before anything is made of them."""

import json
from math import inf, nan

import pytest

from autoscaler.simulation.study.case_file import read_case, read_mapping
from tests.evaluations import document


@pytest.fixture
def path(tmp_path):
    return tmp_path / "case.json"


def test_a_case_that_is_whole_is_read_as_it_is(path):
    """What is not looked at stays; infinite ratios have no number."""
    whole = document(0.9, None) | {"code": "c", "load": 0.5}
    path.write_text(json.dumps(whole))
    assert read_case(path) == whole


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 200_000, '{"a":' * 200_000, "\xff", "9" * 5000, '{"a": 1e999}']
)
def test_what_is_no_json_object_is_no_case(path, text):
    """Whatever it is nested or made of."""
    path.write_bytes(text.encode("latin-1"))
    assert (read_case(path), read_mapping(path)) == (None, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [("gpus", inf), ("gpus", 0), ("gpus", 10**400), ("case", 5), ("model", None), ("runs", [])],
)
def test_a_case_with_a_wrong_value_is_not_whole(path, key, value):
    """It is made anew, as one that was half written."""
    path.write_text(json.dumps(document(0.9) | {key: value}))
    assert read_case(path) is None


@pytest.mark.parametrize("key", [key for key in document(0.9)["runs"][0] if key[0] != "v"])
def test_a_run_without_a_figure_that_is_shown_is_not_whole(path, key):
    """Only the comparison with the tuned mix need not be there."""
    found = document(0.9)
    del found["runs"][0][key]
    path.write_text(json.dumps(found))
    assert read_case(path) is None


@pytest.mark.parametrize("ratio", [-0.5, nan, inf, "0.9"])
def test_a_ratio_that_is_none_makes_a_case_not_whole(path, ratio):
    """Means are made of their logarithms."""
    path.write_text(json.dumps(document(ratio)))
    assert read_case(path) is None
