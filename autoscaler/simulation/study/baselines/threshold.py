"""The common rule of thumb: many small pods wait, cut small; a large one waits, cut large.

Only GPUs that nobody uses are re-cut. There are three kinds of instance, and each pod
asks for the smallest that is large enough: the smallest profile, half a GPU, a whole one.
More than five small pods that wait have a GPU cut small; any other that waits has one cut
into halves or left whole.
"""

from dataclasses import dataclass

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import multisets
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.baselines.costs import PLUGIN, Costs
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.static_mix import plain_sizes
from autoscaler.simulation.study.waiting import rank_of

MANY = 5


@dataclass(frozen=True, slots=True)
class Threshold:
    """Starts pods on the instances they ask for, and re-cuts by the rule."""

    model: GpuModel
    costs: Costs = PLUGIN

    def act(self, scene: Scene) -> None:
        """Start what can start, then re-cut one idle GPU for each wish."""
        layouts = uniform_layouts(self.model)
        for layout in layouts:
            self._start(scene, layout)
        idle = [
            gpu
            for gpu in range(len(scene.cells))
            if not scene.cells.fixed(gpu, scene.now_s).instances
        ]
        for target in self._wishes(scene, layouts):
            gpu = next((g for g in idle if scene.cells.geometry(g) != target), None)
            if gpu is None:
                return
            idle.remove(gpu)
            ready_s = scene.now_s + self.costs.recut_s
            scene.cut(gpu, target, ready_s)
            if self.costs.closes_node:
                scene.close(scene.fleet.mates(gpu), ready_s)

    def _start(self, scene: Scene, layout: Geometry) -> None:
        """Start pods on the free instances of one kind, whoever came first."""
        offered, asking = layout.instances[0].profile, self._asking(layout)
        while scene.cells.free(offered):
            heads = [(job, p) for p in asking if (job := scene.waiting.first(p)) is not None]
            if not heads:
                return
            _, profile = min(heads, key=lambda head: rank_of(head[0]))
            scene.start(profile, scene.cells.free(offered)[0])

    def _asking(self, layout: Geometry) -> tuple[str, ...]:
        """Return the profiles whose pods ask for the instances of a layout."""
        sizes = plain_sizes(self.model).names
        tops = [sizes.index(own.instances[0].profile) for own in uniform_layouts(self.model)]
        top = sizes.index(layout.instances[0].profile)
        below = max((other for other in tops if other < top), default=-1)
        return sizes[below + 1 : top + 1]

    def _wishes(self, scene: Scene, layouts: tuple[Geometry, ...]) -> list[Geometry]:
        """Return the layouts that pods wait for, the largest instances first."""
        wishes: list[Geometry] = []
        coming = [
            scene.cells.geometry(gpu)
            for gpu in range(len(scene.cells))
            if scene.cells.fixed(gpu, scene.now_s).instances and not scene.cells.holders(gpu)
        ]
        for layout in reversed(layouts):
            waiting = sum(scene.waiting.number(name) for name in self._asking(layout))
            is_small = layout is layouts[0]
            if is_small and waiting <= MANY:
                continue
            gpus = 1 if is_small else -(-waiting // len(layout.instances))
            wishes += [layout] * max(0, gpus - coming.count(layout))
        return wishes


def uniform_layouts(model: GpuModel) -> tuple[Geometry, Geometry, Geometry]:
    """Return all of the smallest profile, the two largest halves, and the whole GPU."""
    sizes = plain_sizes(model).names
    halves = [name for name in sizes if len(uniform(model, name).instances) == 2]
    return uniform(model, sizes[0]), uniform(model, halves[-1]), uniform(model, sizes[-1])


def uniform(model: GpuModel, profile: str) -> Geometry:
    """Return a GPU cut into as many instances of one profile as it can hold."""
    most = max(multisets(model, (profile,)), key=Counts.total)
    geometry = place(model, most)
    return geometry if geometry is not None else Geometry()
