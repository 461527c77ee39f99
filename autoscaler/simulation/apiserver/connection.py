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


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection that is being served until its client or the server ends it."""

    line: socket.socket
    store: Store
    stopping: threading.Event

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
        reply: Reply | None = None
        try:
            answered = answer(self.store, http)
            if isinstance(answered, Answer):
                reply = answered.reply
            if answered.request:
                self.store.faults.consult(Point.BEFORE_REPLY, answered.request)
            if isinstance(answered, Stream):
                return self._send_stream(answered)
        except StatusError as error:
            reply = error_reply(error)
        except BrokenConnection as error:
            self._break(error.how, reply)
            return False
        if reply is None:
            return False
        self.line.sendall(reply.as_bytes(keep_open=http.keeps_open))
        return http.keeps_open

    def _break(self, how: Break, reply: Reply | None) -> None:
        """Let the connection fail; the caller closes it."""
        if how is Break.HANG:
            while not self.stopping.is_set() and not self._is_client_gone(_LOOK_S):
                continue
        elif how is Break.TRUNCATE:
            whole = reply.as_bytes(keep_open=False) if reply else head(200, _STREAM_HEADERS)
            cut = len(reply.content) // 2 + 1 if reply else 0
            self.line.sendall(whole[: len(whole) - cut])

    def _send_stream(self, stream: Stream) -> bool:
        self.line.sendall(head(200, _STREAM_HEADERS))
        if stream.watch is None:
            self._send_events([{"type": "ERROR", "object": stream.error}])
        else:
            self._follow(stream)
        self.line.sendall(chunk(b""))
        return True

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
            if ends or (not changes and self._is_client_gone(0)):
                return

    def _send_changes(self, stream: Stream, changes: Sequence[Change]) -> None:
        self._send_events([stream.renderer.render_change(change) for change in changes])

    def _send_events(self, events: Sequence[RawObject]) -> None:
        if events:
            lines = b"".join(encode(event) + b"\n" for event in events)
            self.line.sendall(chunk(lines))

    def _is_client_gone(self, wait_s: float) -> bool:
        readable, _, _ = select.select([self.line], [], [], wait_s)
        return bool(readable) and not self.line.recv(1, socket.MSG_PEEK)
