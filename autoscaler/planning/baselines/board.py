"""Boards: GPUs that a greedy planner fills, one instance after the other.

Held instances stay where they are. Of a GPU that may be cut, everything else may go; of
any other, only its free instances may be taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import (
    Placement,
    is_valid,
    is_within,
    limits_of,
    mask_of,
    place,
    placements,
    used_by,
)
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import parse_resource, resource_name, supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.planning.program.fleet import is_movable
from autoscaler.planning.program.targets import pinned_of


@dataclass(slots=True)
class Board:
    """One GPU while it is filled.

    Parameters
    ----------
    node, place
        Name of the node, and position of the GPU on it.
    present
        What it holds; placements of its own choice where none are known.
    pinned
        Instances that stay.
    is_open
        Whether it may be cut.
    placed
        Instances that were given to pods, also those that were there.
    clears
        Whether free instances go that nothing was put in the place of.
    """

    node: str
    place: int
    model: GpuModel
    present: Geometry
    pinned: Geometry
    is_open: bool
    placed: list[GpuInstance] = field(default_factory=list)
    clears: bool = False

    @property
    def resources(self) -> dict[str, str]:
        """Resource name of each profile of the model."""
        return {p.name: resource_name(p.name) for p in self.model.profiles}

    @property
    def taken(self) -> Geometry:
        """Instances that are held or given away."""
        return Geometry((*self.pinned.instances, *self.placed))

    @property
    def free_slices(self) -> int:
        """Memory slices that are neither held nor given away."""
        return self.model.memory_slices - self._mask.bit_count()

    @property
    def _mask(self) -> int:
        """Memory slices that are held or given away, as bits."""
        mask = 0
        for instance in (*self.pinned.instances, *self.placed):
            mask |= ((1 << instance.size) - 1) << instance.start
        return mask

    def starts_for(self, profile: str) -> list[GpuInstance]:
        """Return where an instance of a profile may be put, the lowest start first.

        Instances that are there and free come before all others.
        """
        mask = self._mask
        found = [p.instance for p in _placements_of(self.model, profile) if not p.mask & mask]
        there = [i for i in found if i in self.present.instances]
        if not self.is_open or len(there) == len(found):
            return there
        if not _may_have(self.model, self.taken.counts.plus({profile: 1})):
            return there
        return there + [i for i in found if i not in there]

    @property
    def after(self) -> Geometry:
        """What it becomes: free instances stay where nothing was put in their place."""
        own = self.taken
        for instance in () if self.clears else self.present.instances:
            overlaps = mask_of(own) & mask_of(Geometry((instance,)))
            if not overlaps and is_valid(self.model, own.plus(instance)):
                own = own.plus(instance)
        return own


@lru_cache(maxsize=256)
def _placements_of(model: GpuModel, profile: str) -> tuple[Placement, ...]:
    return tuple(p for p in placements(model) if p.instance.profile == profile)


@lru_cache(maxsize=4096)
def _may_have(model: GpuModel, counts: Counts) -> bool:
    return is_within(used_by(model, counts), limits_of(model))


def boards_of(snapshot: Snapshot) -> list[Board]:
    """Return the boards of a fleet, in order of nodes and GPUs."""
    return [board for node in snapshot.nodes for board in _boards_on(node)]


def _boards_on(node: FleetNode) -> Iterator[Board]:
    if node.model is None or node.strategy is not Strategy.MIXED:
        return
    movable = is_movable(node) and not node.reserved
    for number, gpu in enumerate(node.gpus):
        found = _geometries(gpu, node.model) if gpu.mig_enabled else None
        if found is None:
            continue
        present, pinned = found
        may_cut = gpu.is_idle or (node.driver is Driver.AGENT and gpu.geometry is not None)
        yield Board(node.name, number, node.model, present, pinned, movable and may_cut)


def _geometries(gpu: Gpu, model: GpuModel) -> tuple[Geometry, Geometry] | None:
    if gpu.geometry is not None:
        return gpu.geometry, pinned_of(gpu) or Geometry()
    present = place(model, gpu.counts)
    if present is None:
        return None
    held, pinned = dict(gpu.held), []
    for instance in present.instances:
        if held.get(instance.profile, 0):
            held[instance.profile] -= 1
            pinned.append(instance)
    return present, Geometry(tuple(pinned))


def refilled(snapshot: Snapshot, boards: Iterable[Board]) -> Snapshot:
    """Return the fleet after its boards were cut as filled."""
    after = {(board.node, board.place): board.after for board in boards}
    return replace(snapshot, nodes=tuple(_recut(node, after) for node in snapshot.nodes))


def _recut(node: FleetNode, after: dict[tuple[str, int], Geometry]) -> FleetNode:
    gpus, gone, come = [], Counts(), Counts()
    for number, gpu in enumerate(node.gpus):
        own = after.get((node.name, number))
        if own is None or own.counts == gpu.counts:
            gpus.append(gpu)
            continue
        gone, come = gone.plus(supply_of([gpu.counts])), come.plus(supply_of([own.counts]))
        geometry = own if gpu.geometry is not None else None
        gpus.append(replace(gpu, counts=own.counts, geometry=geometry))
    return replace(node, gpus=tuple(gpus), supply=node.supply.plus(come).minus(gone))


def models_of(boards: Iterable[Board]) -> tuple[GpuModel, ...]:
    """Return the models of boards, by key."""
    found = {board.model.key: board.model for board in boards}
    return tuple(found[key] for key in sorted(found))


def size_of(group: DemandGroup, models: Iterable[GpuModel]) -> tuple[int, int]:
    """Return memory and compute slices of a pod, by the first model that has what it asks."""
    memory = compute = 0
    known = tuple(models)
    for resource, number in group.bundle.items():
        found = (model.profile(parse_resource(model, resource) or "") for model in known)
        profile = next((own for own in found if own is not None), None)
        if profile is not None:
            memory += number * profile.memory_slices
            compute += number * profile.compute_slices
    return memory, compute
