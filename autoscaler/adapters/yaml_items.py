"""Reads YAML as ``kubectl get -o yaml`` writes it, several documents in one text.

PyYAML follows YAML 1.1, where ``no`` is false, ``012`` is ten and ``22:00`` a number.
Go's writer puts quotes around what is text by its own rules, so all that stands
without quotes and is no null, true, false or plain whole number stays text here.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import yaml

from autoscaler.adapters.json_items import Item

PLAIN_TYPES = (
    ("tag:yaml.org,2002:null", re.compile(r"~|null|Null|NULL|"), ("~", "n", "N", "")),
    ("tag:yaml.org,2002:bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("tag:yaml.org,2002:int", re.compile(r"-?(0|[1-9][0-9]*)"), "-0123456789"),
)
DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
# The list as kubectl lays it out: nothing of an item but its dash is in column 1.
ITEMS = re.compile(r"^items:[ \t]*\r?\n(?=(?:#.*\n)*- )", re.MULTILINE)
ITEM = re.compile(r"^- ", re.MULTILINE)
AFTER_ITEMS = re.compile(r"^[^\s#-]", re.MULTILINE)
ANCHOR = re.compile(r"[ \t][&*][A-Za-z0-9_]")


class BrokenYaml(Exception):
    """The text is no YAML; line and column count from 1."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__("not JSON, and not YAML")
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text, and how many lines are before it."""

    text: str
    line: int


def items_in(text: str) -> Iterator[Item]:
    """Yield each document that is not empty, or the items of those that are lists.

    Lists are taken apart before they are parsed: a parser's tree of thousands of pods
    takes gigabytes, and most of the time goes into keeping track of it.

    Raises
    ------
    BrokenYaml
        With the position.
    """
    for document in _pieces(Piece(text, 0), DOCUMENT):
        if ITEMS.search(document.text) and not ANCHOR.search(document.text):
            yield from _list_items(document)
        else:
            yield from (Item(value) for value in _values(document))


def _list_items(document: Piece) -> Iterator[Item]:
    text = document.text
    start = ITEMS.search(text)
    begin = start.end() if start else 0
    after = AFTER_ITEMS.search(text, begin)
    end = after.start() if after else len(text)
    around = text[: start.start() if start else 0] + text[end:]
    heads = [value for value in _values(Piece(around, document.line)) if value is not None]
    head = heads[0] if heads and isinstance(heads[0], dict) else {}
    lines = document.line + text.count("\n", 0, begin)
    for piece in _pieces(Piece(text[begin:end], lines), ITEM):
        for value in _values(piece):
            items = value if isinstance(value, list) else [value]
            yield from (Item(item, head) for item in items)


def _pieces(whole: Piece, start: re.Pattern[str]) -> Iterator[Piece]:
    """Yield the text before the first match, if any, and what each match begins."""
    cuts = [0, *(match.start() for match in start.finditer(whole.text)), len(whole.text)]
    line = whole.line
    for begin, end in pairwise(cuts):
        text = whole.text[begin:end]
        if text.strip():
            yield Piece(text, line)
        line += text.count("\n")


def _values(piece: Piece) -> Iterator[object]:
    loader = yaml.CSafeLoader(piece.text)
    try:
        # Set on this loader only: the class is everybody's.
        loader.yaml_implicit_resolvers = RESOLVERS
        has_more: Callable[[], bool] = loader.check_data
        while has_more():
            document = loader.get_data()
            if document is not None:
                yield document
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        if mark is None:
            raise BrokenYaml(piece.line + 1, 1) from error
        raise BrokenYaml(piece.line + mark.line + 1, mark.column + 1) from error
    finally:
        loader.dispose()


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, starts in PLAIN_TYPES:
        whole = re.compile(f"^(?:{pattern.pattern})$")
        for start in starts:
            resolvers.setdefault(start, []).append((tag, whole))
    return resolvers


RESOLVERS = _resolvers()
