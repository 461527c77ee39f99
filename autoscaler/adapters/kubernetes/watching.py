"""The stream of a watch: one event a line."""

import json
from collections.abc import Iterator

import urllib3

from autoscaler.adapters.kubernetes.answers import error_for
from autoscaler.domain.errors import Unavailable
from autoscaler.ports import Change

CHUNK_BYTES = 1 << 16
CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


def changes_in(call: str, response: urllib3.BaseHTTPResponse) -> Iterator[Change]:
    """Yield the changes of a watch until the server ends it.

    Raises
    ------
    Conflict
        With "expired" when the version to watch from is too old: list again.
    Unavailable
        When the stream breaks, or carries anything but events.
    """
    for line in _lines(call, response):
        try:
            event = json.loads(line)
            kind, found = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"{call}: not a watch event: {line[:100]!r}") from error
        # What went wrong comes inside the stream, as a Status in place of an object.
        if kind == "ERROR" or not isinstance(found, dict) or found.get("kind") == "Status":
            status = found if isinstance(found, dict) else {}
            code = status.get("code")
            raise error_for(call, code if isinstance(code, int) else 500, {}, status)
        if kind in CHANGES:
            yield Change(kind, found)


def _lines(call: str, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    while chunk := response.read1(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())
    if rest.strip():
        raise Unavailable(f"{call}: the stream was cut off inside an event")
