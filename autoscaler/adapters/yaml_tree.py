"""YAML 1.2 as a tree of plain values that knows where each of them stands.

Only what configuration needs is read: mappings with text as keys, lists, text,
numbers, true, false and null. One document a file; no tags; aliases only until they
grow beyond reason. ``22:00``, ``off`` and ``2026-12-24`` stay text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.section import Path

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 40
MAX_VALUES = 10_000

INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
WORDS: dict[str, float | bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """Where something stands in a file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that reads well but must not be: where, under which keys, and why."""

    mark: Mark
    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A value with its place, the places of its keys and what is below them.

    ``size`` counts the values in it, aliases written out.
    """

    value: object
    mark: Mark
    keys: Mapping[str | int, Mark] = field(default_factory=dict)
    children: Mapping[str | int, "Tree"] = field(default_factory=dict)
    size: int = 1

    def place(self, path: Path, *, of_key: bool = False) -> Mark:
        """Return where the value (or its key) at a path stands, or what is nearest above."""
        tree, mark = self, self.mark
        for number, part in enumerate(path, 1):
            if part not in tree.children:
                return mark
            key = tree.keys.get(part)
            tree = tree.children[part]
            mark = key if key is not None and of_key and number == len(path) else tree.mark
        return mark

    def nulls(self, path: Path = ()) -> Iterator[Path]:
        """Yield the path of each value that is null."""
        if self.value is None:
            yield path
        for key, child in self.children.items():
            yield from child.nulls((*path, key))


def read_tree(text: str, source: str) -> tuple[Tree, tuple[Flaw, ...]]:
    """Return the one document of a text, and what is doubtful in it.

    ConfigError, with file, line and column, when it is not YAML that we read.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{source}: is longer than {MAX_CHARACTERS // 1024} KiB")
    reader = _Reader(_events(text, source), source)
    return reader.document(), tuple(reader.flaws)


def _events(text: str, source: str) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        problem = error.problem or error.context or "not YAML"
        raise ConfigError(f"{place}: not valid YAML: {printable(problem)}") from error
    except YAMLError as error:
        # Characters that YAML forbids have a position in the text and no line.
        at = getattr(error, "position", 0)
        line = text.count("\n", 0, at) + 1
        column = at - text.rfind("\n", 0, at)
        reason = printable(str(error).partition("\n")[0])
        raise ConfigError(f"{source}:{line}:{column}: not valid YAML: {reason}") from error


class _Reader:
    """Builds the tree from the parser's events; one use."""

    def __init__(self, events: Iterator[Event], source: str) -> None:
        self.flaws: list[Flaw] = []
        self._events = events
        self._source = source
        self._anchors: dict[str, Tree] = {}

    def document(self) -> Tree:
        """Return the only document."""
        tree = None
        for event in self._events:
            if not isinstance(event, DocumentStartEvent):
                continue
            if tree is not None:
                raise self._error(event, "a second document starts here; write one a file")
            tree = self._value(next(self._events), ())
        if tree is None:
            raise ConfigError(f"{self._source}:1:1: the file is empty")
        return tree

    def _value(self, event: Event, path: Path) -> Tree:
        if len(path) > MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            return self._alias(event)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self._error(event, f"tags like {tag} are not read")
        if isinstance(event, MappingStartEvent):
            tree = self._mapping(event, path)
        elif isinstance(event, SequenceStartEvent):
            tree = self._list(event, path)
        elif isinstance(event, ScalarEvent):
            tree = Tree(_scalar(event), _mark(event))
        else:
            raise self._error(event, "is no value")
        if tree.size > MAX_VALUES:
            raise self._error(event, f"more than {MAX_VALUES} values, aliases written out")
        if event.anchor:
            self._anchors[str(event.anchor)] = tree
        return tree

    def _alias(self, event: AliasEvent) -> Tree:
        tree = self._anchors.get(str(event.anchor))
        if tree is None:
            raise self._error(event, f"*{event.anchor} has no anchor &{event.anchor} before it")
        return tree

    def _list(self, start: Event, path: Path) -> Tree:
        children: dict[str | int, Tree] = {}
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            children[len(children)] = self._value(event, (*path, len(children)))
        values = [child.value for child in children.values()]
        size = 1 + sum(child.size for child in children.values())
        return Tree(values, _mark(start), {}, children, size)

    def _mapping(self, start: Event, path: Path) -> Tree:
        keys: dict[str | int, Mark] = {}
        children: dict[str | int, Tree] = {}
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            key = self._key(event)
            child = self._value(next(self._events), (*path, key))
            if key in children:
                first = f"is given twice, first in line {keys[key].line}"
                self.flaws.append(Flaw(_mark(event), (*path, key), first))
            else:
                keys[key], children[key] = _mark(event), child
        values = {key: child.value for key, child in children.items()}
        size = 1 + sum(child.size for child in children.values())
        return Tree(values, _mark(start), keys, children, size)

    def _key(self, event: Event) -> str:
        if not isinstance(event, ScalarEvent) or event.tag is not None:
            raise self._error(event, "a key must be plain text")
        text = str(event.value)
        if text == "<<" and event.style is None:
            raise self._error(event, "merge keys (<<) are not part of YAML 1.2")
        return text

    def _error(self, event: Event, message: str) -> ConfigError:
        mark = _mark(event)
        return ConfigError(f"{self._source}:{mark.line}:{mark.column}: {printable(message)}")


def printable(text: str) -> str:
    """Return a text on one line: what cannot be printed is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _mark(event: Event) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _scalar(event: ScalarEvent) -> object:
    text = str(event.value)
    if event.style is not None:
        return text
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else text
