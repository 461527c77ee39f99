"""Notes where instances are and who starts on them, on the embedded cluster.

Kubernetes knows resource names only; the simulated hardware knows placements. Without
them nobody could draw a layout, or see that two jobs were given one instance.
"""

from collections.abc import Iterable, Mapping

from autoscaler.domain.mig.geometry import Geometry
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.pods import node_of, uid_of
from autoscaler.simulation.study.outcome import Cut
from autoscaler.simulation.world import World

# GPU, and instance on it.
Place = tuple[str, str]


class Placements:
    """Follows a cluster from now on; it reads and never writes.

    Parameters
    ----------
    start_s
        Epoch second from which times of cuts count.
    """

    def __init__(self, world: World, start_s: float) -> None:
        self._world = world
        self._start_s = start_s
        informers = world.platform.informers
        self._pods = informers.of(PODS).subscribe()
        self._nodes = informers.of(NODES).subscribe()
        self._geometries: dict[tuple[str, int], Geometry] = {}
        self._cuts: list[Cut] = []
        self._places: dict[tuple[str, str], Place] = {}
        self._seen: set[str] = set()

    def step(self) -> None:
        """Take in what changed."""
        for notice in self._pods.take():
            if notice.new is not None:
                self._note_place(notice.key, notice.new)
        for notice in self._nodes.take():
            self._note_cuts(notice.key[1])

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Each change of a GPU by time; its layout of the start comes first."""
        return tuple(sorted(self._cuts, key=lambda cut: (cut.at_s, cut.where)))

    @property
    def places(self) -> Mapping[tuple[str, str], Place]:
        """GPU and instance of each pod that was given one, by namespace and name.

        Where pods of one name follow each other, those of the last one.
        """
        return self._places

    def _note_place(self, key: tuple[str, str], pod: RawObject) -> None:
        node, uid = node_of(pod), uid_of(pod)
        if not node or uid in self._seen:
            return
        hardware = self._world.hardware
        for device in self._world.devices.of(node).devices_of(uid):
            gpu, instance = hardware.gpu_of(node, device), hardware.instance(node, device)
            if gpu is not None and instance is not None:
                self._seen.add(uid)
                self._places[key] = place_name(node, gpu.index), str(instance.placement)

    def _note_cuts(self, node: str) -> None:
        at_s = round(max(0.0, self._world.clock.now_s() - self._start_s), 3)
        for gpu in self._world.hardware.gpus(node):
            geometry, key = gpu.geometry, (node, gpu.index)
            if self._geometries.get(key) != geometry:
                self._geometries[key] = geometry
                where = place_name(node, gpu.index)
                self._cuts.append(Cut(at_s, where, str(geometry), geometry))


class Recuts:
    """Counts how many times GPUs got another layout.

    It looks when a rollout is over: what a GPU passes through on the way is no layout of
    its own, and a node may have several GPUs that are changed at once.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._known = {
            (node, gpu.index): gpu.geometry
            for node in world.fleet.names
            for gpu in world.hardware.gpus(node)
        }
        self.number = 0

    def note(self, nodes: Iterable[str]) -> None:
        """Count the GPUs of some nodes that have another layout than at the last look."""
        for node in nodes:
            for gpu in self._world.hardware.gpus(node):
                key, geometry = (node, gpu.index), gpu.geometry
                self.number += self._known[key] != geometry
                self._known[key] = geometry


def place_name(node: str, index: int) -> str:
    """Return the name of a GPU in outcomes."""
    return f"{node} GPU {index}"
