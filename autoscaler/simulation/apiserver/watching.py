"""Watches: the changes after a version, as one client asked to see them."""

import time
from collections.abc import Iterator, Sequence

from autoscaler.ports import Change, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.reading import parse_version, view
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.resources import api_version_of
from autoscaler.simulation.apiserver.selectors import object_matcher
from autoscaler.simulation.apiserver.storage import Record

_INITIAL_END = "k8s.io/initial-events-end"


class Watch:
    """One watch of one client; reads on from where it last was."""

    def __init__(self, backend: Backend, request: Request) -> None:
        self._backend = backend
        self._namespace = request.namespace
        self._resource = backend.registry.of(request.kind)
        query = request.query
        self._matches = object_matcher(
            self._resource, query.label_selector, query.field_selector
        )
        self._collection = backend.storage.of(self._resource.stored)
        self._initial: list[Change] = []
        since = parse_version(query.resource_version)
        with backend.storage.changed:
            if query.initial_events or not since:
                self._initial = self._present()
                since = backend.storage.version
                if query.initial_events:
                    self._initial.append(self.bookmark(since, initial=True))
            # A version that is too old is refused now, not when the first change comes.
            self._collection.records_after(since)
        self.version = since

    def _present(self) -> list[Change]:
        items = self._collection.select(self._namespace)
        return [
            Change("ADDED", view(self._resource, item))
            for item in items
            if self._matches is None or self._matches(item)
        ]

    def take(self, timeout_s: float) -> list[Change]:
        """Return the changes since last time; waits for one up to ``timeout_s``, real time."""
        storage = self._backend.storage
        deadline_s = time.monotonic() + timeout_s
        with storage.changed:
            while not (changes := self._read()):
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return []
                storage.changed.wait(left_s)
            return changes

    def _read(self) -> list[Change]:
        initial, self._initial = self._initial, []
        records = self._collection.records_after(self.version)
        self.version = self._backend.storage.version
        return [*initial, *self._visible(records)]

    def _visible(self, records: Sequence[Record]) -> Iterator[Change]:
        for record in records:
            if self._namespace and record.key[0] != self._namespace:
                continue
            change = self._seen_as(record)
            if change:
                yield Change(change, view(self._resource, record.object))

    def _seen_as(self, record: Record) -> str | None:
        """Return how a write looks through the selectors, ``None`` when not at all."""
        if self._matches is None:
            return record.type
        before = record.previous is not None and self._matches(record.previous)
        after = record.type != "DELETED" and self._matches(record.object)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def bookmark(self, version: int | None = None, *, initial: bool = False) -> Change:
        """Return a bookmark: no change, but up to here all was sent."""
        kind = self._resource.kind
        metadata: RawObject = {"resourceVersion": str(version or self.version)}
        if initial:
            metadata["annotations"] = {_INITIAL_END: "true"}
        body = {"apiVersion": api_version_of(kind), "kind": kind.name, "metadata": metadata}
        return Change("BOOKMARK", body)
