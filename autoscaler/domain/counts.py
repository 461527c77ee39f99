"""Profile counts: how many of each named thing, without placements."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Self


class Counts(Mapping[str, int]):
    """An immutable multiset of names, ordered by name, zero entries dropped.

    Used for profile counts (``{"1g.5gb": 7}``) and for amounts of resources
    (``{"nvidia.com/mig-1g.5gb": 7}``). A name that is not present counts 0.

    Raises
    ------
    ValueError
        When a count is negative.
    """

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, int] | None = None) -> None:
        self._items: dict[str, int] = {}
        self._hash: int | None = None
        if not items:
            return
        for name in sorted(items):
            number = items[name]
            if number > 0:
                self._items[name] = number
            elif number < 0:
                raise ValueError(f"count of {name} is negative: {number}")

    def __getitem__(self, name: str) -> int:
        return self._items.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # The views of a plain dict take a fraction of the time of those that Mapping gives.

    def keys(self) -> KeysView[str]:
        """Return the names, in order."""
        return self._items.keys()

    def values(self) -> ValuesView[int]:
        """Return the numbers, in the order of their names."""
        return self._items.values()

    def items(self) -> ItemsView[str, int]:
        """Return names with their numbers, in order."""
        return self._items.items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Counts):
            return self._items == other._items
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Counts({self._items})"

    def __str__(self) -> str:
        return " + ".join(f"{n}x{name}" for name, n in self._items.items()) or "nothing"

    def plus(self, other: Mapping[str, int], times: int = 1) -> Self:
        """Return these counts plus ``times`` the others; never below zero."""
        total = dict(self._items)
        for name, number in other.items():
            total[name] = total.get(name, 0) + times * number
        return type(self)(total)

    def minus(self, other: Mapping[str, int]) -> Self:
        """Return what is left of these counts; what is not there is not owed."""
        left = dict(self._items)
        for name, number in other.items():
            if name in left:
                left[name] = max(0, left[name] - number)
        return type(self)(left)

    def covers(self, other: Mapping[str, int]) -> bool:
        """Say whether at least the others are contained."""
        mine = self._items
        return all(mine.get(name, 0) >= number for name, number in other.items())

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(self._items.values())


def sum_of(parts: Iterable[Mapping[str, int]]) -> Counts:
    """Return all counts together."""
    total: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            total[name] = total.get(name, 0) + number
    return Counts(total)
