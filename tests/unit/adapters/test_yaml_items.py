"""YAML lists taken apart before they are parsed: the same items, errors in their place."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.adapters.json_items import Item
from autoscaler.adapters.yaml_items import BrokenYaml, items_in

TEXTS = st.text(alphabet=" -:#&*'\"\nab0{}[]|>", max_size=20)
OBJECTS = st.dictionaries(
    st.text("ab", min_size=1, max_size=2), TEXTS | st.integers() | st.none(), max_size=3
)


def values_in(text: str) -> list[object]:
    """Return the values of all items."""
    return [item.value for item in items_in(text)]


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.booleans())
def test_items_are_what_was_written(objects: list[dict[str, Any]], indented: bool) -> None:
    """In the layout of kubectl, and in another that is parsed whole."""
    text = yaml.safe_dump({"items": objects, "kind": "List"}, sort_keys=False)
    if indented:
        text = yaml.safe_dump([{"items": objects, "kind": "List"}], sort_keys=False)[2:]
        text = "  " + text
    found = values_in(text)
    if found and isinstance(found[0], dict) and "items" in found[0]:
        found = found[0]["items"]
    assert found == objects


KUBECTL = """\
apiVersion: v1
items:
# A comment between.
- kind: A
  data: |
    - kind: no item
    items:
    ---
- kind: B
  list:
  - a
- kind: C
kind: List
metadata:
  resourceVersion: ""
---
kind: D
"""


def test_the_layout_of_kubectl_is_understood() -> None:
    """Block texts, lists inside items, keys after the list, a second document."""
    head = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}
    found = list(items_in(KUBECTL))
    assert [item.value["kind"] for item in found if isinstance(item.value, dict)] == [*"ABCD"]
    assert [item.head for item in found] == [head, head, head, None]
    assert found[1] == Item({"kind": "B", "list": ["a"]}, head)


def test_errors_have_their_place_in_the_whole_text() -> None:
    """Also in an item far down, and in a later document."""
    with pytest.raises(BrokenYaml) as caught:
        values_in(KUBECTL.replace("- kind: C", "- kind: [C"))
    assert caught.value.line in {12, 13}
    with pytest.raises(BrokenYaml) as caught:
        values_in(KUBECTL.replace("kind: D", "\tkind: D"))
    assert (caught.value.line, caught.value.column) == (17, 1)


def test_names_shared_between_items_are_resolved() -> None:
    """With anchors a list cannot be taken apart."""
    text = "items:\n- a: &x {b: 1}\n- a: *x\n"
    assert values_in(text) == [{"items": [{"a": {"b": 1}}, {"a": {"b": 1}}]}]


def test_line_ends_of_windows_are_read() -> None:
    """As an editor there saves them."""
    assert len(values_in(KUBECTL.replace("\n", "\r\n"))) == 4
