"""Serves the simulated Prometheus over HTTP on loopback."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from autoscaler.simulation.prometheus.api import PrometheusApi, Reply

HEALTH = {"/-/healthy": "Prometheus Server is Healthy.\n", "/-/ready": "Ready.\n", "/": "\n"}
MAX_BODY = 1 << 20


class PrometheusServer:
    """An HTTP server around a ``PrometheusApi``; GET and POST alike.

    Parameters
    ----------
    port
        0 takes a free one.
    guard
        Called around each answer with the function that makes it, e.g. to count
        requests or to keep the simulated time still meanwhile.
    """

    def __init__(
        self,
        api: PrometheusApi,
        *,
        port: int = 0,
        guard: Callable[[Callable[[], Reply]], Reply] = lambda answer: answer(),
    ) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(api, guard))
        # Stopping waits for the answers under way.
        self._server.daemon_threads = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="prometheus", daemon=True
        )

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> Self:
        """Begin to answer, in a thread of its own."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop answering and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _handler(
    api: PrometheusApi, guard: Callable[[Callable[[], Reply]], Reply]
) -> type[BaseHTTPRequestHandler]:
    # The library hands requests to a class, so one is made around the API.
    class Handler(BaseHTTPRequestHandler):
        """One request a connection."""

        def do_GET(self) -> None:
            """Answer a query in the address."""
            self._answer("")

        def do_POST(self) -> None:
            """Answer a query in the body."""
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_BODY:
                self.send_error(413)
                return
            self._answer(self.rfile.read(length).decode("utf-8", "replace"))

        def _answer(self, form: str) -> None:
            address = urlsplit(self.path)
            if text := HEALTH.get(address.path):
                self._send(200, "text/plain", text)
                return
            parameters = parse_qs(address.query, keep_blank_values=True)
            for name, values in parse_qs(form, keep_blank_values=True).items():
                parameters.setdefault(name, []).extend(values)
            reply = guard(lambda: api.answer(address.path, parameters))
            self._send(reply.status, "application/json", json.dumps(reply.body))

        def _send(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent: the facade keeps its own log where one is wanted."""

    return Handler
