"""Geometry: the GPU instances of one GPU with the memory slices each one takes.

Pure values. Whether a GPU model allows a geometry is a question for ``layouts``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from autoscaler.domain.counts import Counts


@dataclass(frozen=True, slots=True, order=True)
class GpuInstance:
    """A GPU instance at a fixed placement.

    Parameters
    ----------
    start
        First memory slice it takes, from 0.
    size
        Number of memory slices it takes, at least 1.
    profile
        Profile name, e.g. ``"1g.10gb"``.

    Raises
    ------
    ValueError
        When ``start`` is negative or ``size`` is below 1.
    """

    start: int
    size: int
    profile: str

    def __post_init__(self) -> None:
        if self.start < 0 or self.size < 1:
            raise ValueError(f"no such placement: {self}")

    @property
    def end(self) -> int:
        """First memory slice behind it."""
        return self.start + self.size

    def __str__(self) -> str:
        return f"{self.profile}@{self.start}"


@dataclass(frozen=True, slots=True, order=True)
class Geometry:
    """The GPU instances of one GPU, in placement order whatever order they came in.

    Raises
    ------
    ValueError
        When two of them overlap.
    """

    instances: tuple[GpuInstance, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "instances", tuple(sorted(self.instances)))
        for left, right in pairwise(self.instances):
            if left.end > right.start:
                raise ValueError(f"{left} overlaps {right}")

    def __str__(self) -> str:
        return " ".join(str(instance) for instance in self.instances) or "empty"

    @property
    def counts(self) -> Counts:
        """How many instances of each profile it holds."""
        number: dict[str, int] = {}
        for instance in self.instances:
            number[instance.profile] = number.get(instance.profile, 0) + 1
        return Counts(number)

    def minus(self, instance: GpuInstance) -> Self:
        """Return this geometry less one instance."""
        return type(self)(tuple(i for i in self.instances if i != instance))

    def plus(self, instance: GpuInstance) -> Self:
        """Return this geometry plus one instance.

        Raises
        ------
        ValueError
            When the instance overlaps one that is there.
        """
        return type(self)((*self.instances, instance))


def transitions(current: Geometry, target: Geometry) -> Iterator[Geometry]:
    """Yield the geometry after each step from ``current`` to ``target``.

    Destroys come first, because a create needs its memory slices free. Each geometry
    on the way is valid, so whoever dies between two steps observes and plans again.
    """
    kept = set(current.instances) & set(target.instances)
    for instance in current.instances:
        if instance not in kept:
            current = current.minus(instance)
            yield current
    for instance in target.instances:
        if instance not in kept:
            current = current.plus(instance)
            yield current
