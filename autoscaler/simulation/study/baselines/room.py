"""Where an instance may be placed beside others on a GPU."""

from functools import lru_cache

from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import is_within, limits_of, mask_of, placements, used_by
from autoscaler.domain.mig.profile import GpuModel


@lru_cache(maxsize=262_144)
def legal_places(model: GpuModel, occupied: Geometry, profile: str) -> tuple[GpuInstance, ...]:
    """Return where an instance of a profile fits beside what is there, by start."""
    taken, limits = mask_of(occupied), limits_of(model)
    used = used_by(model, occupied.counts)
    return tuple(
        p.instance
        for p in placements(model)
        if p.instance.profile == profile
        and not p.mask & taken
        and is_within(tuple(map(sum, zip(used, p.usage, strict=True))), limits)
    )


def free_slices(model: GpuModel, occupied: Geometry) -> int:
    """Return the memory slices of a GPU that nothing takes."""
    return model.memory_slices - sum(instance.size for instance in occupied.instances)
