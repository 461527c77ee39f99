"""Objects of one kind from several files, each kept once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, str]


@dataclass(slots=True)
class Table(Generic[T]):
    """Objects by namespace and name.

    Parameters
    ----------
    what
        Kind, for messages.
    comparable
        Returns an object less what may differ between two dumps of the same thing.
    repeats
        How often an object came again as it was.
    conflicts
        Objects that came again and were another, with all their versions.
    """

    what: str
    comparable: Callable[[T], T] = lambda item: item
    items: dict[Key, T] = field(default_factory=dict)
    repeats: int = 0
    conflicts: dict[Key, list[T]] = field(default_factory=dict)

    def add(self, key: Key, item: T) -> None:
        """Take an object."""
        known = self.items.setdefault(key, item)
        if known is item:
            return
        if self.comparable(known) == self.comparable(item):
            self.repeats += 1
        else:
            self.conflicts.setdefault(key, [known]).append(item)

    def values(self) -> list[T]:
        """Return the objects in order of their names, the first of those in conflict."""
        return [self.items[key] for key in sorted(self.items)]

    def agreed(self) -> list[T]:
        """Return the objects that all files agree on."""
        return [self.items[key] for key in sorted(self.items) if key not in self.conflicts]

    def notices(self) -> list[str]:
        """Return what came more than once."""
        said = [
            f"{self.what} {'/'.join(filter(None, key))} appears more than once, "
            "with different contents"
            for key in sorted(self.conflicts)
        ]
        if self.repeats:
            said.append(f"{self.repeats} {self.what} objects appear more than once, unchanged")
        return said
