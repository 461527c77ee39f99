"""Players that place one job after another, each where a rule says.

An instance is made for the job where there is none; no batch is planned and nobody is
moved. Pods that fit nowhere wait, and those behind them may go first, as with the
scheduler of Kubernetes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from autoscaler.domain.mig.geometry import Geometry
from autoscaler.simulation.study.baselines.costs import Costs
from autoscaler.simulation.study.cells import Place
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.light import Scene


@dataclass(frozen=True, slots=True)
class Rooms:
    """What is taken on each GPU, as far as the rule must respect it."""

    scene: Scene
    keeps_idle: bool

    def occupied(self, gpu: int) -> Geometry:
        """Return the instances of a GPU that cannot be destroyed for a job."""
        if self.keeps_idle:
            return self.scene.cells.fixed(gpu, self.scene.now_s)
        return self.scene.cells.geometry(gpu)

    @property
    def gpus(self) -> range:
        """All GPUs."""
        return range(len(self.scene.cells))


class PlacementRule(Protocol):
    """Where jobs go."""

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs that wait in the order in which they are tried."""
        ...

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return where a job goes, ``None`` to let it wait."""
        ...


@dataclass(slots=True)
class Placer:
    """Places jobs by a rule.

    Parameters
    ----------
    keeps_idle
        Whether instances stay when their job has ended, until their space is needed.
    """

    rule: PlacementRule
    costs: Costs
    keeps_idle: bool = False
    _leaving: dict[Place, float] = field(default_factory=dict)

    def act(self, scene: Scene) -> float | None:
        """Destroy what nobody needs any more, then place what can be placed."""
        if not self.keeps_idle:
            for place in scene.left:
                self._leaving[place] = scene.now_s + self.costs.release_s
        for place in [p for p, at_s in self._leaving.items() if at_s <= scene.now_s]:
            del self._leaving[place]
            scene.cut(place[0], scene.cells.geometry(place[0]).minus(place[1]), scene.now_s)
        self._place(scene)
        return min(self._leaving.values(), default=None)

    def _place(self, scene: Scene) -> None:
        rooms = Rooms(scene, self.keeps_idle)
        hopeless: set[str] = set()
        for job in list(self.rule.in_order(scene.waiting.in_order())):
            if job.profile in hopeless:
                continue
            place = self.rule.choose(job, rooms)
            if place is None:
                # Jobs alike are refused alike.
                hopeless.add(job.profile)
            else:
                self._start(scene, job, place)

    def _start(self, scene: Scene, job: StudyJob, place: Place) -> None:
        """Start a job, on an instance that is there or on one that is made for it."""
        gpu, instance = place
        if place in scene.cells.free(instance.profile):
            scene.start(job.profile, place)
            return
        kept = [
            i
            for i in scene.cells.geometry(gpu).instances
            if i.end <= instance.start or instance.end <= i.start
        ]
        scene.cut(gpu, Geometry((*kept, instance)), scene.now_s)
        scene.start(job.profile, place, self.costs.recut_s)
        if self.costs.closes_node:
            scene.close(scene.fleet.mates(gpu), scene.now_s + self.costs.recut_s)
