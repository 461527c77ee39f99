"""HTTP/1.1 on a socket: one request read, one reply written.

Own code instead of a framework, because faults must reach the bytes: a reply
cut in the middle, a connection that closes or falls silent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver import protobuf
from autoscaler.simulation.apiserver.status import (
    StatusError,
    bad_request,
    unsupported_media_type,
)

JSON = "application/json"
_MAX_LINE_BYTES = 64 * 1024
_MAX_BODY_BYTES = 16 * 1024 * 1024
_MAX_HEADERS = 200


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", JSON).split(";", 1)[0].strip().lower()

    @property
    def keeps_open(self) -> bool:
        """Whether the client wants to use the connection again."""
        return self.headers.get("connection", "").lower() != "close"

    def json(self) -> object:
        """Return the body, ``None`` when there is none."""
        if not self.content:
            return None
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise bad_request(f"the body is not JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply."""

    status: int
    content: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self, *, keep_open: bool) -> bytes:
        """Return the reply as it goes over the line."""
        headers = {
            "Content-Type": self.content_type,
            "Content-Length": str(len(self.content)),
            "Cache-Control": "no-cache, private",
            "Connection": "keep-alive" if keep_open else "close",
            **self.headers,
        }
        return head(self.status, headers) + self.content


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the status line and headers of a reply."""
    lines = [f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def encode(body: object) -> bytes:
    """Return a body as compact JSON."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def json_reply(body: object, status: int = 200, content_type: str = JSON) -> Reply:
    """Return a reply with a JSON body."""
    return Reply(status, encode(body) + b"\n", content_type)


def error_reply(error: StatusError) -> Reply:
    """Return the reply for a refused request."""
    retry_after_s = error.details.retry_after_s
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else {}
    return Reply(error.code, encode(error.as_json()) + b"\n", headers=headers)


def chunk(content: bytes) -> bytes:
    """Return one piece of a chunked reply."""
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def read_request(stream: BinaryIO) -> HttpRequest | None:
    """Return the next request of a connection, ``None`` when the client is done."""
    line = _read_line(stream).strip()
    if not line:
        return None
    try:
        method, target, _ = line.split(" ", 2)
    except ValueError as error:
        raise bad_request(f"malformed request line: {line!r}") from error
    headers = _read_headers(stream)
    url = urlsplit(target)
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    content = _read_content(stream, headers)
    return HttpRequest(method.upper(), unquote(url.path), query, headers, content)


def _read_line(stream: BinaryIO) -> str:
    line = stream.readline(_MAX_LINE_BYTES + 1)
    if len(line) > _MAX_LINE_BYTES:
        raise bad_request("a line of the request is too long")
    return line.decode("latin-1")


def _read_headers(stream: BinaryIO) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(_MAX_HEADERS):
        line = _read_line(stream).strip()
        if not line:
            return headers
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise bad_request("too many headers")


def _read_content(stream: BinaryIO, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding"):
        raise StatusError(411, "", "a body must come with its length")
    if headers.get("content-encoding"):
        raise unsupported_media_type("a compressed body is not taken")
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise bad_request(f"malformed Content-Length: {length!r}")
    if int(length) > _MAX_BODY_BYTES:
        raise StatusError(413, "RequestEntityTooLarge", "limit is 16 MiB")
    return stream.read(int(length))


def body_object(request: HttpRequest) -> RawObject | None:
    """Return the body as an object, ``None`` when there is none."""
    if request.content and request.content_type == protobuf.MEDIA_TYPE:
        return protobuf.decode(request.content)
    body = request.json()
    if body is not None and not isinstance(body, dict):
        raise bad_request("the body must be a JSON object")
    return body
