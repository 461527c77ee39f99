"""Reads JSON one list item at a time.

A dump of a large cluster is a hundred MB of text and several times that as a tree,
and all but a little of it is thrown away. So neither is ever in memory as a whole: a
list's items are handed out as they are read. Several values after each other are read
too, because people append one dump to another.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from autoscaler.ports import RawObject

DECODER = json.JSONDecoder()
SPACES = frozenset(" \t\r\n")
# An error this close to the end of what has been read may be due to the end itself: a
# number, a word or an escape that goes on.
NEAR_END = 16


class BrokenJson(Exception):
    """The text is no JSON, or ends too early."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Item:
    """A value; ``head`` holds the fields of the list around it, ``None`` outside one."""

    value: object
    head: RawObject | None = None


@dataclass(slots=True)
class Cursor:
    """A position in a text that arrives in pieces; ``text`` is what is still of use."""

    chunks: Iterator[str]
    text: str = ""
    position: int = 0
    line: int = 1
    column: int = 1

    def peek(self) -> str:
        """Return the next character that is no space, empty at the end."""
        while True:
            text, position = self.text, self.position
            while text[position : position + 1] in SPACES:
                position += 1
            self.position = position
            if position < len(text) or not self._read_on():
                return self.text[self.position : self.position + 1]

    def take(self, wanted: str) -> bool:
        """Step over a character, if it is the next one."""
        if self.peek() != wanted:
            return False
        self.position += 1
        return True

    def expect(self, wanted: str) -> None:
        """Step over a character that must be there."""
        if not self.take(wanted):
            raise self._broken(f"{wanted!r} is expected", self.position)

    def value(self) -> object:
        """Return the value that starts here, and step over it."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.position)
            except json.JSONDecodeError as error:
                if self._may_go_on(error) and self._read_on():
                    continue
                raise self._broken(error.msg, error.pos) from error
            # A number near the end of the piece may go on in the next one.
            if self._is_near_end(end) and isinstance(value, int | float) and self._read_on():
                continue
            self.position = end
            return value

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or self._is_near_end(error.pos)

    def _is_near_end(self, position: int) -> bool:
        return position > len(self.text) - NEAR_END

    def _read_on(self) -> bool:
        """Replace what has been used by the next piece; False at the end."""
        chunk = next(self.chunks, None)
        if chunk is None:
            return False
        self.line, self.column = self._place(self.position)
        self.text = self.text[self.position :] + chunk
        self.position = 0
        return True

    def _place(self, position: int) -> tuple[int, int]:
        newlines = self.text.count("\n", 0, position)
        if not newlines:
            return self.line, self.column + position
        return self.line + newlines, position - self.text.rfind("\n", 0, position)

    def _broken(self, message: str, position: int) -> BrokenJson:
        line, column = self._place(position)
        # A text without an end takes all that follows it.
        if message.startswith("Unterminated") or not self._has_more(position):
            return BrokenJson("the JSON is cut off here", line, column)
        return BrokenJson(f"not JSON: {message}", line, column)

    def _has_more(self, position: int) -> bool:
        return bool(self.text[position:].strip()) or self._read_on()


def items_in(chunks: Iterator[str]) -> Iterator[Item]:
    """Yield each value of a text, and each item where a value is a list of objects.

    Raises
    ------
    BrokenJson
        With the position, when the text is no JSON or is cut off.
    """
    cursor = Cursor(chunks)
    while cursor.peek():
        if cursor.take("{"):
            yield from _fields(cursor)
        else:
            yield Item(cursor.value())


def _fields(cursor: Cursor) -> Iterator[Item]:
    head: RawObject = {}
    # Items without a kind, whose list states its own only after them.
    waiting: list[object] = []
    is_list = False
    while not cursor.take("}"):
        if head or is_list:
            cursor.expect(",")
        key = cursor.value()
        cursor.expect(":")
        if key == "items" and cursor.take("["):
            is_list = True
            for value in _elements(cursor):
                if isinstance(value, dict) and "kind" not in value and "kind" not in head:
                    waiting.append(value)
                else:
                    yield Item(value, head)
        else:
            head[str(key)] = cursor.value()
    yield from (Item(value, head) for value in waiting)
    if not is_list:
        yield Item(head)


def _elements(cursor: Cursor) -> Iterator[object]:
    if cursor.take("]"):
        return
    yield cursor.value()
    while not cursor.take("]"):
        cursor.expect(",")
        yield cursor.value()
