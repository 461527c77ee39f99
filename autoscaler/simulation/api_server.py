"""A store over HTTP: a Kubernetes API on loopback for real clients and ``kubectl``."""

import json
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from autoscaler.simulation.apiserver.connection import Connection, OpenRequests
from autoscaler.simulation.store import Store

_BACKLOG = 128


class ApiServer:
    """Serves a store on loopback, one thread a connection.

    Parameters
    ----------
    store
        What is served.
    port
        Port to listen on; 0 takes a free one.
    """

    def __init__(self, store: Store, port: int = 0) -> None:
        self._store = store
        self._stopping = threading.Event()
        self._open = OpenRequests()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
        host, bound = self._listener.getsockname()
        self.url = f"http://{host}:{bound}"
        self._lines: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._acceptor = threading.Thread(target=self._accept, name="api-server", daemon=True)

    @property
    def num_open(self) -> int:
        """Requests that are being answered now; watches that run do not count."""
        return self._open.number

    def start(self) -> Self:
        """Begin to accept connections."""
        self._acceptor.start()
        return self

    def stop(self) -> None:
        """Close all connections and wait until nothing of the server runs any more."""
        self._stopping.set()
        with self._lock:
            # Shutting a line down wakes the thread that reads from it.
            for line in (self._listener, *self._lines):
                _shut_down(line)
            threads = list(self._lines.values())
        if self._acceptor.is_alive():
            self._acceptor.join()
        self._listener.close()
        for thread in threads:
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(
                target=self._serve, args=(line,), name="connection", daemon=True
            )
            with self._lock:
                if self._stopping.is_set():
                    line.close()
                    return
                self._lines[line] = thread
                thread.start()

    def _serve(self, line: socket.socket) -> None:
        try:
            Connection(line, self._store, self._stopping, self._open).serve()
        finally:
            with self._lock:
                del self._lines[line]


def _shut_down(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The other side closed it already.
        return


def write_kubeconfig(path: Path, url: str) -> None:
    """Write a kubeconfig that leads to a server without credentials."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "simulation",
        "clusters": [{"name": "simulation", "cluster": {"server": url}}],
        "users": [{"name": "anyone", "user": {}}],
        "contexts": [
            {"name": "simulation", "context": {"cluster": "simulation", "user": "anyone"}}
        ],
    }
    # JSON is YAML too.
    path.write_text(json.dumps(config, indent=2) + "\n")
