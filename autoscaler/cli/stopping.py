"""A client of raw objects that begins nothing any more once it was told to stop.

A cycle is a row of requests, each of which leaves a state that the next leader can go
on from. So to stop within the grace period of a pod, the request that is under way is
finished and the next one is refused; the cycle takes that for an API server that went
away, and ends.
"""

import threading
from collections.abc import Iterator

from autoscaler.domain.errors import Unavailable
from autoscaler.ports import Change, Kind, ObjectClient, Page, RawObject


class StoppableClient:
    """An ``ObjectClient`` in front of another."""

    def __init__(self, inner: ObjectClient) -> None:
        self._inner = inner
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Refuse every request from now on."""
        self._stopped.set()

    def resume(self) -> None:
        """Let requests through again: the last one gives the Lease up."""
        self._stopped.clear()

    def _through(self) -> ObjectClient:
        if self._stopped.is_set():
            raise Unavailable("the process is being stopped: no new step is begun")
        return self._inner

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page:
        """Return all objects."""
        return self._through().list(kind, namespace, label_selector, field_selector)

    def get(self, kind: Kind, namespace: str | None, name: str) -> RawObject:
        """Return one object."""
        return self._through().get(kind, namespace, name)

    def create(self, kind: Kind, namespace: str | None, body: RawObject) -> RawObject:
        """Create an object."""
        return self._through().create(kind, namespace, body)

    def patch(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        body: RawObject,
        subresource: str = "",
    ) -> RawObject:
        """Apply a JSON merge patch."""
        return self._through().patch(kind, namespace, name, body, subresource)

    def delete(
        self, kind: Kind, namespace: str | None, name: str, body: RawObject | None = None
    ) -> None:
        """Delete an object."""
        self._through().delete(kind, namespace, name, body)

    def post(
        self, kind: Kind, namespace: str | None, name: str, subresource: str, body: RawObject
    ) -> RawObject:
        """Create a subresource."""
        return self._through().post(kind, namespace, name, subresource, body)

    def watch(
        self, kind: Kind, since: str, timeout_s: float, namespace: str | None = None
    ) -> Iterator[Change]:
        """Yield changes."""
        return self._through().watch(kind, since, timeout_s, namespace)
