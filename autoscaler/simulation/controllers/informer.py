"""Local copies of the objects a controller watches, filled by list and watch.

Several controllers share one copy of a kind; each has a feed of its own, so none
misses a change. Objects are shared too: whoever reads one must not change it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autoscaler.domain.errors import Conflict
from autoscaler.ports import Kind, ObjectClient, RawObject

# Namespace (empty for cluster-scoped kinds) and name.
Key = tuple[str, str]
KindVersion = Callable[[Kind], object]


@dataclass(frozen=True, slots=True)
class Notice:
    """One change of one object; ``old`` or ``new`` is missing at its begin or end."""

    key: Key
    old: RawObject | None
    new: RawObject | None


class Feed:
    """The changes one controller has not seen yet."""

    def __init__(self, informer: "Informer") -> None:
        self._informer = informer
        self._notices: deque[Notice] = deque()

    def put(self, notice: Notice) -> None:
        """Take a change, in the order of the watch."""
        self._notices.append(notice)

    def take(self) -> Iterator[Notice]:
        """Yield what changed since the last time, including what just happened."""
        self._informer.poll()
        while self._notices:
            yield self._notices.popleft()


class Informer:
    """All objects of one kind, as of the last poll.

    Parameters
    ----------
    version
        Returns the same for a kind as long as no object of it was written, where that
        is known: it saves the question.
    by_list
        Whether changes are found by listing, for clients whose shortest watch takes
        real time.
    """

    def __init__(
        self,
        client: ObjectClient,
        kind: Kind,
        version: KindVersion | None = None,
        *,
        by_list: bool = False,
    ) -> None:
        self.objects: dict[Key, RawObject] = {}
        self._client = client
        self._kind = kind
        self._version = ""
        self._world_version = version
        self._polled: object = None
        self._by_list = by_list
        self._feeds: list[Feed] = []

    def subscribe(self) -> Feed:
        """Return a feed that begins with all objects there are."""
        feed = Feed(self)
        for key, item in self.objects.items():
            feed.put(Notice(key, None, item))
        self._feeds.append(feed)
        return feed

    def poll(self) -> None:
        """Take in what changed; list again when the watch was forgotten."""
        if self._world_version is not None:
            present = self._world_version(self._kind)
            if present == self._polled:
                return
            self._polled = present
        if self._by_list or not self._version:
            self._list()
            return
        try:
            for change in self._client.watch(self._kind, self._version, 0):
                self._version = change.object["metadata"]["resourceVersion"]
                gone = change.type == "DELETED"
                self._apply(key_of(change.object), None if gone else change.object)
        except Conflict:
            self._list()

    def _list(self) -> None:
        page = self._client.list(self._kind)
        if page.resource_version == self._version:
            return
        self._version = page.resource_version
        listed = {key_of(item): item for item in page.items}
        for key in [key for key in self.objects if key not in listed]:
            self._apply(key, None)
        for key, item in listed.items():
            self._apply(key, item)

    def _apply(self, key: Key, new: RawObject | None) -> None:
        old = self.objects.get(key)
        if new is not None:
            if old is not None and _version_of(old) == _version_of(new):
                return
            # An object of the same name with another uid is another object.
            if old is not None and old["metadata"].get("uid") != new["metadata"].get("uid"):
                self._apply(key, None)
                old = None
            self.objects[key] = new
        elif old is None:
            return
        else:
            del self.objects[key]
        for feed in self._feeds:
            feed.put(Notice(key, old, new))


class Informers:
    """One informer a kind, shared by all controllers of a process."""

    def __init__(
        self,
        client: ObjectClient,
        version: KindVersion | None = None,
        *,
        by_list: bool = False,
    ) -> None:
        self._client = client
        self._version = version
        self._by_list = by_list
        self._informers: dict[Kind, Informer] = {}

    def of(self, kind: Kind) -> Informer:
        """Return the informer of a kind, filled."""
        informer = self._informers.get(kind)
        if informer is None:
            informer = self._informers[kind] = Informer(
                self._client, kind, self._version, by_list=self._by_list
            )
            informer.poll()
        return informer


def key_of(item: RawObject) -> Key:
    """Return namespace and name of an object."""
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _version_of(item: RawObject) -> str:
    version: str = item["metadata"].get("resourceVersion", "")
    return version
