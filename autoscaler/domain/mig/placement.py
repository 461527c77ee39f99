"""Placements: where instances of a GPU model may start, and what limits them.

Counts alone do not tell whether instances fit: a 3g at memory slice 0 wastes a
compute slice that a 3g at 4 leaves usable. So fitting is decided over placements.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.profile import GpuModel, Media, Profile

EMPTY = Geometry()
# In limits: compute slices, then instances with extra media engines, then engines.
LIMITS_BEFORE_ENGINES = 2


@dataclass(frozen=True, slots=True)
class Placement:
    """A possible instance: the memory slices it takes as bits, and what it uses up."""

    instance: GpuInstance
    mask: int
    usage: tuple[int, ...]


def is_valid(model: GpuModel, geometry: Geometry) -> bool:
    """Say whether the model allows a geometry.

    Placements must be in the table; compute slices, media engines and the number of
    instances of a profile must stay within those of the GPU. Gigabytes in names are
    no limit: the real sizes are smaller.
    """
    known = {placement.instance: placement for placement in placements(model)}
    if any(instance not in known for instance in geometry.instances):
        return False
    return is_within(used_by(model, geometry.counts), limits_of(model))


def fits(model: GpuModel, counts: Counts) -> bool:
    """Say whether one empty GPU can hold these instances."""
    return place(model, counts) is not None


@lru_cache(maxsize=65536)
def place(model: GpuModel, counts: Counts, pinned: Geometry = EMPTY) -> Geometry | None:
    """Return a geometry with exactly these counts that contains the pinned instances.

    Where there is a choice, an instance starts where it is in the way of the fewest
    other placements.

    Parameters
    ----------
    model
        The GPU model.
    counts
        All instances of the GPU by profile, the pinned ones included.
    pinned
        Instances that stay where they are.

    Returns
    -------
    Geometry or None
        ``None`` when no placement exists, a profile is unknown to the model or a
        pinned instance is not among the counts.

    Raises
    ------
    ValueError
        When the model does not allow the pinned instances.
    """
    check_pinned(model, pinned)
    if any(model.profile(name) is None for name in counts) or not counts.covers(pinned.counts):
        return None
    if not is_within(used_by(model, counts), limits_of(model)):
        return None
    missing = counts.minus(pinned.counts)
    # The largest instances have the fewest places, so a dead end shows early.
    order = sorted(missing, key=lambda name: (-_profile(model, name).memory_slices, name))
    wanted = tuple((_by_preference(model, name), missing[name]) for name in order)
    placed = _search(wanted, mask_of(pinned))
    return None if placed is None else Geometry((*pinned.instances, *placed))


def _search(
    wanted: tuple[tuple[tuple[Placement, ...], int], ...], taken: int
) -> tuple[GpuInstance, ...] | None:
    """Choose so many of each option so that none overlap, by backtracking."""
    if not wanted:
        return ()
    (options, number), rest = wanted[0], wanted[1:]
    if not number:
        return _search(rest, taken)
    for index, option in enumerate(options):
        if option.mask & taken:
            continue
        # Instances of a profile are alike: only later options remain for the next.
        left = ((options[index + 1 :], number - 1), *rest)
        found = _search(left, taken | option.mask)
        if found is not None:
            return (option.instance, *found)
    return None


@lru_cache(maxsize=256)
def _by_preference(model: GpuModel, name: str) -> tuple[Placement, ...]:
    everything = placements(model)
    own = [p for p in everything if p.instance.profile == name]

    def conflicts(placement: Placement) -> tuple[int, int]:
        number = sum(1 for other in everything if other.mask & placement.mask)
        return number, placement.instance.start

    return tuple(sorted(own, key=conflicts))


@cache
def placements(model: GpuModel) -> tuple[Placement, ...]:
    """Return every place an instance may have on an empty GPU, in placement order."""
    found = []
    for profile in model.profiles:
        usage = _usage(model, profile)
        for start in profile.starts:
            instance = GpuInstance(start, profile.memory_slices, profile.name)
            found.append(Placement(instance, _bits(instance), usage))
    return tuple(sorted(found, key=lambda placement: placement.instance))


@cache
def _usage(model: GpuModel, profile: Profile) -> tuple[int, ...]:
    """Return what an instance uses up, in the order of ``limits_of``."""
    # The rule on +me holds also where the number of engines is unknown.
    has_extra = int(profile.media in {Media.ONE, Media.ALL})
    engines = profile.engines or Counts()
    kinds = model.engine_totals or Counts()
    own = (int(other.name == profile.name) for other in model.profiles)
    return (profile.compute_slices, has_extra, *(engines[kind] for kind in kinds), *own)


@cache
def limits_of(model: GpuModel) -> tuple[int, ...]:
    """Return what a GPU has of each thing that runs out.

    Returns
    -------
    tuple
        Compute slices, instances with extra media engines (one), media engines by
        kind, and for each profile in table order the most instances of it.
    """
    kinds = model.engine_totals or Counts()
    most = (profile.max_instances for profile in model.profiles)
    return (model.compute_slices, 1, *kinds.values(), *most)


def used_by(model: GpuModel, counts: Counts) -> tuple[int, ...]:
    """Return what these instances use up, in the order of ``limits_of``.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    """
    used = tuple(0 for _ in limits_of(model))
    for name, number in counts.items():
        usage = _usage(model, _profile(model, name))
        used = tuple(u + number * one for u, one in zip(used, usage, strict=True))
    return used


def is_within(used: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    """Say whether nothing is used beyond its limit."""
    return all(u <= limit for u, limit in zip(used, limits, strict=True))


def _profile(model: GpuModel, name: str) -> Profile:
    return model.require((name,))[0]


def check_pinned(model: GpuModel, pinned: Geometry) -> None:
    """Refuse pinned instances that the model does not allow.

    Raises
    ------
    ValueError
        When it does not.
    """
    if pinned.instances and not is_valid(model, pinned):
        raise ValueError(f"{model.key} does not allow {pinned}")


def _bits(instance: GpuInstance) -> int:
    return ((1 << instance.size) - 1) << instance.start


def mask_of(geometry: Geometry) -> int:
    """Return the memory slices a geometry takes, as bits."""
    return sum(_bits(instance) for instance in geometry.instances)
