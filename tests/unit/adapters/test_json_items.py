"""JSON read one item at a time: the same values however the text is cut into pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.adapters.json_items import BrokenJson, Item, items_in

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def pieces(text: str, size: int) -> list[str]:
    """Return a text in pieces of a size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@given(st.lists(VALUES, max_size=4), st.integers(1, 20), st.sampled_from([None, 2]))
def test_items_are_the_same_in_pieces(
    values: list[object], size: int, indent: int | None
) -> None:
    """Numbers, escapes and words that go on in the next piece too."""
    text = json.dumps({"items": values, "kind": "List"}, indent=indent) + "\n17 "
    found = [item.value for item in items_in(iter(pieces(text, size)))]
    plain = [value for value in values if not isinstance(value, dict)]
    late = [value for value in values if isinstance(value, dict)]
    # What has no kind waits for that of its list.
    assert sorted(map(repr, found)) == sorted(map(repr, [*plain, *late, 17]))


@given(st.integers(1, 60), st.integers(1, 9))
def test_a_text_cut_anywhere_is_broken_at_its_end(length: int, size: int) -> None:
    """Never fewer items without a word."""
    text = '{"kind": "List", "items": [{"a": "b"}, {"c": [1, 2.5, true]}]}'
    cut = text[:length]
    with pytest.raises(BrokenJson):
        list(items_in(iter(pieces(cut, size))))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_errors_have_their_place_in_the_whole_text(size: int) -> None:
    """Line and column count from the start of the file, not of the piece."""
    text = '{"kind": "List",\n "items": [\n  {"a": 1},\n  {"b" 2}\n]}'
    with pytest.raises(BrokenJson) as caught:
        list(items_in(iter(pieces(text, size))))
    assert (caught.value.line, caught.value.column) == (4, 8)


def test_items_know_the_head_of_their_list() -> None:
    """What is known of it by then; a single object has none."""
    text = '{"kind": "PodList", "items": [{"a": 1}]} {"kind": "Node"}'
    first, second = items_in(iter([text]))
    assert first == Item({"a": 1}, {"kind": "PodList"})
    assert second == Item({"kind": "Node"})
