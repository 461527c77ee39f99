"""One connection of a client: requests in, replies and streams out, faults in between."""

import select
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from autoscaler.ports import Change, RawObject
from autoscaler.simulation.apiserver.answers import Answer, Stream, answer
from autoscaler.simulation.apiserver.exchange import (
    HttpRequest,
    Reply,
    chunk,
    encode,
    error_reply,
    head,
    read_request,
)
from autoscaler.simulation.apiserver.faults import Break, BrokenConnection, Point
from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.store import Store

# How often a silent stream looks whether its client is still there.
_LOOK_S = 0.25
_BOOKMARK_S = 60.0
_STREAM_HEADERS = {
    "Content-Type": "application/json",
    "Transfer-Encoding": "chunked",
    "Cache-Control": "no-cache, private",
}


class Cut(Exception):
    """The connection is to fail, perhaps in the middle of a reply."""

    def __init__(self, how: Break, reply: Reply | None) -> None:
        super().__init__(how.value)
        self.how = how
        self.reply = reply


class OpenRequests:
    """Counts the requests that are being answered; streams that run are none."""

    def __init__(self) -> None:
        self._number = 0
        self._lock = threading.Lock()

    @property
    def number(self) -> int:
        """How many there are now."""
        return self._number

    def __enter__(self) -> None:
        self._add(1)

    def __exit__(self, *error: object) -> None:
        self._add(-1)

    def _add(self, number: int) -> None:
        with self._lock:
            self._number += number


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection that is being served until its client or the server ends it."""

    line: socket.socket
    store: Store
    stopping: threading.Event
    open: OpenRequests

    def serve(self) -> None:
        """Answer one request after the other."""
        with self.line, self.line.makefile("rb") as incoming:
            try:
                while not self.stopping.is_set():
                    try:
                        request = read_request(incoming)
                    except StatusError as error:
                        self.line.sendall(error_reply(error).as_bytes(keep_open=False))
                        return
                    if request is None or not self._attend(request):
                        return
            except OSError:
                # The client went away, or the server closes the line to stop.
                return

    def _attend(self, http: HttpRequest) -> bool:
        """Answer a request; say whether the connection may be used again."""
        try:
            with self.open:
                stream = self._reply(http)
        except Cut as cut:
            self._break(cut.how, cut.reply)
            return False
        if stream is None:
            return http.keeps_open
        self._send_stream(stream)
        return True

    def _reply(self, http: HttpRequest) -> Stream | None:
        """Send the reply to a request; return the stream instead, where it is one."""
        reply: Reply | None = None
        try:
            answered = answer(self.store, http)
            if isinstance(answered, Answer):
                reply = answered.reply
            if answered.request:
                self.store.faults.consult(Point.BEFORE_REPLY, answered.request)
        except StatusError as error:
            reply = error_reply(error)
        except BrokenConnection as error:
            raise Cut(error.how, reply) from error
        if reply is not None:
            self.line.sendall(reply.as_bytes(keep_open=http.keeps_open))
            return None
        return answered if isinstance(answered, Stream) else None

    def _break(self, how: Break, reply: Reply | None) -> None:
        """Let the connection fail; the caller closes it."""
        if how is Break.HANG:
            while not self._is_client_gone() and not self.stopping.wait(_LOOK_S):
                continue
        elif how is Break.TRUNCATE:
            whole = reply.as_bytes(keep_open=False) if reply else head(200, _STREAM_HEADERS)
            cut = len(reply.content) // 2 + 1 if reply else 0
            self.line.sendall(whole[: len(whole) - cut])

    def _send_stream(self, stream: Stream) -> None:
        self.line.sendall(head(200, _STREAM_HEADERS))
        if stream.watch is None:
            self._send_events([{"type": "ERROR", "object": stream.error}])
        else:
            self._follow(stream)
        self.line.sendall(chunk(b""))

    def _follow(self, stream: Stream) -> None:
        """Send the changes of a watch until its time is up or nobody listens."""
        watch, started_s = stream.watch, time.monotonic()
        if watch is None:
            return
        marked_s = started_s
        while not self.stopping.is_set():
            now_s = time.monotonic()
            left_s = started_s + stream.timeout_s - now_s
            try:
                changes = watch.take(max(0.0, min(left_s, _LOOK_S)))
            except StatusError as error:
                self._send_events([{"type": "ERROR", "object": error.as_json()}])
                return
            ends = left_s <= 0
            if stream.request.query.bookmarks and (ends or now_s - marked_s > _BOOKMARK_S):
                changes, marked_s = [*changes, watch.bookmark()], now_s
            self._send_changes(stream, changes)
            if ends or (not changes and self._is_client_gone()):
                return

    def _send_changes(self, stream: Stream, changes: Sequence[Change]) -> None:
        self._send_events([stream.renderer.render_change(change) for change in changes])

    def _send_events(self, events: Sequence[RawObject]) -> None:
        if events:
            lines = b"".join(encode(event) + b"\n" for event in events)
            self.line.sendall(chunk(lines))

    def _is_client_gone(self) -> bool:
        readable, _, _ = select.select([self.line], [], [], 0)
        return bool(readable) and not self.line.recv(1, socket.MSG_PEEK)
