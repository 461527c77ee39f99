"""Reads PromQL; what is not supported is refused by name, never guessed."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from autoscaler.simulation.prometheus.syntax import (
    Aggregate,
    Binary,
    Call,
    Matcher,
    Matching,
    MatchOperator,
    Negation,
    Node,
    Number,
    QueryError,
    Selector,
    Text,
)

T = TypeVar("T")

AGGREGATIONS = frozenset({"sum", "min", "max", "avg", "count", "group"})
OTHER_AGGREGATIONS = frozenset(
    {"topk", "bottomk", "quantile", "stddev", "stdvar", "count_values", "limitk"}
)
# Binding strength, weakest first; all but the power associate to the left.
STRENGTH = {
    "or": 1,
    "and": 2,
    "unless": 2,
    **dict.fromkeys(("==", "!=", "<=", "<", ">=", ">"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
    "^": 6,
}
COMPARISONS = frozenset({"==", "!=", "<=", "<", ">=", ">"})
UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<duration>(?:\d+(?:ms|[smhdwy]))+)(?![\w.])
    |(?P<number>0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|nan)\b)
    |(?P<name>[a-zA-Z_:][\w:]*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
    |(?P<symbol>=~|!~|==|!=|<=|>=|[-+*/%^=<>(){}\[\],@])""",
    re.VERBOSE,
)
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a query; ``kind`` is empty at the end."""

    kind: str
    text: str
    at: int


def parse(query: str) -> Node:
    """Return the syntax tree of a query."""
    parser = Parser(_tokens(query))
    tree = parser.expression()
    parser.expect_end()
    return tree


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as ``5m`` or ``1h30m``."""
    tokens = _tokens(text)
    if len(tokens) != 2 or tokens[0].kind != "duration":
        raise QueryError(f"cannot parse {text!r} to a valid duration")
    return _number(text)


