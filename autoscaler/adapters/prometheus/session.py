"""The HTTP session that ``prometheus-api-client`` sends its queries through.

The package builds the request and owns the connection, but its return value hides
status, warnings and result type, and its time-outs and retries multiply. It takes a
session, so it gets this one: the body is read under a deadline and kept whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from autoscaler.domain.errors import Unavailable
from autoscaler.ports import Clock

CHUNK_BYTES = 1 << 16
# More is no answer to our queries: 100,000 instances take a third of it.
LARGEST_BYTES = 1 << 28


@dataclass(slots=True)
class Reply:
    """An answer, read to its end; the attributes are those the package asks for."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> dict[str, Any]:
        """Return what the package may unpack: the body itself is judged elsewhere."""
        return {"data": {"result": []}}


@dataclass(slots=True)
class DeadlineSession:
    """A session whose calls end by ``deadline_s`` (monotonic) and stay readable."""

    clock: Clock
    deadline_s: float = 0.0
    last: Reply | None = None
    verify: bool | str = True
    cert: None = None
    inner: requests.Session = field(default_factory=requests.Session)

    def mount(self, prefix: str, adapter: requests.adapters.HTTPAdapter) -> None:
        """Use the package's adapter for a URL prefix."""
        self.inner.mount(prefix, adapter)

    # The package passes whatever requests takes; it goes on unchanged.
    def request(self, **arguments: Any) -> Reply:
        """Send a request and keep the whole answer."""
        self.last = None
        left_s = max(0.001, self.deadline_s - self.clock.monotonic_s())
        arguments["timeout"] = (left_s, left_s)
        arguments["allow_redirects"] = False
        with self.inner.request(stream=True, **arguments) as response:
            content = self._body(response)
            self.last = Reply(response.status_code, response.headers, content)
        return self.last

    def _body(self, response: requests.Response) -> bytes:
        parts, size = [], 0
        # ``read1`` returns what is there, so a server that drips bytes is noticed.
        while part := response.raw.read1(CHUNK_BYTES, decode_content=True):
            parts.append(part)
            size += len(part)
            if self.clock.monotonic_s() > self.deadline_s:
                raise Unavailable("no full answer before the deadline")
            if size > LARGEST_BYTES:
                raise Unavailable("the answer is too large")
        return b"".join(parts)

    def close(self) -> None:
        """Close all connections."""
        self.inner.close()
