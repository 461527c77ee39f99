"""Least disturbance: re-cut only GPUs that nobody uses, and only when nothing else helps."""

from dataclasses import dataclass

from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import maximal_layouts
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.baselines.costs import PLUGIN, Costs
from autoscaler.simulation.study.baselines.room import free_slices
from autoscaler.simulation.study.jobs import StudyJob, slices_of
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.static_mix import plain_sizes


@dataclass(frozen=True, slots=True)
class LeastDisturbance:
    """Starts jobs on instances of just their profile; else re-cuts one idle GPU.

    What the rest of the GPU becomes is what most of those who wait could use.
    """

    model: GpuModel
    costs: Costs = PLUGIN

    def act(self, scene: Scene) -> None:
        """Serve those who wait in order of arrival."""
        hopeless: set[str] = set()
        for job in list(scene.waiting.in_order()):
            if job.profile not in hopeless and not self._serve(scene, job):
                hopeless.add(job.profile)

    def _serve(self, scene: Scene, job: StudyJob) -> bool:
        cells = scene.cells
        free = cells.free(job.profile)
        if free:
            # The fullest GPU first, so that others become idle as a whole.
            best = min(free, key=lambda p: (self._spare(scene, p[0]), p))
            scene.start(job.profile, best)
            return True
        idle = [g for g in range(len(cells)) if not cells.fixed(g, scene.now_s).instances]
        if not idle:
            return False
        gpu, target = idle[0], self._target(scene, job)
        scene.cut(gpu, target, scene.now_s)
        instance = next(i for i in target.instances if i.profile == job.profile)
        scene.start(job.profile, (gpu, instance), self.costs.recut_s)
        if self.costs.closes_node:
            scene.close(scene.fleet.mates(gpu), scene.now_s + self.costs.recut_s)
        return True

    def _spare(self, scene: Scene, gpu: int) -> int:
        return free_slices(self.model, scene.cells.fixed(gpu, scene.now_s))

    def _target(self, scene: Scene, job: StudyJob) -> Geometry:
        """Return the layout with an instance for the job that serves most beside it."""
        slices = slices_of(self.model)

        def served(layout: Geometry) -> int:
            waiting = {name: scene.waiting.number(name) for name in layout.counts}
            return sum(slices[n] * min(k, waiting[n]) for n, k in layout.counts.items())

        able = [
            layout
            for layout in maximal_layouts(self.model, plain_sizes(self.model).names)
            if layout.counts[job.profile]
        ]
        return max(able, key=lambda layout: (served(layout), layout))