class Parser:
    """A recursive descent over the words of one query."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    def expression(self, strength: int = 0) -> Node:
        """Read an expression whose operators bind more strongly than ``strength``."""
        left = self._unary()
        while (found := STRENGTH.get(self._ahead.text, 0)) > strength:
            if self._ahead.kind not in {"symbol", "name"}:
                break
            operator = self._take().text
            as_bool = operator in COMPARISONS and self._accept("bool")
            matching = self._matching()
            right = self.expression(found - 1 if operator == "^" else found)
            left = Binary(operator, left, right, as_bool, matching)
        return left

    def expect_end(self) -> None:
        """Fail when something is left."""
        if self._ahead.kind:
            raise self._error("unexpected")

    @property
    def _ahead(self) -> Token:
        return self._tokens[self._index]

    def _unary(self) -> Node:
        if self._accept("-"):
            return Negation(self.expression(STRENGTH["*"]))
        self._accept("+")
        return self._suffixed(self._primary())

    def _primary(self) -> Node:
        token = self._take()
        if token.kind in {"number", "duration"}:
            return Number(_number(token.text))
        if token.kind == "text":
            return Text(_unquoted(token.text))
        if token.text == "(":
            body = self.expression()
            self._expect(")")
            return body
        if token.text == "{":
            return self._selector("")
        if token.kind == "name":
            return self._named(token)
        raise self._error("unexpected", token)

    def _named(self, token: Token) -> Node:
        name = token.text
        if name in OTHER_AGGREGATIONS:
            raise QueryError(f"aggregation {name} is not supported here")
        if name in AGGREGATIONS and self._ahead.text in {"(", "by", "without"}:
            return self._aggregate(name)
        if self._ahead.text == "(":
            return Call(name, self._list(self.expression))
        return self._selector(name) if self._accept("{") else Selector(name)

    def _aggregate(self, operator: str) -> Node:
        grouping = self._grouping()
        arguments = self._list(self.expression)
        if len(arguments) != 1:
            raise QueryError(f"wrong number of arguments for {operator}")
        without, labels = grouping or self._grouping() or (False, ())
        return Aggregate(operator, arguments[0], labels, without)

    def _grouping(self) -> tuple[bool, tuple[str, ...]] | None:
        for word in ("by", "without"):
            if self._accept(word):
                return word == "without", self._labels()
        return None

    def _matching(self) -> Matching:
        matching = Matching()
        for word in ("on", "ignoring"):
            if self._accept(word):
                matching = Matching(self._labels(), on=word == "on")
        for word in ("group_left", "group_right"):
            if self._accept(word):
                include = self._labels() if self._ahead.text == "(" else ()
                side = word.removeprefix("group_")
                matching = replace(matching, group=side, include=include)
        return matching

    def _labels(self) -> tuple[str, ...]:
        return self._list(self._label)

    def _label(self) -> str:
        if self._ahead.kind != "name":
            raise self._error("expected a label name, got")
        return self._take().text

    def _list(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Read items between parentheses, with commas between them."""
        self._expect("(")
        items: list[T] = []
        while not self._accept(")"):
            if items:
                self._expect(",")
            items.append(item())
        return tuple(items)

    def _selector(self, name: str) -> Selector:
        """Read matchers up to the closing brace."""
        matchers: list[Matcher] = []
        while not self._accept("}"):
            if matchers:
                self._expect(",")
                if self._accept("}"):
                    break
            matchers.append(self._matcher())
        for matcher in matchers:
            if matcher.label == "__name__" and matcher.operator is MatchOperator.EQUAL:
                name = matcher.value
        if not name and all(matcher.accepts("") for matcher in matchers):
            raise QueryError("vector selector must contain at least one non-empty matcher")
        return Selector(name, tuple(m for m in matchers if m.label != "__name__" or not name))

    def _matcher(self) -> Matcher:
        label = self._label()
        token = self._take()
        if token.text not in {"=", "!=", "=~", "!~"}:
            raise self._error("expected a label matching operator, got", token)
        operator = MatchOperator(token.text)
        value = self._take()
        if value.kind != "text":
            raise self._error("expected a string, got", value)
        text = _unquoted(value.text)
        is_pattern = operator in {MatchOperator.LIKE, MatchOperator.NOT_LIKE}
        return Matcher(label, operator, text, _compiled(text) if is_pattern else None)

    def _suffixed(self, body: Node) -> Node:
        """Read a range and an offset behind a selector."""
        if self._accept("["):
            range_s = self._duration()
            self._expect("]")
            if not isinstance(body, Selector):
                raise QueryError("ranges only allowed for vector selectors")
            body = replace(body, range_s=range_s)
        if self._accept("offset"):
            if not isinstance(body, Selector):
                raise QueryError("offset modifier only allowed for selectors")
            sign = -1 if self._accept("-") else 1
            body = replace(body, offset_s=sign * self._duration())
        if self._ahead.text == "@":
            raise QueryError("the @ modifier is not supported here")
        return body

    def _duration(self) -> float:
        token = self._take()
        if token.kind not in {"duration", "number"}:
            raise self._error("expected a duration, got", token)
        return _number(token.text)

    def _take(self) -> Token:
        token = self._tokens[self._index]
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def _accept(self, text: str) -> bool:
        token = self._ahead
        if token.text != text or token.kind == "text":
            return False
        self._take()
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"expected {text!r}, got")

    def _error(self, what: str, token: Token | None = None) -> QueryError:
        token = token or self._ahead
        found = repr(token.text) if token.kind else "end of input"
        return QueryError(f"1:{token.at + 1}: parse error: {what} {found}")


def _tokens(query: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(query):
        found = _TOKEN.match(query, at)
        if found is None:
            raise QueryError(f"1:{at + 1}: parse error: unexpected character {query[at]!r}")
        if found.lastgroup != "space":
            tokens.append(Token(found.lastgroup or "", found.group(), at))
        at = found.end()
    return [*tokens, Token("", "", len(query))]


def _number(text: str) -> float:
    if text.lower().startswith("0x"):
        return float(int(text, 16))
    try:
        return float(text)
    except ValueError:
        parts = _DURATION_PART.findall(text)
        return float(sum(int(number) * UNITS_S[unit] for number, unit in parts))


def _unquoted(text: str) -> str:
    body = text[1:-1]
    if text[0] == "`":
        return body
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), body)


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise QueryError(f"error parsing regexp: {error}: {text}") from error
