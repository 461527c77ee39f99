"""Likeness: what makes GPUs alike for the program, so that they count together."""

from operator import attrgetter

from autoscaler.domain.fleet.snapshot import Gpu
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.program.departure import Likeness
from autoscaler.planning.program.targets import pinned_of

PARTS = attrgetter("start", "size", "profile")

State = tuple[
    tuple[tuple[str, int], ...],
    tuple[tuple[int, int, str], ...],
    tuple[tuple[int, int, str], ...],
]
SortKey = tuple[
    tuple[tuple[str, int], ...],
    tuple[tuple[int, int, str], ...],
    tuple[tuple[int, int, str], ...],
    Likeness,
    float,
    str,
    bool,
]
"""State, who may leave, margin, the preset that is wished, and whether a change of it
must wait; sorts by content."""


def state_of(gpu: Gpu, driver: Driver) -> State:
    """Return what tells GPUs apart for those who cut them."""
    counts = (*gpu.counts.items(), ("", 0), *gpu.held.items())
    if driver is Driver.MIG_MANAGER or gpu.geometry is None:
        return counts, (), ()
    pinned = pinned_of(gpu) or Geometry()
    return counts, _placements(gpu.geometry), _placements(pinned)


def _placements(geometry: Geometry) -> tuple[tuple[int, int, str], ...]:
    return tuple(map(PARTS, geometry.instances))
