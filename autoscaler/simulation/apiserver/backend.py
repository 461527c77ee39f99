"""What every request works on: the objects, the kinds, the clock and the next uid."""

from collections.abc import Callable

from autoscaler.ports import Kind, RawObject
from autoscaler.simulation.apiserver.resources import Registry, Resource
from autoscaler.simulation.apiserver.status import not_found
from autoscaler.simulation.apiserver.storage import Key, Storage, key_of
from autoscaler.simulation.apiserver.timestamps import timestamp

# Called after each write with the kind, the object as it is now (``None`` when
# removed) and as it was (``None`` when new).
Reaction = Callable[[Kind, RawObject | None, RawObject | None], None]
# Called before a new pod is stored; refuses it by raising.
Admission = Callable[[RawObject], None]

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_RANDOM_NAME_LENGTH = 5


class Backend:
    """Storage plus what turns it into an API: kinds, time, identity, reactions."""

    def __init__(
        self, storage: Storage, registry: Registry, *, clock: Callable[[], float]
    ) -> None:
        self.storage = storage
        self.registry = registry
        self.reactions: list[Reaction] = []
        self.pod_admissions: list[Admission] = []
        self._clock = clock
        self._num_uids = 0

    def now_s(self) -> float:
        """Return the time of the server, epoch seconds."""
        return self._clock()

    def now_text(self) -> str:
        """Return the time of the server as a time stamp."""
        return timestamp(self._clock())

    def next_uid(self) -> str:
        """Return a uid that no object ever had; the same sequence in every run."""
        self._num_uids += 1
        return f"00000000-0000-4000-8000-{self._num_uids:012x}"

    def next_suffix(self) -> str:
        """Return the end of a generated name."""
        # A multiplier prime to 27**5 visits every suffix once and hides the count.
        rest = self._num_uids * 7_368_787 % len(_NAME_LETTERS) ** _RANDOM_NAME_LENGTH
        letters = []
        for _ in range(_RANDOM_NAME_LENGTH):
            rest, digit = divmod(rest, len(_NAME_LETTERS))
            letters.append(_NAME_LETTERS[digit])
        return "".join(letters)

    def find(self, kind: Kind, key: Key) -> RawObject | None:
        """Return an object, ``None`` when there is none."""
        return self.storage.of(kind).find(key)

    def read(self, resource: Resource, namespace: str, name: str) -> RawObject:
        """Return an object; 404 when there is none."""
        item = self.find(resource.stored, (namespace, name))
        if item is None:
            raise not_found(resource.kind, name)
        return item

    def put(self, kind: Kind, item: RawObject, *, dry_run: bool = False) -> RawObject:
        """Store an object, unless this is only a trial; return it as stored."""
        if dry_run:
            return item
        old = self.find(kind, key_of(item))
        stored = self.storage.put(kind, item)
        self._react(kind, stored, old)
        return stored

    def remove(self, kind: Kind, item: RawObject, *, dry_run: bool = False) -> RawObject:
        """Remove an object, unless this is only a trial; return it as it was."""
        if dry_run:
            return item
        removed = self.storage.remove(kind, item)
        self._react(kind, None, removed)
        return removed

    def _react(self, kind: Kind, new: RawObject | None, old: RawObject | None) -> None:
        for reaction in self.reactions:
            reaction(kind, new, old)
