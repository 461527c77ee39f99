"""The nos planner: batches of pending pods, a greedy walk over nodes and GPUs, no eviction.

Strict keeps what its source does wrong: a pod that a node was changed for is considered
on the next node again, every instance counts one whatever its size, and placements are
left to the driver, so that a plan may turn out impossible. Fixed does these three right:
it chooses only what can be placed beside what is in use, else it leaves a GPU as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from math import inf
from random import Random

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.baselines.costs import PLUGIN, Costs
from autoscaler.simulation.study.baselines.room import legal_places
from autoscaler.simulation.study.jobs import StudyJob, slices_of
from autoscaler.simulation.study.light import Scene
from autoscaler.simulation.study.starting import start_exact
from autoscaler.simulation.study.static_mix import plain_sizes

BATCH_S, IDLE_S, REPORT_S = 60.0, 10.0, 10.0
# Orders of creation that its agent tries.
ORDERS = 20


def geometries_of(model: GpuModel) -> tuple[Counts, ...]:
    """Return its list of geometries, the one of a new GPU first.

    For GPUs of seven slices it lacks two of the twelve largest and has two that others
    contain, as in the values of its chart; for others all largest ones.
    """
    names = plain_sizes(model).names
    found = list(maximal_multisets(model, names))
    if model.compute_slices == 7:
        one, two, three, four, _ = names
        lacking = (Counts({four: 1, three: 1}), Counts({three: 1, one: 4}))
        found = [counts for counts in found if counts not in lacking]
        found += [Counts({three: 1, two: 1, one: 1}), Counts({three: 1, one: 3})]
    first = [counts for counts in found if len(counts) == 1 and counts[names[0]]]
    return (*first, *(counts for counts in found if counts not in first))


@dataclass(slots=True)
class _Gpu:
    """A GPU in its snapshot: profile counts, and placements that only the fixed one sees."""

    held: Geometry
    used: Counts
    free: Counts

    @property
    def counts(self) -> Counts:
        return self.used.plus(self.free)


@dataclass(slots=True)
class Nos:
    """Plays nos.

    Parameters
    ----------
    is_strict
        Whether its flaws are kept.
    seed
        Order of GPUs within a node, which is that of a Go map.
    """

    model: GpuModel
    is_strict: bool = True
    seed: int = 0
    costs: Costs = PLUGIN
    _opened_s: float = inf
    _last_s: float = inf
    _busy_until_s: float = 0.0
    _turn: int = 0
    _lists: tuple[Counts, ...] = field(default=())

    def __post_init__(self) -> None:
        self._lists = geometries_of(self.model)

    def act(self, scene: Scene) -> float | None:
        """Start what can start; plan when the batch is closed and the last plan confirmed."""
        start_exact(scene)
        if not len(scene.waiting):
            self._opened_s = self._last_s = inf
            return None
        if scene.arrived or scene.left:
            self._opened_s = min(self._opened_s, scene.now_s)
            self._last_s = scene.now_s
        if self._opened_s == inf:
            return None
        due_s = min(self._opened_s + BATCH_S, self._last_s + IDLE_S)
        due_s = max(due_s, self._busy_until_s)
        if scene.now_s < due_s:
            return due_s
        self._opened_s = self._last_s = inf
        self._plan(scene)
        return None

    def _plan(self, scene: Scene) -> None:
        """Walk over the nodes by name; change those where a pod fits then."""
        lacking = self._lacking(scene)
        if not lacking:
            return
        pods = self._sorted_pods(scene)
        for first in range(0, len(scene.cells), scene.fleet.gpus_per_node):
            if not lacking:
                return
            gpus = list(scene.fleet.mates(first))
            self._turn += 1
            Random(f"{self.seed} {self._turn}").shuffle(gpus)
            before = {gpu: self._state(scene, gpu) for gpu in gpus}
            node = {gpu: replace(state) for gpu, state in before.items()}
            self._recut(node, lacking)
            served = self._serve(node, pods)
            if not served:
                continue
            lacking = lacking.minus(Counts(_numbers(served)))
            if not self.is_strict:
                pods = [pod for pod in pods if pod not in served]
            for gpu, state in node.items():
                if state.counts != before[gpu].counts:
                    self._apply(scene, gpu, state.counts)

    def _lacking(self, scene: Scene) -> Counts:
        """Return what is asked for and free nowhere; each pod against the whole cluster."""
        numbers = {}
        for name in scene.waiting.profiles:
            free = len(scene.cells.free(name))
            # A pod asks for one instance: it lacks it only where none is free at all.
            numbers[name] = 0 if free else scene.waiting.number(name)
        return Counts(numbers)

    def _sorted_pods(self, scene: Scene) -> list[StudyJob]:
        sizes = slices_of(self.model)
        jobs = scene.waiting.in_order()
        return sorted(jobs, key=lambda j: (-j.priority, sizes[j.profile], j.number))

    def _state(self, scene: Scene, gpu: int) -> _Gpu:
        held = scene.cells.fixed(gpu, scene.now_s)
        free = scene.cells.geometry(gpu).counts.minus(held.counts)
        return _Gpu(held, held.counts, free)

    def _recut(self, node: dict[int, _Gpu], lacking: Counts) -> None:
        """Give each GPU the geometry that provides most of what is lacking."""
        for gpu in node.values():
            scored = [(self._score(gpu, counts, lacking), counts) for counts in self._able(gpu)]
            best = max(scored, key=lambda entry: entry[0], default=None)
            if best is not None and best[0] > 0:
                gpu.free = best[1].minus(gpu.used)
            lacking = lacking.minus(gpu.free)

    def _able(self, gpu: _Gpu) -> list[Counts]:
        found = [counts for counts in self._lists if counts.covers(gpu.used)]
        if self.is_strict:
            return found
        return [c for c in found if place(self.model, c, gpu.held) is not None]

    def _score(self, gpu: _Gpu, counts: Counts, lacking: Counts) -> int:
        sizes = slices_of(self.model)
        total = 0
        for name, number in lacking.items():
            if gpu.free[name] < number:
                gained = max(0, min(counts[name] - gpu.used[name], number))
                total += gained * (1 if self.is_strict else sizes[name])
        return total

    def _serve(self, node: dict[int, _Gpu], pods: list[StudyJob]) -> list[StudyJob]:
        """Give free instances of the node to pods, one GPU after another."""
        served = []
        for pod in pods:
            gpu = next((g for g in node.values() if g.free[pod.profile]), None)
            if gpu is not None:
                one = Counts({pod.profile: 1})
                gpu.free, gpu.used = gpu.free.minus(one), gpu.used.plus(one)
                served.append(pod)
        return served

    def _apply(self, scene: Scene, gpu: int, counts: Counts) -> None:
        """Do as its agent does: destroy what is free, create in one order after another."""
        fixed = scene.cells.fixed(gpu, scene.now_s)
        target = self._placed(fixed, counts)
        ready_s = scene.now_s + self.costs.recut_s
        if scene.cut(gpu, target, ready_s) and self.costs.closes_node:
            scene.close(scene.fleet.mates(gpu), ready_s)
        self._busy_until_s = max(self._busy_until_s, ready_s + REPORT_S)

    def _placed(self, fixed: Geometry, counts: Counts) -> Geometry:
        exact = None if self.is_strict else place(self.model, counts, fixed)
        if exact is not None:
            return exact
        new = counts.minus(fixed.counts)
        wanted = [name for name, number in new.items() for _ in range(number)]
        made = fixed
        for order in _orders(wanted):
            made = fixed
            for name in order:
                places = legal_places(self.model, made, name)
                if not places:
                    break
                made = made.plus(places[0])
            else:
                return made
        # None of the orders worked: what the last one created stays.
        return made


def _orders(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Return different orders of creation, as many as are tried."""
    distinct = dict.fromkeys(islice(permutations(names), 5040))
    return islice(distinct, ORDERS)


def _numbers(pods: list[StudyJob]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pod in pods:
        found[pod.profile] = found.get(pod.profile, 0) + 1
    return found
