"""Work for the cluster: tasks that are submitted as pods or Jobs when their time comes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError, NotFound, Refused
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.ports import JOBS, PODS, Kind, RawObject
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import RUN_SECONDS
from autoscaler.simulation.digits import number_text
from autoscaler.simulation.traces import Arrival

NAMESPACE = "jobs"
TASK_LABEL = "sim.mig-autoscaler.io/task"


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work.

    Parameters
    ----------
    arrival_s
        Epoch second at which it is submitted.
    run_s
        How long it runs once started; ``None`` for ever.
    requests
        Devices of its one pod, by resource name.
    as_job
        Whether a Job owns its pod, so that it starts again after an eviction.
    """

    name: str
    arrival_s: float
    run_s: float | None
    requests: Counts
    namespace: str = NAMESPACE
    as_job: bool = False
    priority_class: str = ""
    cpu_milli: int = 1000
    memory_mib: int = 1024
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)


class Submitter:
    """Submits tasks when they are due.

    Parameters
    ----------
    tasks
        In any order; those of one moment are submitted by name.
    """

    def __init__(self, platform: Platform, tasks: Iterable[Task] = ()) -> None:
        self._platform = platform
        self._tasks: list[Task] = []
        self.add(tasks)

    def add(self, tasks: Iterable[Task]) -> None:
        """Take more tasks."""
        # The next one is at the end, where taking it is cheap.
        self._tasks.extend(tasks)
        self._tasks.sort(key=lambda task: (task.arrival_s, task.name), reverse=True)

    def step(self) -> float | None:
        """Submit what is due."""
        while self._tasks and self._tasks[-1].arrival_s <= self._platform.now_s():
            self._submit(self._tasks.pop())
        return self._tasks[-1].arrival_s if self._tasks else None

    def _submit(self, task: Task) -> None:
        kind, body = job_body(task) if task.as_job else (PODS, pod_body(task))
        try:
            self._platform.client.create(kind, task.namespace, body)
        except (NotFound, Refused):
            # A namespace or quota stands against it, as it may for anyone.
            return


def pod_body(task: Task) -> RawObject:
    """Return the pod of a task."""
    spec: RawObject = {"restartPolicy": "Never", "containers": [_container(task)]}
    if task.priority_class:
        spec["priorityClassName"] = task.priority_class
    if task.node_selector:
        spec["nodeSelector"] = dict(task.node_selector)
    return {"metadata": {"name": task.name, **_marks(task)}, "spec": spec}


def job_body(task: Task) -> tuple[Kind, RawObject]:
    """Return the Job of a task."""
    pod = pod_body(task)
    template = {"metadata": _marks(task), "spec": pod["spec"]}
    body = {
        "metadata": {"name": task.name, "labels": {TASK_LABEL: task.name, **task.labels}},
        "spec": {"backoffLimit": 6, "completions": 1, "parallelism": 1, "template": template},
    }
    return JOBS, body


def tasks_of(
    arrivals: Iterable[Arrival],
    model: GpuModel,
    *,
    start_s: float,
    as_jobs: bool = False,
    split: bool = True,
) -> tuple[Task, ...]:
    """Return the tasks of trace arrivals on a fleet of one GPU model.

    Parameters
    ----------
    arrivals
        With offsets from ``start_s``.
    split
        Whether a job of several GPUs becomes as many tasks of one whole GPU; otherwise
        its pod asks for all of them on one node.
    """
    tasks: list[Task] = []
    for number, arrival in enumerate(arrivals):
        job = arrival.job
        resource = resource_of(model, job.slices)
        parts = job.instances if split else 1
        for part in range(parts):
            name = f"openb-{number:05d}-{job.number}" + (f"-{part}" if parts > 1 else "")
            tasks.append(
                Task(
                    name=name,
                    arrival_s=start_s + arrival.offset_s,
                    run_s=job.duration_s,
                    requests=Counts({resource: 1 if split else job.instances}),
                    as_job=as_jobs,
                )
            )
    return tuple(tasks)


def resource_of(model: GpuModel, slices: int) -> str:
    """Return the resource of the smallest standard profile with so many compute slices.

    Raises
    ------
    ConfigError
        When even the whole GPU has fewer.
    """
    profiles = (p for p in model.profiles if p.is_plain and p.compute_slices >= slices)
    found = min(profiles, key=lambda p: (p.compute_slices, p.memory_slices), default=None)
    if found is None:
        raise ConfigError(f"{model.key} has no profile of {slices} compute slices")
    return f"nvidia.com/mig-{found.name}"


def _marks(task: Task) -> RawObject:
    annotations = dict(task.annotations)
    if task.run_s is not None:
        annotations[RUN_SECONDS] = number_text(task.run_s)
    labels = {TASK_LABEL: task.name, **task.labels}
    return {"labels": labels, "annotations": annotations}


def _container(task: Task) -> RawObject:
    amounts = {"cpu": f"{task.cpu_milli}m", "memory": f"{task.memory_mib}Mi"}
    devices = {name: str(number) for name, number in task.requests.items()}
    return {
        "name": "main",
        "image": "registry.example/simulated:1",
        "resources": {"requests": {**amounts, **devices}, "limits": devices},
    }
