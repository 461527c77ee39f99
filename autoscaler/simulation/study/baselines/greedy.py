"""Rules that place jobs one by one: first fit, first fit decreasing, best fit, and peers'."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.simulation.study.baselines.placer import Rooms
from autoscaler.simulation.study.baselines.room import free_slices, legal_places
from autoscaler.simulation.study.cells import Place
from autoscaler.simulation.study.jobs import StudyJob

# Arrivals that tell best fit what is asked for of late.
RECENT = 100


@dataclass(frozen=True, slots=True)
class FirstFit:
    """In order of arrival, on the first GPU, at the lowest start."""

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs as they came."""
        return jobs

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return the first place of all."""
        return first_place(job.profile, rooms, rooms.gpus)


@dataclass(frozen=True, slots=True)
class FirstFitDecreasing:
    """The largest first, else as first fit."""

    model: GpuModel

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs by memory slices, then compute slices, then as they came."""
        sizes = {p.name: (-p.memory_slices, -p.compute_slices) for p in self.model.profiles}
        return sorted(jobs, key=lambda job: sizes[job.profile])

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return the first place of all."""
        return first_place(job.profile, rooms, rooms.gpus)


@dataclass(slots=True)
class BestFit:
    """On the fullest GPU that has room, where most room for large instances is left.

    Large are those of nearly half a GPU and more; how much each counts is how often it
    was asked for of late.
    """

    model: GpuModel
    _recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))
    _seen: int = -1

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs as they came."""
        return jobs

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return the best place."""
        self._note(rooms)
        found = [
            (free_slices(self.model, rooms.occupied(gpu)) - instance.size, gpu, instance)
            for gpu in rooms.gpus
            for instance in legal_places(self.model, rooms.occupied(gpu), job.profile)
        ]
        if not found:
            return None
        left = min(entry[0] for entry in found)
        gpu = min(entry[1] for entry in found if entry[0] == left)
        starts = [entry[2] for entry in found if entry[:2] == (left, gpu)]
        occupied = rooms.occupied(gpu)
        return gpu, min(starts, key=lambda i: (-self._worth(occupied, i), i.start))

    def _worth(self, occupied: Geometry, instance: GpuInstance) -> int:
        after = occupied.plus(instance)
        wanted = Counter(self._recent)
        return sum(
            wanted[p.name] * len(legal_places(self.model, after, p.name))
            for p in self.model.profiles
            if p.is_plain and 2 * p.memory_slices >= self.model.memory_slices
        )

    def _note(self, rooms: Rooms) -> None:
        for job in rooms.scene.arrived:
            if job.number > self._seen:
                self._recent.append(job.profile)
                self._seen = job.number


@dataclass(frozen=True, slots=True)
class SpreadingFirstFit:
    """Dynamic Accelerator Slicer: on the emptiest node, its first GPU, the lowest start."""

    model: GpuModel

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs as they came."""
        return jobs

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return the first place on the emptiest node that has one."""
        nodes = nodes_of(rooms)
        nodes.sort(key=lambda gpus: (-_share_free(self.model, rooms, gpus), gpus.start))
        for gpus in nodes:
            place = first_place(job.profile, rooms, gpus)
            if place is not None:
                return place
        return None


@dataclass(frozen=True, slots=True)
class SlotReservation:
    """HAMi from 2.10 on: by memory, and in a larger instance where there is no other.

    Nodes that are used most go first, and on a node the GPUs that are used least. 1g and
    3g take the highest start, others the lowest.
    """

    model: GpuModel

    def in_order(self, jobs: Iterable[StudyJob]) -> Iterable[StudyJob]:
        """Return jobs as they came."""
        return jobs

    def choose(self, job: StudyJob, rooms: Rooms) -> Place | None:
        """Return the first place, in its order of nodes, GPUs, profiles and starts."""
        for gpu in binpacked(self.model, rooms):
            for profile in large_enough(self.model, job.profile):
                places = legal_places(self.model, rooms.occupied(gpu), profile.name)
                if places:
                    is_from_top = profile.compute_slices in {1, 3}
                    return gpu, places[-1 if is_from_top else 0]
        return None


def first_place(profile: str, rooms: Rooms, gpus: Iterable[int]) -> Place | None:
    """Return the lowest start on the first of some GPUs that has room."""
    for gpu in gpus:
        places = legal_places(rooms.scene.model, rooms.occupied(gpu), profile)
        if places:
            return gpu, places[0]
    return None


def large_enough(model: GpuModel, profile: str) -> list[Profile]:
    """Return the profiles that can do the work of one, by memory, then compute."""
    own = model.require([profile])[0]
    able = [
        p
        for p in model.profiles
        if p.is_plain
        and p.memory_slices >= own.memory_slices
        and p.compute_slices >= own.compute_slices
    ]
    return sorted(able, key=lambda p: (p.memory_slices, p.compute_slices))


def nodes_of(rooms: Rooms) -> list[range]:
    """Return the GPUs of each node."""
    fleet = rooms.scene.fleet
    return [fleet.mates(gpu) for gpu in range(0, len(rooms.gpus), fleet.gpus_per_node)]


def binpacked(model: GpuModel, rooms: Rooms) -> list[int]:
    """Return GPUs: those of the fullest node first, on a node the emptiest first."""
    nodes = nodes_of(rooms)
    nodes.sort(key=lambda gpus: (_share_free(model, rooms, gpus), gpus.start))
    return [
        gpu
        for gpus in nodes
        for gpu in sorted(gpus, key=lambda g: (-free_slices(model, rooms.occupied(g)), g))
    ]


def _share_free(model: GpuModel, rooms: Rooms, gpus: range) -> float:
    free = sum(free_slices(model, rooms.occupied(gpu)) for gpu in gpus)
    return free / (model.memory_slices * len(gpus))
