"""HAMi up to 2.9: a GPU is locked to the first template that offers enough memory."""

from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import multisets
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.baselines.costs import PLUGIN, Costs
from autoscaler.simulation.study.baselines.greedy import binpacked, large_enough
from autoscaler.simulation.study.baselines.placer import Rooms
from autoscaler.simulation.study.cells import Place
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.light import Scene


def templates_of(model: GpuModel) -> tuple[Counts, ...]:
    """Return the templates of its list: one profile each, the rest filled with 1g.

    As shipped for the A100: 7 x 1g, 3 x 2g and 1g, 2 x 3g, 7g. A profile of which only
    one fits has none of its own, unless it is the whole GPU.
    """
    plain = [p for p in model.profiles if p.is_plain]
    smallest = min(plain, key=lambda p: (p.compute_slices, p.memory_slices)).name
    found = []
    for profile in plain:
        usable = [m for m in multisets(model, (smallest, profile.name)) if m[profile.name]]
        best = max(usable, key=lambda m: (m[profile.name], m.total()))
        if best[profile.name] > 1 or profile.name == model.whole_gpu.name:
            found.append(best)
    return tuple(found)


@dataclass(slots=True)
class TemplateLock:
    """Starts jobs on free units of locked GPUs, and locks those that nobody uses."""

    model: GpuModel
    costs: Costs = PLUGIN
    _templates: tuple[Geometry, ...] = field(default=())

    def __post_init__(self) -> None:
        for counts in templates_of(self.model):
            geometry = place(self.model, counts)
            if geometry is None:
                raise ConfigError(f"{self.model.key} cannot be cut into {counts}")
            self._templates = (*self._templates, geometry)

    def act(self, scene: Scene) -> None:
        """Serve those who wait, one after another."""
        hopeless: set[str] = set()
        for job in list(scene.waiting.in_order()):
            if job.profile in hopeless:
                continue
            if not self._serve(scene, job):
                hopeless.add(job.profile)

    def _serve(self, scene: Scene, job: StudyJob) -> bool:
        able = [profile.name for profile in large_enough(self.model, job.profile)]
        for gpu in binpacked(self.model, Rooms(scene, keeps_idle=True)):
            is_locked = bool(scene.cells.fixed(gpu, scene.now_s).instances)
            if is_locked:
                unit = self._free_unit(scene, gpu, able)
                if unit is not None:
                    scene.start(job.profile, unit)
                    return True
            elif self._lock(scene, gpu, job, able):
                return True
        return False

    def _free_unit(self, scene: Scene, gpu: int, able: list[str]) -> Place | None:
        for name in able:
            for unit in scene.cells.free(name):
                if unit[0] == gpu:
                    return unit
        return None

    def _lock(self, scene: Scene, gpu: int, job: StudyJob, able: list[str]) -> bool:
        """Cut a GPU that nobody uses for the first template that serves a job."""
        for template in self._templates:
            names = [name for name in able if template.counts[name]]
            if not names:
                continue
            is_new = scene.cells.geometry(gpu) != template
            delay_s = self.costs.recut_s if is_new else 0.0
            scene.cut(gpu, template, scene.now_s)
            unit = self._free_unit(scene, gpu, names)
            if unit is None:
                return False
            scene.start(job.profile, unit, delay_s)
            if is_new:
                scene.close(scene.fleet.mates(gpu), scene.now_s + delay_s)
            return True
        return False
