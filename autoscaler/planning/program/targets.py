"""Targets: what one GPU may be cut into, given who holds it and who cuts it.

MIG manager cuts a GPU when it is empty, so it has targets where it is idle or may be
emptied. The node agent cuts around the instances in use, so a GPU has those that contain
them, and those that take the place of holders who may leave.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import product

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import Gpu
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import layouts_around, maximal_multisets
from autoscaler.domain.mig.placement import is_valid, place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.policy.policy import Driver


class Way(StrEnum):
    """What happens to those who hold what a target takes."""

    NOBODY = "nobody"
    WAIT = "wait"
    EVICT = "evict"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What a GPU may become.

    Parameters
    ----------
    after
        All its instances by profile, held ones included.
    geometry
        The same with placements, where who cuts it can choose them.
    way
        How it gets rid of those who are in the way.
    """

    after: Counts
    geometry: Geometry | None = None
    way: Way = Way.NOBODY


@dataclass(frozen=True, slots=True)
class Leavers:
    """How a GPU in use may be emptied; falsy where it cannot be.

    Parameters
    ----------
    ways
        For MIG manager: as a whole, in which ways.
    places
        For the agent: the instances of each holder who may leave.
    evictable
        Which of these would have to be evicted; the others go by themselves.
    """

    ways: tuple[Way, ...] = ()
    places: tuple[Geometry, ...] = ()
    evictable: tuple[bool, ...] = ()

    def __bool__(self) -> bool:
        """Say whether anybody may leave."""
        return bool(self.ways or self.places)


