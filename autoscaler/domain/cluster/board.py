"""Boards: what NVML shows of a node's GPUs, as the node agent reads them.

A GPU instance is of use only with its compute instance, which is the device that pods
get. One without is what a crash between two calls leaves behind: it takes its place and
nobody can have it.
"""

from dataclasses import dataclass

from autoscaler.domain.mig.geometry import Geometry, GpuInstance


@dataclass(frozen=True, slots=True)
class BoardInstance:
    """One GPU instance.

    Parameters
    ----------
    id
        NVML's id of it; used again after it is destroyed.
    place
        Profile and placement.
    devices
        UUIDs of its MIG devices, which are kubelet's device ids; empty without a compute
        instance, several where someone has split it.
    """

    id: int
    place: GpuInstance
    devices: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether it has no compute instance."""
        return not self.devices


@dataclass(frozen=True, slots=True)
class Board:
    """One GPU.

    Parameters
    ----------
    index
        Position in PCI bus order.
    uuid
        NVML's name of the board, which no other board ever has.
    product
        Product as its label would say it.
    mig_enabled
        MIG mode.
    instances
        In placement order, those without a compute instance included.
    """

    index: int
    uuid: str
    product: str
    mig_enabled: bool
    instances: tuple[BoardInstance, ...] = ()

    @property
    def geometry(self) -> Geometry:
        """What is of use, with placements."""
        return Geometry(tuple(i.place for i in self.instances if not i.is_bare))

    @property
    def taken(self) -> Geometry:
        """All that takes memory slices, with placements."""
        return Geometry(tuple(i.place for i in self.instances))

    def instance_at(self, place: GpuInstance) -> BoardInstance | None:
        """Return the instance of this profile at this place, if it is there."""
        return next((i for i in self.instances if i.place == place), None)
