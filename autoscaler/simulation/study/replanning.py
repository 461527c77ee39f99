"""Players that re-cut idle space by a plan, before or after jobs start."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.simulation.study.hedged import Hedged
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.starting import start_exact

Targets = Iterable[tuple[int, Geometry]]
Planner = Callable[[Scene], Targets]


@dataclass(slots=True)
class Replanner:
    """Starts jobs on exact instances, and re-cuts by a plan.

    Parameters
    ----------
    planner
        Returns the new geometry of each GPU to change.
    interval_s
        Plans are made at multiples of this, and jobs start whenever they can; 0 plans
        at every event, before jobs start.
    recut_s
        From the cut to when new instances are usable.
    closes_node
        Whether nothing can start on the whole node meanwhile, as where the device
        plugin must start anew.
    """

    planner: Planner
    interval_s: float = 30.0
    recut_s: float = 60.0
    closes_node: bool = False
    _planned_s: float = -1.0

    def act(self, scene: Scene) -> float | None:
        """Start jobs and plan when it is due."""
        if not self.interval_s:
            self._plan(scene)
            start_exact(scene)
            return None
        start_exact(scene)
        due_s = self._due_s(scene.now_s)
        if due_s <= scene.now_s:
            self._planned_s = scene.now_s
            self._plan(scene)
            return None
        return due_s

    def _due_s(self, now_s: float) -> float:
        """Return the first multiple of the interval from now on at which none was made."""
        turns = floor(now_s / self.interval_s)
        due_s = turns * self.interval_s
        if due_s < now_s or due_s <= self._planned_s:
            due_s = (turns + 1) * self.interval_s
        return due_s

    def _plan(self, scene: Scene) -> None:
        for gpu, target in self.planner(scene):
            ready_s = scene.now_s + self.recut_s
            if scene.cut(gpu, target, ready_s) and self.closes_node:
                scene.close(scene.fleet.mates(gpu), ready_s)


@dataclass(frozen=True, slots=True)
class HedgedPlanner:
    """Plans by the hedged policy in its plainest form."""

    policy: Hedged

    def __call__(self, scene: Scene) -> Targets:
        """Return the GPUs to change."""
        states: dict[tuple[Geometry, Geometry], list[int]] = {}
        wanted: dict[str, int] = {p: scene.waiting.number(p) for p in scene.waiting.profiles}
        for gpu in range(len(scene.cells)):
            fixed = scene.cells.fixed(gpu, scene.now_s)
            states.setdefault((fixed, scene.cells.geometry(gpu)), []).append(gpu)
            for instance in scene.cells.holders(gpu):
                wanted[instance.profile] = wanted.get(instance.profile, 0) + 1
        numbers = {state: len(gpus) for state, gpus in states.items()}
        for state, target, number in self.policy.choose(numbers, Counts(wanted)):
            for _ in range(number):
                yield states[state].pop(0), target
