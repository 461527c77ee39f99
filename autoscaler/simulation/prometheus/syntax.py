"""Syntax tree of the part of PromQL that is answered."""

import re
from dataclasses import dataclass, field
from enum import StrEnum


class QueryError(Exception):
    """A query that cannot be answered; ``kind`` is Prometheus' error type."""

    def __init__(self, message: str, kind: str = "bad_data") -> None:
        super().__init__(message)
        self.kind = kind


class MatchOperator(StrEnum):
    """How a label is compared."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LIKE = "=~"
    NOT_LIKE = "!~"


@dataclass(frozen=True, slots=True)
class Matcher:
    """One label matcher; an absent label is the empty text."""

    label: str
    operator: MatchOperator
    value: str
    pattern: re.Pattern[str] | None = field(default=None, compare=False)

    def accepts(self, text: str) -> bool:
        """Say whether a label value matches."""
        if self.pattern is None:
            return (text == self.value) is (self.operator is MatchOperator.EQUAL)
        found = self.pattern.fullmatch(text) is not None
        return found is (self.operator is MatchOperator.LIKE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """Series by name and labels; with ``range_s`` their samples of that time."""

    name: str
    matchers: tuple[Matcher, ...] = ()
    range_s: float | None = None
    offset_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """A function call."""

    function: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``sum by (a) (x)``; ``without`` turns the labels round."""

    operator: str
    body: "Node"
    labels: tuple[str, ...] = ()
    without: bool = False


@dataclass(frozen=True, slots=True)
class Matching:
    """How the elements of two vectors are matched.

    Parameters
    ----------
    labels
        Labels to compare (``on``), or to leave out (``ignoring``).
    on
        Which of the two.
    group
        ``left`` or ``right`` where that side may have several; empty for one to one.
    include
        Labels taken over from the other side.
    """

    labels: tuple[str, ...] = ()
    on: bool = False
    group: str = ""
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binary:
    """Two expressions and an operator."""

    operator: str
    left: "Node"
    right: "Node"
    as_bool: bool = False
    matching: Matching = Matching()


@dataclass(frozen=True, slots=True)
class Negation:
    """A minus before an expression."""

    body: "Node"


Node = Number | Text | Selector | Call | Aggregate | Binary | Negation