NOBODY_LEAVES = Leavers()


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be created.

    Parameters
    ----------
    names
        Profiles, in the order of the model's table.
    limited
        Those of which there may be too many: of them a target may hold fewer than fit.
    """

    names: tuple[str, ...]
    limited: frozenset[str] = frozenset()


def targets_of(
    gpu: Gpu,
    model: GpuModel,
    driver: Driver,
    allowed: Allowed,
    leavers: Leavers = NOBODY_LEAVES,
) -> list[Target]:
    """Return what a GPU may be cut into, staying as it is aside.

    Parameters
    ----------
    gpu
        A GPU with MIG mode off has no targets: the mode is never changed.
    model
        Its model.
    driver
        Who cuts it.
    allowed
        What may be created; what exists may stay whatever it is.
    leavers
        Who may leave; nobody by default.

    Returns
    -------
    list
        Those that leave every held instance where it is come first, sorted by profile
        counts, which are distinct; then those for which somebody leaves.
    """
    if not gpu.mig_enabled:
        return []
    if driver is Driver.MIG_MANAGER:
        ways = (Way.NOBODY,) if gpu.is_idle else leavers.ways
        found = [t for t in _idle_targets(model, allowed) if t.after != gpu.counts]
        return [replace(target, way=way) for way in ways for target in found]
    pinned = pinned_of(gpu)
    if gpu.geometry is None or pinned is None:
        return []
    around = [
        t
        for t in _targets_around(model, gpu.geometry, pinned, allowed)
        if t.after != gpu.counts
    ]
    return around + list(_breaking(model, gpu.geometry, pinned, leavers, allowed))


def target_for(
    counts: Counts, gpu: Gpu, model: GpuModel, driver: Driver, known: Iterable[Target]
) -> list[Target]:
    """Return the target with just these counts, unless it is known or impossible.

    Nobody leaves for it.
    """
    if counts == gpu.counts or any(target.after == counts for target in known):
        return []
    if driver is Driver.MIG_MANAGER:
        return [Target(counts)] if gpu.is_idle and gpu.mig_enabled else []
    pinned = pinned_of(gpu)
    if pinned is None or not counts.covers(pinned.counts) or not is_valid(model, pinned):
        return []
    geometry = place(model, counts, pinned)
    return [] if geometry is None else [Target(counts, geometry)]


def pinned_of(gpu: Gpu) -> Geometry | None:
    """Return the instances of a GPU that must stay where they are.

    Where only the number of held instances is known, all of their profile stay: any of
    them may be the one in use. ``None`` without placements.
    """
    if gpu.pinned is not None or gpu.geometry is None:
        return gpu.pinned
    return Geometry(tuple(i for i in gpu.geometry.instances if gpu.held[i.profile]))


def whole_target(model: GpuModel) -> Counts:
    """Return the counts of a GPU that is one instance as a whole."""
    return Counts({model.whole_gpu.name: 1})


@lru_cache(maxsize=1024)
def _idle_targets(model: GpuModel, allowed: Allowed) -> tuple[Target, ...]:
    found = {
        fewer
        for counts in maximal_multisets(model, allowed.names)
        for fewer in _with_fewer(counts, Counts(), allowed)
    }
    return tuple(Target(counts) for counts in sorted(found, key=_order))


@lru_cache(maxsize=65536)
def _targets_around(
    model: GpuModel, present: Geometry, pinned: Geometry, allowed: Allowed
) -> tuple[Target, ...]:
    if not is_valid(model, pinned):
        return ()
    nearest: dict[Counts, tuple[int, Geometry]] = {}
    for geometry in layouts_around(model, pinned, allowed.names):
        lost = sum(i.size for i in present.instances if i not in geometry.instances)
        best = nearest.get(geometry.counts)
        # Of equal counts, the placements that destroy least.
        if best is None or (lost, geometry) < best:
            nearest[geometry.counts] = (lost, geometry)
    placed = {counts: geometry for counts, (_, geometry) in nearest.items()}
    for counts in list(placed):
        for fewer in _with_fewer(counts, pinned.counts, allowed):
            geometry_of_fewer = place(model, fewer, pinned)
            if geometry_of_fewer is not None:
                placed.setdefault(fewer, geometry_of_fewer)
    return tuple(Target(counts, placed[counts]) for counts in sorted(placed, key=_order))


@lru_cache(maxsize=65536)
def _breaking(
    model: GpuModel, present: Geometry, pinned: Geometry, leavers: Leavers, allowed: Allowed
) -> tuple[Target, ...]:
    """Return the targets that take the place of somebody who may leave.

    Of those with equal counts, the ones that make the fewest leave.
    """
    going = {instance for place in leavers.places for instance in place.instances}
    staying = Geometry(tuple(i for i in pinned.instances if i not in going))
    if not leavers.places or not is_valid(model, staying):
        return ()
    best: dict[tuple[Counts, frozenset[int]], tuple[int, Geometry]] = {}
    for geometry in layouts_around(model, staying, allowed.names):
        kept = set(geometry.instances)
        broken = frozenset(
            n for n, place in enumerate(leavers.places) if not kept >= set(place.instances)
        )
        lost = sum(i.size for i in present.instances if i not in kept)
        key = (geometry.counts, broken)
        if broken and (key not in best or (lost, geometry) < best[key]):
            best[key] = (lost, geometry)
    fewest = [key for key in best if not any(k[0] == key[0] and k[1] < key[1] for k in best)]
    return tuple(
        Target(
            counts,
            best[counts, broken][1],
            Way.EVICT if any(leavers.evictable[n] for n in broken) else Way.WAIT,
        )
        for counts, broken in sorted(fewest, key=lambda k: (_order(k[0]), sorted(k[1])))
    )


def _with_fewer(counts: Counts, pinned: Counts, allowed: Allowed) -> Iterator[Counts]:
    """Yield the counts, and all with fewer instances of limited profiles."""
    names = [name for name in counts if name in allowed.limited]
    spare: Iterable[Iterable[int]] = [range(counts[n] - pinned[n] + 1) for n in names]
    for removed in product(*spare):
        yield counts.minus(dict(zip(names, removed, strict=True)))


def _order(counts: Counts) -> tuple[tuple[str, int], ...]:
    return tuple(counts.items())
