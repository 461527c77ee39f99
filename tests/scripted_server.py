"""An HTTP server on loopback that answers as a test says: also late, half, or not at all."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class Way(Enum):
    """How an answer arrives."""

    WHOLE = "whole"
    HANG = "not at all"
    DROP = "connection closed"
    CUT = "half of the body"
    DRIP = "one byte at a time"
    STALL = "the body, then silence"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; a body that is no text is sent as JSON."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    way: Way = Way.WHOLE


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """Gives its replies in order, the last one again and again; or as ``choose`` says."""

    def __init__(self, *replies: Reply, choose: Callable[[Seen], Reply] | None = None) -> None:
        self.replies = list(replies)
        self.choose = choose
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.script = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def next(self, seen: Seen) -> Reply:
        """Return the answer to the next request."""
        self.seen.append(seen)
        if self.choose is not None:
            return self.choose(seen)
        return self.replies[min(len(self.seen), len(self.replies)) - 1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        script = self.server.script
        split = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(split.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        seen = Seen(
            self.command, split.path, query, dict(self.headers), self.rfile.read(length)
        )
        self._send(script.next(seen), script.stopping)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815

    def _send(self, reply: Reply, stopping: threading.Event) -> None:
        self.close_connection = reply.way is not Way.WHOLE
        if reply.way is Way.HANG:
            stopping.wait(60.0)
            return
        if reply.way is Way.DROP:
            return
        is_text = isinstance(reply.body, str)
        body = (reply.body if is_text else json.dumps(reply.body)).encode()
        self.send_response(reply.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in (headers | reply.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body, reply.way, stopping)

    def _write(self, body: bytes, way: Way, stopping: threading.Event) -> None:
        try:
            if way is Way.DRIP:
                for number in range(len(body)):
                    self.wfile.write(body[number : number + 1])
                    self.wfile.flush()
                    if stopping.wait(0.05):
                        return
            else:
                self.wfile.write(body[: len(body) // 2] if way is Way.CUT else body)
            if way is Way.STALL:
                stopping.wait(60.0)
        except OSError:
            # The client has given up, which is what the test is about.
            return

    def log_message(self, *parts: object) -> None:
        """Keep the output of the tests clean."""
