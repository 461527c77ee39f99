"""The record of one run: all that its figures and pictures are computed from."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.simulation.figures import PodTimes, Sample
from autoscaler.simulation.hardware import Hardware
from autoscaler.simulation.world import World


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What one GPU held at one moment; ``geometry`` is ``None`` with MIG off."""

    node: str
    index: int
    geometry: Geometry | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run.

    Parameters
    ----------
    start_s, end_s
        The hours that count, epoch seconds.
    pods
        By submission.
    queue, running
        Instances waited for and run on, by resource name, from a moment on.
    served
        Slice-seconds that pods ran on.
    before, after
        All GPUs at the start and after the last change.
    """

    start_s: float
    end_s: float
    pods: tuple[PodTimes, ...]
    queue: tuple[Sample, ...]
    running: tuple[Sample, ...]
    served: float
    before: tuple[BoardRecord, ...]
    after: tuple[BoardRecord, ...]

    def wait_s(self, pod: PodTimes) -> float:
        """Return how long a pod waited; one that never started, until the end."""
        return (self.end_s if pod.started_s is None else pod.started_s) - pod.submitted_s


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One change of a node that is over, with the journal that led it."""

    record: RolloutRecord
    journal: Journal

    @property
    def is_done(self) -> bool:
        """Whether the node has its new layout."""
        return self.record.result.value == "done"


def record_run(world: World, start_s: float, before: tuple[BoardRecord, ...]) -> RunRecord:
    """Return the record of a run from a moment until now."""
    now_s, observer = world.clock.now_s(), world.observer
    return RunRecord(
        start_s=start_s,
        end_s=now_s,
        pods=observer.pods,
        queue=observer.queue.samples,
        running=observer.running.samples,
        served=observer.served_slices(start_s, now_s),
        before=before,
        after=boards_of(world.hardware, world.fleet.names),
    )


def boards_of(hardware: Hardware, nodes: Iterable[str]) -> tuple[BoardRecord, ...]:
    """Return what every GPU of some nodes holds now."""
    return tuple(
        BoardRecord(name, gpu.index, gpu.geometry if gpu.mig_enabled else None)
        for name in nodes
        for gpu in hardware.gpus(name)
    )
