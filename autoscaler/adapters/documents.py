"""Kubernetes objects in files, as ``kubectl get -o json`` and ``-o yaml`` write them.

What a kind means is not this module's business.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from autoscaler.adapters import json_items, yaml_items
from autoscaler.adapters.json_items import BrokenJson, Item
from autoscaler.adapters.texts import chunks_of, source_of
from autoscaler.adapters.yaml_items import BrokenYaml
from autoscaler.domain.errors import ConfigError
from autoscaler.ports import RawObject


@dataclass(frozen=True, slots=True)
class Found:
    """One object; ``group`` is empty for core objects and ``None`` where not stated."""

    kind: str
    group: str | None
    raw: RawObject


def objects_in(path: str) -> Iterator[Found]:
    """Yield all objects of a file, or of standard input for ``-``.

    Raises
    ------
    ConfigError
        Names file and position of what is no Kubernetes object.
    """
    source = source_of(path)
    try:
        for number, item in enumerate(_items(chunks_of(path)), 1):
            yield _typed(item, f"{source}: object {number}")
    except (BrokenJson, BrokenYaml) as error:
        raise ConfigError(f"{source}:{error.line}:{error.column}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{source}: nested too deeply for a Kubernetes object") from error


def _items(chunks: Iterator[str]) -> Iterator[Item]:
    first = next(chunks, "")
    while not first.strip() and (more := next(chunks, "")):
        first += more
    if _is_json(first):
        found = json_items.items_in(chain((first,), chunks))
    else:
        found = yaml_items.items_in(first + "".join(chunks))
    for item in found:
        yield from _flat(item)


def _flat(item: Item) -> Iterator[Item]:
    """Yield the objects of lists inside lists, as ``jq --slurp`` makes them."""
    value = item.value
    if isinstance(value, list):
        for element in value:
            yield from _flat(Item(element))
    elif isinstance(value, dict) and isinstance(value.get("items"), list):
        head = {key: value[key] for key in value if key != "items"}
        yield from (Item(element, head) for element in value["items"])
    else:
        yield item


def _is_json(text: str) -> bool:
    start = text.lstrip()[:1]
    # An object of flow-style YAML starts with a brace too, but with a bare key.
    return start == "[" or (start == "{" and text.lstrip()[1:].lstrip()[:1] in ('"', "}", ""))


def _typed(item: Item, where: str) -> Found:
    raw, head = item.value, item.head or {}
    if not isinstance(raw, dict):
        raise ConfigError(f"{where} is not a Kubernetes object")
    # In a list of one kind the items do not repeat it.
    kind = raw.get("kind") or str(head.get("kind") or "").removesuffix("List")
    if not isinstance(kind, str) or not kind:
        raise ConfigError(f"{where} has no kind; expected the output of kubectl get")
    version = raw.get("apiVersion") or (head.get("apiVersion") if "kind" not in raw else None)
    group = None if version is None else str(version).rpartition("/")[0]
    return Found(kind, group, raw)
