"""Layouts: all geometries a GPU model allows, and their profile counts.

Answers are cached, because the planner asks the same few questions in each cycle.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import add

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import (
    EMPTY,
    Placement,
    check_pinned,
    fits,
    is_valid,
    is_within,
    limits_of,
    mask_of,
    place,
    placements,
    used_by,
)
from autoscaler.domain.mig.profile import GpuModel

__all__ = [
    "fits",
    "is_valid",
    "layouts",
    "layouts_around",
    "maximal_layouts",
    "maximal_multisets",
    "multisets",
    "multisets_around",
    "non_dominated",
    "place",
    "targets_around",
]


def layouts(
    model: GpuModel, profile_names: Iterable[str] | None = None
) -> tuple[Geometry, ...]:
    """Return all geometries of these profiles, the empty one first.

    Parameters
    ----------
    model
        The GPU model.
    profile_names
        Profiles to use; all of the model by default.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    found = _fillings(model, _names_of(model, profile_names), EMPTY)
    return tuple(geometry for geometry, _ in found)


def maximal_layouts(
    model: GpuModel, profile_names: Iterable[str] | None = None
) -> tuple[Geometry, ...]:
    """Return the geometries to which no instance of these profiles can be added.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    return layouts_around(model, EMPTY, profile_names)


def layouts_around(
    model: GpuModel, pinned: Geometry, profile_names: Iterable[str] | None = None
) -> tuple[Geometry, ...]:
    """Return the maximal geometries that contain all pinned instances.

    Parameters
    ----------
    model
        The GPU model.
    pinned
        Instances that stay where they are, of whatever profile.
    profile_names
        Profiles that may be added; all of the model by default.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    ValueError
        When the model does not allow the pinned instances.
    """
    return _maximal(model, _names_of(model, profile_names), pinned)


def multisets(
    model: GpuModel, profile_names: Iterable[str] | None = None
) -> tuple[Counts, ...]:
    """Return the profile counts of all geometries, larger profiles first.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    return _multisets(model, _names_of(model, profile_names))


def maximal_multisets(
    model: GpuModel, profile_names: Iterable[str] | None = None
) -> tuple[Counts, ...]:
    """Return the profile counts that no others contain.

    There are fewer than counts of maximal layouts: a badly placed instance can make a
    geometry full whose counts are contained in those of another.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    return multisets_around(model, Counts(), profile_names)


def multisets_around(
    model: GpuModel, pinned: Counts, profile_names: Iterable[str] | None = None
) -> tuple[Counts, ...]:
    """Return the largest profile counts that contain the pinned ones in some placement.

    For a GPU whose instances may move as long as none of the pinned goes missing.

    Parameters
    ----------
    model
        The GPU model.
    pinned
        Counts to keep, of whatever profile.
    profile_names
        Profiles that may be added; all of the model by default.

    Returns
    -------
    tuple
        Empty when the pinned counts themselves do not fit.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    return _multisets_around(model, _names_of(model, profile_names), pinned)


def targets_around(
    model: GpuModel, pinned: Geometry, profile_names: Iterable[str] | None = None
) -> tuple[Counts, ...]:
    """Return the largest profile counts that can be had with pinned placements.

    These are the counts of ``layouts_around``, dominated ones dropped; ``place`` gives
    a geometry for each.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    ValueError
        When the model does not allow the pinned instances.
    """
    around = layouts_around(model, pinned, profile_names)
    return non_dominated(geometry.counts for geometry in around)


def non_dominated(candidates: Iterable[Counts]) -> tuple[Counts, ...]:
    """Return the counts that no other candidate contains, each once, in given order."""
    distinct = tuple(dict.fromkeys(candidates))
    return tuple(
        counts
        for counts in distinct
        if not any(other != counts and other.covers(counts) for other in distinct)
    )


@lru_cache(maxsize=1024)
def _multisets(model: GpuModel, names: tuple[str, ...]) -> tuple[Counts, ...]:
    found = {geometry.counts for geometry, _ in _fillings(model, names, EMPTY)}
    return tuple(sorted(found, key=lambda counts: [-counts[n] for n in reversed(names)]))


@lru_cache(maxsize=16384)
def _multisets_around(
    model: GpuModel, names: tuple[str, ...], pinned: Counts
) -> tuple[Counts, ...]:
    fixed = [name for name in pinned if name not in names]
    if any(model.profile(name) is None for name in fixed):
        return ()
    used = _names_of(model, (*names, *fixed))
    return non_dominated(
        counts
        for counts in _multisets(model, used)
        if counts.covers(pinned) and all(counts[name] == pinned[name] for name in fixed)
    )


@lru_cache(maxsize=16384)
def _maximal(model: GpuModel, names: tuple[str, ...], pinned: Geometry) -> tuple[Geometry, ...]:
    if pinned == EMPTY:
        return tuple(g for g, is_full in _fillings(model, names, EMPTY) if is_full)
    check_pinned(model, pinned)
    return tuple(g for g, is_full in _fill(model, names, pinned) if is_full)


@lru_cache(maxsize=256)
def _fillings(
    model: GpuModel, names: tuple[str, ...], pinned: Geometry
) -> tuple[tuple[Geometry, bool], ...]:
    return tuple(_fill(model, names, pinned))


def _fill(
    model: GpuModel, names: tuple[str, ...], pinned: Geometry
) -> Iterator[tuple[Geometry, bool]]:
    """Yield each way to add instances to the pinned ones, and whether it is maximal."""
    limits = limits_of(model)
    options = tuple(p for p in placements(model) if p.instance.profile in names)

    def can_add(placement: Placement, taken: int, used: tuple[int, ...]) -> bool:
        if placement.mask & taken:
            return False
        return is_within(tuple(map(add, used, placement.usage)), limits)

    def extend(
        added: tuple[GpuInstance, ...], first: int, taken: int, used: tuple[int, ...]
    ) -> Iterator[tuple[Geometry, bool]]:
        addable = [i for i, p in enumerate(options) if can_add(p, taken, used)]
        yield Geometry((*pinned.instances, *added)), not addable
        for index in addable:
            # Options are in placement order, so each set of them is met once.
            if index >= first:
                chosen = options[index]
                usage = tuple(map(add, used, chosen.usage))
                now = (*added, chosen.instance)
                yield from extend(now, index + 1, taken | chosen.mask, usage)

    yield from extend((), 0, mask_of(pinned), used_by(model, pinned.counts))


def _names_of(model: GpuModel, names: Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(profile.name for profile in model.profiles)
    return tuple(profile.name for profile in model.require(names))
