"""A server in a thread of its own, so that pages answer while a cycle is under way."""

import socket
import threading

import uvicorn
from starlette.applications import Starlette

from autoscaler.domain.errors import Unavailable

START_S = 10.0
STOP_S = 5


class Server:
    """Serves an application until it is stopped.

    Raises
    ------
    Unavailable
        On construction, when the address cannot be listened on.
    """

    def __init__(self, app: Starlette, host: str, port: int) -> None:
        self._socket = _listen(host, port)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=STOP_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="serving", daemon=True)

    @property
    def url(self) -> str:
        """Address to reach it at."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self) -> None:
        """Begin to answer; connections made before wait in the socket's queue."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and wait until the thread is over."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(START_S + STOP_S)
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, OverflowError, UnicodeError) as error:
        raise Unavailable(f"cannot listen on {host}:{port}: {error}") from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise Unavailable(f"cannot listen on {host}:{port}: {error}") from error
    return listener
