"""GPUs of the light simulator: instances with placements, who holds them, from when on.

Every change is checked against the model, so that a mistake of a policy cannot pass
for a gain.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from autoscaler.domain.errors import InvariantError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import is_valid
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import StudyJob

Place = tuple[int, GpuInstance]


@dataclass(slots=True)
class Cell:
    """One instance.

    Parameters
    ----------
    usable_s
        From when on a job may start on it.
    job
        Who holds it.
    """

    usable_s: float = 0.0
    job: StudyJob | None = None


class Cells:
    """All instances of a fleet of equal GPUs.

    Parameters
    ----------
    layouts
        Instances of each GPU at the start, all usable.
    """

    def __init__(self, model: GpuModel, layouts: Sequence[Geometry]) -> None:
        self.model = model
        self._gpus: list[dict[GpuInstance, Cell]] = [
            {instance: Cell() for instance in layout.instances} for layout in layouts
        ]
        self._free: dict[str, list[Place]] = {p.name: [] for p in model.profiles}
        self._geometries: list[Geometry] = list(layouts)
        self._valid: set[Geometry] = set()
        for gpu, layout in enumerate(layouts):
            self._check(layout)
            for instance in layout.instances:
                insort(self._free[instance.profile], (gpu, instance))

    def __len__(self) -> int:
        return len(self._gpus)

    def free(self, profile: str) -> Sequence[Place]:
        """Return the instances of a profile that a job may start on now, in order."""
        return self._free[profile]

    def geometry(self, gpu: int) -> Geometry:
        """Return all instances of a GPU."""
        return self._geometries[gpu]

    def fixed(self, gpu: int, now_s: float) -> Geometry:
        """Return the instances of a GPU that are held or being created."""
        own = self._gpus[gpu]
        return Geometry(
            tuple(i for i, cell in own.items() if cell.job is not None or cell.usable_s > now_s)
        )

    def holders(self, gpu: int) -> dict[GpuInstance, StudyJob]:
        """Return who holds which instance of a GPU."""
        own = self._gpus[gpu].items()
        return {i: cell.job for i, cell in own if cell.job is not None}

    def take(self, place: Place, job: StudyJob, now_s: float) -> None:
        """Let a job hold a free instance."""
        cell = self._cell(place)
        if cell.job is not None or cell.usable_s > now_s:
            raise InvariantError(f"{place[1]} of GPU {place[0]} is not free for {job.number}")
        self._free[place[1].profile].remove(place)
        cell.job = job

    def give(self, place: Place, now_s: float) -> None:
        """Let go of an instance."""
        cell = self._cell(place)
        if cell.job is None:
            raise InvariantError(f"nobody holds {place[1]} of GPU {place[0]}")
        cell.job = None
        if cell.usable_s <= now_s:
            insort(self._free[place[1].profile], place)

    def cut(self, gpu: int, target: Geometry, now_s: float, ready_s: float) -> bool:
        """Destroy the free instances that a target has not; create what it has beyond.

        Returns
        -------
        bool
            Whether anything changed.
        """
        own = self._gpus[gpu]
        gone = [i for i in own if i not in target.instances]
        new = [i for i in target.instances if i not in own]
        if not gone and not new:
            return False
        self._check(target)
        for instance in gone:
            cell = own[instance]
            if cell.job is not None or cell.usable_s > now_s:
                raise InvariantError(f"{instance} of GPU {gpu} is in use and would be lost")
            self._free[instance.profile].remove((gpu, instance))
            del own[instance]
        for instance in new:
            own[instance] = Cell(usable_s=ready_s)
            if ready_s <= now_s:
                insort(self._free[instance.profile], (gpu, instance))
        self._geometries[gpu] = target
        return True

    def close(self, gpu: int, now_s: float, until_s: float) -> None:
        """Let nothing start on the free instances of a GPU for a time."""
        for instance, cell in self._gpus[gpu].items():
            if cell.usable_s <= now_s < until_s:
                if cell.job is None:
                    self._free[instance.profile].remove((gpu, instance))
                cell.usable_s = until_s

    def open(self, gpu: int, now_s: float) -> None:
        """Make free what has become usable on a GPU by now."""
        for instance, cell in self._gpus[gpu].items():
            place = (gpu, instance)
            is_free = cell.job is None and cell.usable_s <= now_s
            if is_free and place not in self._free[instance.profile]:
                insort(self._free[instance.profile], place)

    def _cell(self, place: Place) -> Cell:
        try:
            return self._gpus[place[0]][place[1]]
        except (IndexError, KeyError) as error:
            raise InvariantError(f"GPU {place[0]} has no {place[1]}") from error

    def _check(self, geometry: Geometry) -> None:
        if geometry not in self._valid:
            if not is_valid(self.model, geometry):
                raise InvariantError(f"{self.model.key} cannot be cut into {geometry}")
            self._valid.add(geometry)
