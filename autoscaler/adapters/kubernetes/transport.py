"""Requests to an API server: time-outs, deadlines and tries.

Nothing here waits without a bound: a connection, the next byte, and a call as a
whole each have a limit of their own.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import urllib3

from autoscaler.adapters.kubernetes.answers import object_in, status_code_of
from autoscaler.adapters.kubernetes.credentials import Connection
from autoscaler.domain.errors import Unavailable
from autoscaler.ports import Clock, RawObject

JSON = "application/json"
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of every call.

    Parameters
    ----------
    connect_s, silence_s
        Longest wait for a connection, and for the next byte.
    call_s
        Longest time of a call with all its tries.
    tries
        Most tries of a read; a write is tried once, because a lost answer does not
        say whether it was done.
    first_wait_s
        Wait before the second try; doubles each time.
    page_size
        Most objects of one answer.
    watch_margin_s
        How much longer than asked for a watch may last: a healthy server ends it in
        time, only a dead one is later.
    """

    connect_s: float = 5.0
    silence_s: float = 15.0
    call_s: float = 60.0
    tries: int = 3
    first_wait_s: float = 0.5
    page_size: int = 500
    watch_margin_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request; ``call`` is how messages name it."""

    call: str
    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON


@dataclass(frozen=True, slots=True)
class Transport:
    """Sends requests over one connection."""

    connection: Connection
    clock: Clock
    limits: HttpLimits
    user_agent: str

    def read(self, request: Request) -> RawObject:
        """Return an object, trying again while the server is unavailable."""
        deadline_s = self.clock.monotonic_s() + self.limits.call_s
        wait_s = self.limits.first_wait_s
        for _ in range(self.limits.tries - 1):
            try:
                return self._fetch(request, deadline_s)
            except Unavailable as error:
                wait_s = max(wait_s, error.retry_after_s or 0.0)
                if self.clock.monotonic_s() + wait_s >= deadline_s:
                    raise
            self.clock.sleep(wait_s)
            wait_s *= 2
        return self._fetch(request, deadline_s)

    def write(self, request: Request) -> RawObject:
        """Return the answer to a write, which is sent once."""
        return self._send(request, self.clock.monotonic_s() + self.limits.call_s)

    @contextmanager
    def stream(self, request: Request, silence_s: float) -> Iterator[urllib3.BaseHTTPResponse]:
        """Open a request whose answer is read as it comes."""
        with _translating(request.call):
            response = self._open(request, silence_s)
            with closing(response):
                if response.status != 200:
                    deadline_s = self.clock.monotonic_s() + self.limits.call_s
                    self._answer(request, response, deadline_s)
                yield response

    def _fetch(self, request: Request, deadline_s: float) -> RawObject:
        found = self._send(request, deadline_s)
        # A Status is what the server says in place of an object, never an object.
        code = status_code_of(found)
        if code is not None:
            raise Unavailable(f"{request.call}: {found.get('message') or code}")
        return found

    def _send(self, request: Request, deadline_s: float) -> RawObject:
        left_s = max(0.001, deadline_s - self.clock.monotonic_s())
        with _translating(request.call):
            response = self._open(request, min(self.limits.silence_s, left_s))
            with closing(response):
                return self._answer(request, response, deadline_s)

    def _open(self, request: Request, silence_s: float) -> urllib3.BaseHTTPResponse:
        headers = {
            "Accept": JSON,
            "User-Agent": self.user_agent,
            **self.connection.credentials(),
        }
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return self.connection.pool.request(
            request.method,
            self.connection.base_url + request.path,
            body=request.body,
            headers=headers,
            timeout=urllib3.Timeout(connect=self.limits.connect_s, read=silence_s),
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def _answer(
        self, request: Request, response: urllib3.BaseHTTPResponse, deadline_s: float
    ) -> RawObject:
        chunks = []
        while chunk := response.read1(CHUNK_BYTES):
            chunks.append(chunk)
            # The time-out of the socket starts anew with every byte.
            if self.clock.monotonic_s() > deadline_s:
                response.close()
                raise Unavailable(f"{request.call}: no full answer before the deadline")
        return object_in(request.call, response.status, response.headers, b"".join(chunks))


@contextmanager
def _translating(call: str) -> Iterator[None]:
    try:
        yield
    except urllib3.exceptions.NewConnectionError as error:
        cause = error.__cause__ or error.__context__ or error
        raise Unavailable(f"{call}: cannot connect to the API server: {cause}") from error
    except urllib3.exceptions.TimeoutError as error:
        raise Unavailable(f"{call}: the API server did not answer in time") from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Unavailable(f"{call}: {_describe(error)}") from error


def _describe(error: Exception) -> str:
    if isinstance(error, urllib3.exceptions.SSLError):
        return f"the secure connection failed: {error}"
    return f"the connection broke: {error}"
