"""Simulated GPUs with real placements, behaving as NVML and the driver do.

The driver knows processes, not pods: it refuses to destroy an instance while a process
runs on it, and nothing else protects one. It chooses the lowest legal placement when
it is asked for none, and that can block what comes later.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import blake2b
from uuid import UUID

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.profile import GpuModel, Profile


class DriverStatus(IntEnum):
    """Return codes of NVML that the simulated driver gives."""

    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NOT_FOUND = 6
    IN_USE = 19
    INSUFFICIENT_RESOURCES = 23


class DriverError(Exception):
    """The driver refused a call.

    Parameters
    ----------
    status
        NVML's return code.
    message
        What was asked of which GPU.
    """

    def __init__(self, status: DriverStatus, message: str) -> None:
        super().__init__(f"{message}: {status.name} ({status.value})")
        self.status = status


@dataclass(frozen=True, slots=True)
class Instance:
    """One GPU instance with its compute instance.

    Parameters
    ----------
    id
        NVML's GPU instance id; used again after the instance is destroyed.
    placement
        Where it is.
    uuid
        UUID of the MIG device, which is kubelet's device id; never used again. Empty
        while there is no compute instance.
    """

    id: int
    placement: GpuInstance
    uuid: str

    @property
    def profile(self) -> str:
        """Profile name."""
        return self.placement.profile


class SimulatedGpu:
    """One GPU board.

    Parameters
    ----------
    node, index
        Where it sits: node name and position in PCI bus order.
    model
        What it is.

    Attributes
    ----------
    refuses_creation
        A fault: no instance can be created.
    """

    def __init__(
        self, node: str, index: int, model: GpuModel, *, mig_enabled: bool = True
    ) -> None:
        self.node = node
        self.index = index
        self.model = model
        self.uuid = "GPU-" + _uuid(node, index)
        self.refuses_creation = False
        self._mig_enabled = mig_enabled
        self._instances: dict[int, Instance] = {}
        self._processes: dict[str, set[str]] = {}
        self._created = 0

    @property
    def mig_enabled(self) -> bool:
        """Whether MIG mode is on."""
        return self._mig_enabled

    @property
    def gpu_instances(self) -> tuple[Instance, ...]:
        """All GPU instances, in placement order, those without compute instance included."""
        return tuple(sorted(self._instances.values(), key=lambda i: i.placement))

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All instances that can be used, in placement order."""
        return tuple(i for i in self.gpu_instances if i.uuid)

    @property
    def geometry(self) -> Geometry:
        """The instances that can be used, with their placements."""
        return Geometry(tuple(i.placement for i in self.instances))

    @property
    def counts(self) -> Counts:
        """How many instances of each profile there are."""
        return self.geometry.counts

    def create(self, profile_name: str, start: int | None = None) -> Instance:
        """Create an instance, at the lowest legal start unless one is given."""
        return self.create_compute_instance(self.create_gpu_instance(profile_name, start).id)

    def create_gpu_instance(self, profile_name: str, start: int | None = None) -> Instance:
        """Create a GPU instance without a compute instance: nobody can use it yet."""
        profile = self.model.profile(profile_name)
        if not self._mig_enabled or profile is None:
            raise self._error(DriverStatus.NOT_SUPPORTED, f"create {profile_name}")
        if start is not None and start not in profile.starts:
            raise self._error(DriverStatus.INVALID_ARGUMENT, f"create {profile_name}@{start}")
        starts = profile.starts if start is None else (start,)
        places = (GpuInstance(s, profile.memory_slices, profile_name) for s in starts)
        placement = next((p for p in places if self._is_free(p)), None)
        if placement is None or self.refuses_creation or not self._has_room(profile):
            raise self._error(DriverStatus.INSUFFICIENT_RESOURCES, f"create {profile_name}")
        return self._put(profile, placement)

    def create_compute_instance(self, instance_id: int) -> Instance:
        """Create the one compute instance of a GPU instance."""
        instance = self._find(instance_id, "create a compute instance of")
        if instance.uuid:
            status = DriverStatus.INSUFFICIENT_RESOURCES
            raise self._error(status, f"create a compute instance of instance {instance_id}")
        self._created += 1
        uuid = "MIG-" + _uuid(self.uuid, instance_id, self._created)
        made = self._instances[instance_id] = replace(instance, uuid=uuid)
        return made

    def destroy(self, instance_id: int) -> None:
        """Destroy an instance; refused only while a process runs on it."""
        if self._find(instance_id, "destroy").uuid:
            self.destroy_compute_instance(instance_id)
        self.destroy_gpu_instance(instance_id)

    def destroy_compute_instance(self, instance_id: int) -> None:
        """Destroy the compute instance; refused only while a process runs on it."""
        instance = self._find(instance_id, "destroy")
        if not instance.uuid:
            raise self._error(DriverStatus.NOT_FOUND, f"destroy instance {instance_id}")
        if self._processes.get(instance.uuid):
            raise self._error(DriverStatus.IN_USE, f"destroy instance {instance_id}")
        self._instances[instance_id] = replace(instance, uuid="")

    def destroy_gpu_instance(self, instance_id: int) -> None:
        """Destroy a GPU instance; refused while a compute instance is in it."""
        if self._find(instance_id, "destroy").uuid:
            raise self._error(DriverStatus.IN_USE, f"destroy instance {instance_id}")
        del self._instances[instance_id]

    def set_mig_mode(self, enabled: bool) -> None:
        """Change the MIG mode; the instances must be gone and no process may run."""
        if enabled == self._mig_enabled:
            return
        if self._instances or any(self._processes.values()):
            raise self._error(DriverStatus.IN_USE, "change the MIG mode")
        self._mig_enabled = enabled

    def lose_instances(self) -> None:
        """Lose all instances, as at a reboot or reset."""
        self._instances.clear()
        self._processes.clear()

    def open_process(self, device: str, owner: str) -> None:
        """Start a process on a device: the UUID of an instance, or of the GPU itself."""
        if device not in self.devices:
            raise self._error(DriverStatus.NOT_FOUND, f"open {device}")
        self._processes.setdefault(device, set()).add(owner)

    def close_process(self, device: str, owner: str) -> None:
        """End a process; nothing happens when it is not there."""
        self._processes.get(device, set()).discard(owner)

    @property
    def devices(self) -> frozenset[str]:
        """UUIDs that a process can run on."""
        if not self._mig_enabled:
            return frozenset({self.uuid})
        return frozenset(i.uuid for i in self._instances.values() if i.uuid)

    def is_in_use(self, device: str) -> bool:
        """Say whether a process runs on a device."""
        return bool(self._processes.get(device))

    def _is_free(self, place: GpuInstance) -> bool:
        taken = (i.placement for i in self._instances.values())
        return all(place.end <= t.start or t.end <= place.start for t in taken)

    def _has_room(self, profile: Profile) -> bool:
        """Check limits that placements alone do not: number, compute slices, engines."""
        counts = Geometry(tuple(i.placement for i in self._instances.values())).counts
        profiles = self.model.require(counts)
        slices = sum(p.compute_slices * counts[p.name] for p in profiles)
        if slices + profile.compute_slices > self.model.compute_slices:
            return False
        if counts[profile.name] >= profile.max_instances:
            return False
        totals = self.model.engine_totals
        if totals is None or profile.engines is None:
            return True
        used = Counts()
        for other in profiles:
            used = used.plus(other.engines or Counts(), times=counts[other.name])
        return totals.covers(used.plus(profile.engines))

    def _put(self, profile: Profile, placement: GpuInstance) -> Instance:
        instance = Instance(self._free_id(profile), placement, "")
        self._instances[instance.id] = instance
        return instance

    def _find(self, instance_id: int, what: str) -> Instance:
        instance = self._instances.get(instance_id)
        if instance is None:
            raise self._error(DriverStatus.NOT_FOUND, f"{what} instance {instance_id}")
        return instance

    def _free_id(self, profile: Profile) -> int:
        """Return the lowest free id of its size: the whole GPU 0, halves 1 and 2, and so on."""
        parts = max(1, self.model.memory_slices // profile.memory_slices)
        first = (1 << (parts.bit_length() - 1)) - 1
        return next(i for i in range(first, first + 64) if i not in self._instances)

    def _error(self, status: DriverStatus, what: str) -> DriverError:
        return DriverError(status, f"{self.node} GPU {self.index}: {what}")


class Hardware:
    """The GPUs of all simulated nodes."""

    def __init__(self, gpus: Mapping[str, Iterable[SimulatedGpu]]) -> None:
        self._gpus = {node: tuple(gpus[node]) for node in sorted(gpus)}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes that have GPUs."""
        return tuple(self._gpus)

    def gpus(self, node: str) -> tuple[SimulatedGpu, ...]:
        """Return the GPUs of a node in index order; none for a node without."""
        return self._gpus.get(node, ())

    def gpu_of(self, node: str, device: str) -> SimulatedGpu | None:
        """Return the GPU of a device, while the device exists."""
        return next((gpu for gpu in self.gpus(node) if device in gpu.devices), None)

    def instance(self, node: str, device: str) -> Instance | None:
        """Return the instance that is this MIG device, while it exists."""
        instances = (i for gpu in self.gpus(node) for i in gpu.instances)
        return next((i for i in instances if i.uuid == device), None)


def cut(gpu: SimulatedGpu, geometry: Geometry) -> None:
    """Create the instances of a geometry on an empty GPU, each at its placement."""
    for place in geometry.instances:
        gpu.create(place.profile, place.start)


def _uuid(*parts: object) -> str:
    text = "/".join(str(part) for part in parts)
    return str(UUID(bytes=blake2b(text.encode(), digest_size=16).digest()))
