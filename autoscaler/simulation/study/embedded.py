"""Runs a case on the embedded cluster: the real loop, planner and rollouts.

Everything that a change takes is there: cordons, the device plugin's restart, kubelet's
lag, the pace of the loop. Jobs are pods that ask for their profile by resource name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.loop import Loop
from autoscaler.control.outcome import CycleOutcome, Decision
from autoscaler.control.outside import Outside
from autoscaler.domain.counts import Counts
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.simulation.collecting import few_collections
from autoscaler.simulation.controllers.agents import AgentFactory
from autoscaler.simulation.controllers.scheduler import SchedulerSettings
from autoscaler.simulation.figures import PodTimes
from autoscaler.simulation.fleet import Fleet, NodeGroup
from autoscaler.simulation.study.announcing import announce
from autoscaler.simulation.study.closing import Closing
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.jobs import StudyJob
from autoscaler.simulation.study.known_past import KnownPast
from autoscaler.simulation.study.outcome import Cut, JobTimes, LoopWork, Outcome
from autoscaler.simulation.study.placements import Place, Placements, Recuts
from autoscaler.simulation.study.seen_metrics import SeenMetrics
from autoscaler.simulation.study.splits import Case
from autoscaler.simulation.study.tasks import (
    placeholder_priority_of,
    priority_classes_of,
    tasks_of_case,
)
from autoscaler.simulation.timing import Timing
from autoscaler.simulation.workload import NAMESPACE
from autoscaler.simulation.world import World, WorldSettings

BRING_UP_S = 900.0
LOOP_NAMESPACE = "mig-autoscaler"
# Finished pods are gone soon: they are of no interest here.
FINISHED_TTL_S = 1.0
# A job that has not run so long after the last one arrived is taken to run never.
PATIENCE_S = 90 * DAY_S


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """How a case is put on the embedded cluster.

    Parameters
    ----------
    policy
        The policy of the loop; ``None`` for no loop at all.
    layouts
        Profile counts of each GPU at the start.
    gpus_per_node
        GPUs of a node; one node has the rest.
    closes_by_profile
        Whether what becomes free waits for the loop's next look.
    agent
        Makes node agents, where the driver is ``agent``.
    """

    layouts: tuple[Counts, ...]
    policy: Policy | None = None
    driver: Driver = Driver.AGENT
    gpus_per_node: int = 1
    closes_by_profile: bool = False
    agent: AgentFactory | None = None


@dataclass(slots=True)
class Pace:
    """Calls the loop at its pace, but only when something is new or due.

    A cycle that would see what the one before it saw ends before it plans; leaving it out
    changes nothing but the time that the study takes.
    """

    loop: Loop
    world: World
    interval_s: float
    recuts: Recuts
    closing: Closing | None = None
    sees_metrics: bool = False
    plans: int = 0
    cycles: int = 0
    errors: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    plan_gap: float = 0.0
    _seen: str = ""
    _due_s: float = 0.0

    @property
    def work(self) -> LoopWork:
        """What the loop has done so far."""
        return LoopWork(
            cycles=self.cycles,
            plans=self.plans,
            errors=len(self.errors),
            first_error=next(iter(self.errors), ""),
            ends=dict(sorted(self.ends.items())),
        )

    def step(self) -> float | None:
        """Run a cycle when it is time for one and it may see something new."""
        now_s = self.world.clock.now_s()
        turn, late_s = divmod(round(now_s - self.world.settings.start_s, 3), self.interval_s)
        next_s = self.world.settings.start_s + (turn + 1) * self.interval_s
        if not late_s and self._is_called(now_s):
            self._note(self.loop.step())
            self._seen = self.world.store.version
            if self.closing is not None and self.closing.open_all():
                self.world.scheduler.reconsider()
        if self._is_called(next_s):
            return next_s
        return max(next_s, self._due_s) if self._due_s < inf else None

    def _is_called(self, at_s: float) -> bool:
        return self.world.store.version != self._seen or at_s >= self._due_s

    def _note(self, outcome: CycleOutcome) -> None:
        self.cycles += 1
        self.ends.update(record.result.value for record in outcome.records)
        self.recuts.note({record.node for record in outcome.records})
        # Samples get newer without a word of the API, and open rollouts wait for them.
        is_waiting = self.sees_metrics and bool(outcome.journals)
        soon_s = outcome.started_s + self.interval_s
        self._due_s = min(soon_s, outcome.due_s) if is_waiting else outcome.due_s
        self.errors.extend(outcome.errors)
        if outcome.decision is Decision.NOT_LEADER:
            # There is no other replica, so the Lease could not be had.
            self.errors.append(outcome.message)
        if outcome.decision is Decision.PLANNED and outcome.plan is not None:
            self.plans += 1
            optimality = outcome.plan.optimality
            self.plan_gap = max(self.plan_gap, inf if optimality is None else optimality.gap)


@few_collections()
def run_embedded(
    policy: str,
    case: Case,
    settings: EmbeddedSettings,
    prepare: Callable[[World], object] | None = None,
) -> Outcome:
    """Run a case to the end of its last job, and return what came of it.

    Parameters
    ----------
    prepare
        Is handed the cluster before the first job comes, e.g. to plan faults.
    """
    namespaces = (NAMESPACE, LOOP_NAMESPACE)
    closing = Closing() if settings.closes_by_profile and settings.policy else None
    classes = priority_classes_of(case)
    world = World(
        fleet_of(case, settings),
        WorldSettings(
            case.start_s,
            timing=Timing(seed=case.cluster_seed),
            namespaces=namespaces,
            bring_up_s=BRING_UP_S,
            finished_ttl_s=FINISHED_TTL_S,
            agent=settings.agent,
            scrapes=None,
            priority_classes=tuple(classes.values()),
            placeholder_priority=placeholder_priority_of(classes),
            scheduler=SchedulerSettings(extra_filters=(closing,) if closing else ()),
        ),
    )
    if closing is not None:
        closing.watch(world.platform)
    if case.announced:
        announce(world, NAMESPACE, case.announced)
    if prepare is not None:
        prepare(world)
    jobs = case.present.jobs
    world.submit(tasks_of_case(case, classes, settings.policy))
    placements = Placements(world, case.start_s)
    world.engine.add(placements)
    pace = _add_loop(world, case, settings, closing)
    last_s = max((job.arrival_s for job in jobs), default=0.0)
    end_s = case.start_s + max(case.present.span_s, last_s)
    world.run_until(end_s)
    while _open(world, len(jobs)) and world.clock.now_s() < end_s + PATIENCE_S:
        world.run_for(DAY_S)
    times = _times(jobs, world, placements)
    return _outcome(policy, times, placements.cuts, pace)


def fleet_of(case: Case, settings: EmbeddedSettings) -> Fleet:
    """Return the nodes of a case; the last one has what is left over."""
    size = settings.gpus_per_node
    places = range(0, len(settings.layouts), size)
    groups = [
        NodeGroup(
            (f"gpu-{number:03d}",),
            case.model.key,
            settings.layouts[place : place + size],
            driver=settings.driver,
        )
        for number, place in enumerate(places, start=1)
    ]
    return Fleet(tuple(groups))


def _add_loop(
    world: World, case: Case, settings: EmbeddedSettings, closing: Closing | None
) -> Pace | None:
    policy = settings.policy
    if policy is None:
        return None
    earlier = [replace(j, arrival_s=j.arrival_s - case.past.span_s) for j in case.past.jobs]
    past = KnownPast(case.start_s, earlier, case.present.jobs, lambda: _ends_of(world))
    client = world.client(LOOP_NAMESPACE)
    # The node agent says itself who holds what; what an eviction would cost metrics say.
    needs_metrics = settings.driver is Driver.MIG_MANAGER or policy.disruption.eviction.enabled
    metrics = SeenMetrics(world) if needs_metrics else None
    cluster = KubernetesCluster(client, world.clock)
    outside = Outside(cluster, world.clock, metrics=metrics, history=past)
    pace = Pace(
        Loop(outside, lambda: policy),
        world,
        policy.loop.interval_s,
        Recuts(world),
        closing=closing,
        sees_metrics=metrics is not None,
    )
    world.engine.add(pace)
    return pace


def _ends_of(world: World) -> dict[int, float]:
    """Return the ends of the jobs that are over, in seconds of the run."""
    return {
        _number_of(pod): pod.ended_s - world.settings.start_s
        for pod in world.observer.pods
        if pod.outcome == "Succeeded" and pod.ended_s is not None
    }


def _number_of(pod: PodTimes) -> int:
    return int(pod.task.rpartition("-")[2])


def _open(world: World, number: int) -> bool:
    """Say whether jobs are left that have not come or not ended."""
    return len(_ends_of(world)) < number


def _times(
    jobs: Sequence[StudyJob], world: World, placements: Placements
) -> tuple[JobTimes, ...]:
    pods: dict[int, list[PodTimes]] = {}
    for pod in world.observer.pods:
        pods.setdefault(_number_of(pod), []).append(pod)
    start_s, places = world.settings.start_s, placements.places
    return tuple(_times_of(job, pods.get(job.number, []), places, start_s) for job in jobs)


def _outcome(
    policy: str, times: tuple[JobTimes, ...], cuts: tuple[Cut, ...], pace: Pace | None
) -> Outcome:
    return Outcome(
        policy=policy,
        jobs=times,
        ended_s=max((t.end_s for t in times if t.end_s is not None), default=0.0),
        changes=0 if pace is None else pace.recuts.number,
        cuts=cuts,
        evictions=sum(own.restarts for own in times),
        plan_gap=0.0 if pace is None else pace.plan_gap,
        loop=None if pace is None else pace.work,
    )


def _times_of(
    job: StudyJob,
    pods: Sequence[PodTimes],
    places: Mapping[tuple[str, str], Place],
    run_start_s: float,
) -> JobTimes:
    """Return the life of a job from those of its pods; the last one counts."""
    if not pods:
        return JobTimes(job)
    last, earlier = pods[-1], pods[:-1]
    is_over = last.outcome == "Succeeded"
    lost_s = sum(p.ended_s - p.started_s for p in earlier if p.ended_s and p.started_s)
    left_s = round(last.ended_s - run_start_s, 3) if last.ended_s else None
    return JobTimes(
        job,
        start_s=None if last.started_s is None else round(last.started_s - run_start_s, 3),
        end_s=left_s if is_over else None,
        profile=job.profile if last.started_s is not None else "",
        place=places.get((last.namespace, last.name), (last.node, "")),
        left_s=left_s,
        restarts=len(earlier),
        lost_s=round(lost_s, 3),
    )
