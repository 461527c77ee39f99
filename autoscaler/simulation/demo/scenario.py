"""A scenario: a fleet, the work that comes to it, and the mix it starts with.

The work is that of a real trace, drawn again so that it fills the fleet to a given
load. The starting mix is the best one for the days before: what a careful operator
would have chosen, and not a straw man.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import GpuModel, require_model
from autoscaler.planning.past.exact_mix import exact_mix
from autoscaler.planning.past.queue_model import Job
from autoscaler.planning.past.static_mix import StaticMix
from autoscaler.simulation.fleet import Fleet, NodeGroup, numbered
from autoscaler.simulation.traces import (
    DAY_S,
    Hours,
    Load,
    Rule,
    TraceJob,
    load_openb,
    resample,
)
from autoscaler.simulation.workload import Task, resource_of, tasks_of

# Draws of the past that the starting mix is tuned on; more change it by an instance or two.
PAST_DRAWS = 4
# Arrivals of the trace are dense from day 115 on, and its last day is cut off. Of its
# three blocks of eight hours, most jobs arrive in this one.
PAST, PRESENT = Hours(115, 133, 16, 24), Hours(134, 147, 16, 24)
MIG_RESOURCE = "nvidia.com/mig-"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which jobs of the trace a scenario draws from.

    Parameters
    ----------
    rule
        How a share of a GPU of the trace becomes a MIG profile.
    past, present
        Hours that the starting mix is tuned on, and hours that are run.
    shortest_s, longest_s
        Bounds of how long a job runs. The very short ones are half of all jobs and a
        twentieth of the work; what runs longer than the scenario cannot end in it.
    """

    rule: Rule = Rule.V100_EQUIVALENT
    past: Hours = PAST
    present: Hours = PRESENT
    shortest_s: float = 600.0
    longest_s: float = 28_800.0

    def candidates(self, hours: Hours) -> tuple[TraceJob, ...]:
        """Return the jobs of some hours that are drawn from."""
        return tuple(
            job
            for job in load_openb(self.rule)
            if hours.contains(job.arrival_s)
            and self.shortest_s <= job.duration_s <= self.longest_s
        )


@dataclass(frozen=True, slots=True)
class ScenarioSettings:
    """How a scenario is made.

    Parameters
    ----------
    start_s
        Epoch second at which the run begins.
    nodes
        Nodes of the fleet, at least 2: the first has MIG off and is reserved.
    gpus
        GPUs of each node.
    load
        Work that is offered, as a share of what the other nodes' GPUs could do.
    """

    start_s: float
    seed: int = 1
    nodes: int = 12
    gpus: int = 8
    load: float = 0.9
    model: str = "a100-40gb"
    choice: Choice = field(default_factory=Choice)

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.gpus < 1 or self.load <= 0:
            raise ValueError(f"not a scenario: {self}")

    @property
    def duration_s(self) -> float:
        """Length of the run in seconds."""
        return self.choice.present.span_s

    @property
    def end_s(self) -> float:
        """Epoch second at which the run ends."""
        return self.start_s + self.duration_s

    @property
    def gpus_in_use(self) -> int:
        """GPUs that are cut; those of the reserved node are not."""
        return (self.nodes - 1) * self.gpus

    @property
    def gpu_model(self) -> GpuModel:
        """Model of all GPUs."""
        return require_model(self.model)

    @property
    def capacity(self) -> float:
        """Slice-seconds that the GPUs in use could do in the run."""
        return self.gpus_in_use * self.gpu_model.compute_slices * self.duration_s


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario, ready to run.

    Parameters
    ----------
    past
        What the starting mix was tuned on, one load a draw.
    """

    settings: ScenarioSettings
    load: Load
    past: tuple[Load, ...]
    mix: StaticMix
    fleet: Fleet
    tasks: tuple[Task, ...]


def build_scenario(settings: ScenarioSettings) -> Scenario:
    """Draw the work of a scenario and tune the mix that it starts with."""
    choice, work = settings.choice, settings.load * settings.capacity
    present = choice.candidates(choice.present)
    load = resample(present, choice.present, work=work, seed=settings.seed)
    before = choice.candidates(choice.past)
    past = tuple(
        resample(before, choice.past, work=work, seed=settings.seed + draw)
        for draw in range(PAST_DRAWS)
    )
    model = settings.gpu_model
    mix = exact_mix(model, past_jobs(model, past), settings.gpus_in_use, DAY_S * len(past))
    return Scenario(
        settings=settings,
        load=load,
        past=past,
        mix=mix,
        fleet=build_fleet(settings, mix.gpus),
        tasks=tasks_of(load.arrivals, model, start_s=settings.start_s),
    )


def past_jobs(model: GpuModel, loads: Sequence[Load]) -> dict[str, list[Job]]:
    """Return the jobs of some loads by profile, each load on a day of its own.

    A job of several GPUs is as many jobs of one, as in the run itself.
    """
    jobs: dict[str, list[Job]] = {}
    for day, load in enumerate(loads):
        for arrival in load.arrivals:
            job = arrival.job
            name = resource_of(model, job.slices).removeprefix(MIG_RESOURCE)
            queued = Job(day * DAY_S + arrival.offset_s, job.duration_s)
            jobs.setdefault(name, []).extend([queued] * job.instances)
    return jobs


def build_fleet(settings: ScenarioSettings, gpus: Sequence[Counts]) -> Fleet:
    """Return the nodes: the reserved one first, then GPUs that are cut alike together."""
    names = numbered("gpu", settings.nodes)
    groups = [NodeGroup(names[:1], settings.model, (None,) * settings.gpus)]
    for number, name in enumerate(names[1:]):
        layout = gpus[number * settings.gpus : (number + 1) * settings.gpus]
        groups.append(NodeGroup((name,), settings.model, tuple(layout)))
    return Fleet(tuple(groups))
