"""Versioned objects in memory: what etcd and the watch cache are to an API server.

Every object that was stored is immutable from then on: a write makes a new one
that shares what did not change. So reading copies nothing, and whoever reads
must not change what was read.
"""

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from autoscaler.ports import Kind, RawObject
from autoscaler.simulation.apiserver.status import expired

# Namespace (empty for cluster-scoped kinds) and name.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """One write: what it made of an object, and what was there before."""

    version: int
    type: str
    object: RawObject
    previous: RawObject | None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return key_of(self.object)


def key_of(item: RawObject) -> Key:
    """Return namespace and name of an object."""
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Collection:
    """The objects of one kind, in the order of their keys, and their latest writes."""

    def __init__(self, history_limit: int) -> None:
        self._objects: dict[Key, RawObject] = {}
        self._keys: list[Key] = []
        self._records: list[Record] = []
        self._history_limit = history_limit
        self.compacted = 0

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def version(self) -> int:
        """The version of the latest write that is still known; 0 before any."""
        return self._records[-1].version if self._records else self.compacted

    def find(self, key: Key) -> RawObject | None:
        """Return an object, ``None`` when there is none."""
        return self._objects.get(key)

    def select(self, namespace: str = "") -> list[RawObject]:
        """Return all objects, or those of one namespace, in order."""
        if not namespace:
            return [self._objects[key] for key in self._keys]
        first = bisect_left(self._keys, (namespace, ""))
        last = bisect_left(self._keys, (namespace + "\0", ""))
        return [self._objects[key] for key in self._keys[first:last]]

    def select_at(self, version: int, namespace: str = "") -> list[RawObject]:
        """Return what ``select`` returned when ``version`` was the latest."""
        if version < self.compacted:
            raise expired(f"too old resource version: {version} ({self.compacted})")
        later = self.records_after(version)
        if not later:
            return self.select(namespace)
        objects: dict[Key, RawObject | None] = {key_of(o): o for o in self.select(namespace)}
        for record in reversed(later):
            if not namespace or record.key[0] == namespace:
                objects[record.key] = record.previous
        return [item for _, item in sorted(_present(objects).items())]

    def records_after(self, version: int) -> Sequence[Record]:
        """Return the writes after a version; 410 when some are forgotten."""
        if version < self.compacted:
            raise expired(f"too old resource version: {version} ({self.compacted})")
        if not self._records or self._records[-1].version <= version:
            return ()
        first = bisect_right(self._records, version, key=lambda record: record.version)
        return self._records[first:]

    def apply(self, record: Record) -> None:
        """Take one write."""
        key = record.key
        if record.type == "DELETED":
            del self._objects[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if key not in self._objects:
                insort(self._keys, key)
            self._objects[key] = record.object
        self._records.append(record)
        if len(self._records) > 2 * self._history_limit:
            self.compact(self._records[-self._history_limit - 1].version)

    def compact(self, version: int) -> None:
        """Forget the writes up to a version."""
        keep = bisect_right(self._records, version, key=lambda record: record.version)
        del self._records[:keep]
        self.compacted = max(self.compacted, version)

    def oldest(self, number: int) -> list[RawObject]:
        """Return the first objects in order of creation; they stay stored."""
        return list(islice(self._objects.values(), number))


def _present(objects: Mapping[Key, RawObject | None]) -> dict[Key, RawObject]:
    return {key: item for key, item in objects.items() if item is not None}


class Storage:
    """All collections, one counter of versions and one lock.

    ``changed`` is the lock of the whole server: held for every write and for
    every read that must be of one moment, and notified at each write.
    """

    def __init__(self, history_limit: int) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = 1
        self._collections: dict[Kind, Collection] = {}
        self._history_limit = history_limit

    def of(self, kind: Kind) -> Collection:
        """Return the collection of a kind."""
        collection = self._collections.get(kind)
        if collection is None:
            collection = self._collections[kind] = Collection(self._history_limit)
        return collection

    def kinds(self) -> list[Kind]:
        """Return the kinds of which something was ever stored or asked."""
        return list(self._collections)

    def put(self, kind: Kind, item: RawObject) -> RawObject:
        """Store an object under the next version; return it as stored."""
        previous = self.of(kind).find(key_of(item))
        return self._write(kind, "MODIFIED" if previous else "ADDED", item, previous)

    def remove(self, kind: Kind, item: RawObject) -> RawObject:
        """Remove an object; return it with the version of its removal."""
        previous = self.of(kind).find(key_of(item))
        return self._write(kind, "DELETED", item, previous)

    def compact(self, version: int | None = None) -> None:
        """Forget all writes up to a version (the latest by default), of every kind."""
        with self.changed:
            for collection in self._collections.values():
                collection.compact(self.version if version is None else version)

    def _write(
        self, kind: Kind, change: str, item: RawObject, previous: RawObject | None
    ) -> RawObject:
        with self.changed:
            self.version += 1
            metadata = {**item["metadata"], "resourceVersion": str(self.version)}
            stored = {**item, "metadata": metadata}
            self.of(kind).apply(Record(self.version, change, stored, previous))
            self.changed.notify_all()
        return stored
