"""Merge patch and JSON patch."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.simulation.apiserver.patches import apply_operations, copy_object, merge
from autoscaler.simulation.apiserver.status import StatusError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(max_size=3), json_values, max_size=4)


def rfc_7386(target: object, patch: object) -> object:
    """Return what the pseudo code of the standard returns."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7386(result.get(name), value)
    return result


@given(json_objects, json_objects)
def test_merge_follows_the_standard_and_leaves_its_input_alone(target, patch):
    """The same as the pseudo code of RFC 7386; neither argument is changed."""
    before = deepcopy((target, patch))
    assert merge(target, patch) == rfc_7386(target, patch)
    assert (target, patch) == before


@given(json_objects)
def test_a_copy_is_equal_and_shares_nothing(item):
    """Changing the copy deep inside leaves the original."""
    before = deepcopy(item)
    copied = copy_object(item)
    assert copied == item
    for value in copied.values():
        if isinstance(value, list | dict):
            value.clear()
    assert item == before


def test_a_merged_patch_can_be_changed_afterwards() -> None:
    """What is stored shares nothing with what the caller still holds."""
    patch = {"a": {"b": [1]}}
    merged = merge({}, patch)
    patch["a"]["b"].append(2)
    assert merged == {"a": {"b": [1]}}


DOCUMENT = {"labels": {"a/b": "1", "m~n": "2"}, "list": ["x", "y"]}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/new", "value": 1}, {**DOCUMENT, "new": 1}),
        ({"op": "add", "path": "/list/1", "value": "z"}, {**DOCUMENT, "list": ["x", "z", "y"]}),
        ({"op": "add", "path": "/list/-", "value": "z"}, {**DOCUMENT, "list": ["x", "y", "z"]}),
        ({"op": "remove", "path": "/list/0"}, {**DOCUMENT, "list": ["y"]}),
        (
            {"op": "remove", "path": "/labels/a~1b"},
            {**DOCUMENT, "labels": {"m~n": "2"}},
        ),
        (
            {"op": "replace", "path": "/labels/m~0n", "value": "3"},
            {**DOCUMENT, "labels": {"a/b": "1", "m~n": "3"}},
        ),
        ({"op": "test", "path": "/list/1", "value": "y"}, DOCUMENT),
        ({"op": "copy", "from": "/list/0", "path": "/c"}, {**DOCUMENT, "c": "x"}),
        (
            {"op": "move", "from": "/list", "path": "/moved"},
            {"labels": DOCUMENT["labels"], "moved": ["x", "y"]},
        ),
    ],
)
def test_each_operation(operation, expected) -> None:
    """One operation at a time, on a document that stays as it was."""
    before = deepcopy(DOCUMENT)
    assert apply_operations(DOCUMENT, [operation]) == expected
    assert before == DOCUMENT


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ({"op": "test", "path": "/list/1", "value": "other"}, 422),
        ({"op": "test", "path": "/absent", "value": None}, 422),
        ({"op": "remove", "path": "/absent"}, 422),
        ({"op": "replace", "path": "/absent", "value": 1}, 422),
        ({"op": "add", "path": "/list/3", "value": 1}, 422),
        ({"op": "add", "path": "/list/x", "value": 1}, 422),
        ({"op": "remove", "path": ""}, 422),
        ({"op": "add", "path": "/absent/deeper", "value": 1}, 422),
        ({"op": "add", "path": "nowhere", "value": 1}, 400),
        ({"op": "add", "path": "/a"}, 400),
        ({"op": "shuffle", "path": "/a"}, 400),
    ],
)
def test_operations_that_do_not_fit_are_refused(operation, code) -> None:
    """422 where the document says no, 400 where the patch is malformed."""
    with pytest.raises(StatusError) as refused:
        apply_operations(DOCUMENT, [operation])
    assert refused.value.code == code


def test_a_failing_test_undoes_the_operations_before_it() -> None:
    """All or nothing."""
    operations = [
        {"op": "remove", "path": "/labels"},
        {"op": "test", "path": "/list/0", "value": "no"},
    ]
    with pytest.raises(StatusError):
        apply_operations(DOCUMENT, operations)
    assert "labels" in DOCUMENT
