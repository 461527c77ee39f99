"""Simulated NVML and pod resources of one node: what the node agent reads and acts through.

The driver acts at once; what a real one would take is noted, and whoever runs the agent
lets that time pass before its next turn.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.errors import ActuationError, InUse, NoRoom, NotFound, Refused
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.simulation.controllers.devices import DeviceManager
from autoscaler.simulation.hardware import DriverError, DriverStatus, Instance, SimulatedGpu
from autoscaler.simulation.timing import Span, Timing

T = TypeVar("T")

VERSION = "580.95.05"
ERRORS: Mapping[DriverStatus, type[ActuationError]] = {
    DriverStatus.IN_USE: InUse,
    DriverStatus.INSUFFICIENT_RESOURCES: NoRoom,
    DriverStatus.NOT_FOUND: NotFound,
}


class SimulatedNvml:
    """The GPU driver of one node.

    Attributes
    ----------
    spent_s
        What the calls since it was last set to zero would have taken, in seconds.
    """

    def __init__(self, gpus: Sequence[SimulatedGpu], timing: Timing) -> None:
        self._gpus = {gpu.uuid: gpu for gpu in gpus}
        self._timing = timing
        self._calls = 0
        self.spent_s = 0.0

    def version(self) -> str:
        """Return the version of the driver."""
        return VERSION

    def read(self) -> tuple[Board, ...]:
        """Return all boards as they are now, in index order."""
        return tuple(_board(gpu) for gpu in self._gpus.values())

    def destroy(self, board: str, instance: BoardInstance) -> None:
        """Destroy a GPU instance with all in it."""
        gpu = self._find(board)
        found = next((i for i in gpu.gpu_instances if i.id == instance.id), None)
        if found is None or found.placement != instance.place:
            raise NotFound(f"{instance.place} of GPU {gpu.index} is not there")
        self._spend(self._timing.destroy, board, instance.place)
        _translated(lambda: gpu.destroy(instance.id))

    def create(self, board: str, place: GpuInstance) -> BoardInstance:
        """Create a GPU instance at a place, with its compute instance."""
        gpu = self._find(board)
        profile = gpu.model.profile(place.profile)
        if profile is not None and profile.memory_slices != place.size:
            raise Refused(f"create {place} on GPU {gpu.index}: it has another size")
        found = next((i for i in gpu.gpu_instances if i.placement == place), None)
        if found is not None and found.uuid:
            return _instance(found)
        self._spend(self._timing.create, board, place)

        def create() -> Instance:
            own = found or gpu.create_gpu_instance(place.profile, place.start)
            return gpu.create_compute_instance(own.id)

        return _instance(_translated(create))

    def refresh(self) -> None:
        """Take the time that device nodes and the description of devices need."""
        self._spend(self._timing.device_nodes, *self._gpus)

    def _find(self, board: str) -> SimulatedGpu:
        gpu = self._gpus.get(board)
        if gpu is None:
            raise NotFound(f"no board {board}")
        return gpu

    def _spend(self, span: Span, *key: object) -> None:
        self._calls += 1
        self.spent_s += span.draw(self._timing.seed, "nvml", *key, self._calls)


class SimulatedPodResources:
    """What the device manager of a node has given to whom.

    Parameters
    ----------
    names
        Name of each pod by its uid, kept up to date by its owner.
    """

    def __init__(
        self,
        gpus: Sequence[SimulatedGpu],
        manager: DeviceManager,
        names: Mapping[str, PodRef],
    ) -> None:
        self._gpus = tuple(gpus)
        self._manager = manager
        self._names = names

    def holders(self) -> Mapping[str, PodRef]:
        """Return the pod that holds each device, by the device's id."""
        found: dict[str, PodRef] = {}
        for gpu in self._gpus:
            for device in sorted(gpu.devices):
                uid = self._manager.holder_of(device)
                if uid is not None and uid in self._names:
                    found[device] = self._names[uid]
        return found


def _board(gpu: SimulatedGpu) -> Board:
    product = gpu.model.products[0] if gpu.model.products else gpu.model.key
    instances = tuple(_instance(i) for i in gpu.gpu_instances)
    return Board(gpu.index, gpu.uuid, product, gpu.mig_enabled, instances)


def _instance(instance: Instance) -> BoardInstance:
    devices = (instance.uuid,) if instance.uuid else ()
    return BoardInstance(instance.id, instance.placement, devices)


def _translated(call: Callable[[], T]) -> T:
    try:
        return call()
    except DriverError as error:
        raise ERRORS.get(error.status, Refused)(str(error)) from error
