"""The run with the autoscaler: its loop and its adapters, over HTTP, on virtual time.

First the loop only proposes; when there is something to propose and a window is open,
the same loop is switched to mode auto. After the hours that count no change starts any
more, and the loop goes on until no node is under way.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from autoscaler import __version__
from autoscaler.adapters.kubernetes.credentials import connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.cli.wiring import NAMESPACE, cluster_of, metrics_of
from autoscaler.control.loop import Loop
from autoscaler.control.outcome import CycleOutcome
from autoscaler.control.outside import Outside
from autoscaler.control.proposal import Proposal
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.errors import ObservationError
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.policy.policy import Budgets, Mode, Policy, Prometheus
from autoscaler.domain.policy.window import is_open
from autoscaler.ports import NODES
from autoscaler.simulation.api_server import ApiServer
from autoscaler.simulation.apiserver.request_log import LogEntry
from autoscaler.simulation.demo.run_record import (
    ChangeRecord,
    RunRecord,
    boards_of,
    record_run,
)
from autoscaler.simulation.demo.scenario import Scenario
from autoscaler.simulation.prometheus_server import PrometheusServer
from autoscaler.simulation.workload import NAMESPACE as JOBS_NAMESPACE
from autoscaler.simulation.world import World, WorldSettings

AGENT = f"mig-autoscaler/{__version__}"
IDENTITY = "demo"
# GPU operands start and report within it.
BRING_UP_S = 900.0
# A rollout that is under way when the hours are over ends within it.
LAST_S = 3600.0


class Phase(StrEnum):
    """What the loop may do at the moment."""

    DRY_RUN = "dry run"
    AUTO = "auto"
    LAST = "last changes"


@dataclass(frozen=True, slots=True)
class Scene:
    """What happened in one cycle, for whoever watches."""

    phase: Phase
    outcome: CycleOutcome
    world: World


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The dry run: what was proposed when, and what was asked of the API until then."""

    at_s: float
    proposal: Proposal
    observation: Observation
    requests: int
    mutating: int


@dataclass(frozen=True, slots=True)
class AutoscaledRun:
    """The run with the autoscaler.

    Parameters
    ----------
    opened_s
        When mode auto began, epoch seconds.
    requests
        All requests of the autoscaler, in order.
    dropped
        Requests of anyone that the log no longer holds.
    faults
        What is not as it should be at the end; empty when all is well.
    """

    record: RunRecord
    rehearsal: Rehearsal
    opened_s: float
    changes: tuple[ChangeRecord, ...]
    requests: tuple[LogEntry, ...]
    dropped: int
    faults: tuple[str, ...]


class Watcher(Protocol):
    """Who watches a run and shows it."""

    def watch(self, scene: Scene) -> None:
        """Take what happened in a cycle."""
        ...

    def show_rehearsal(self, rehearsal: Rehearsal) -> None:
        """Take the end of the dry run."""
        ...


def make_world(scenario: Scenario) -> World:
    """Return the embedded cluster of a scenario at its start, with its work to come."""
    namespaces = (JOBS_NAMESPACE, NAMESPACE)
    start_s = scenario.settings.start_s
    settings = WorldSettings(start_s, namespaces=namespaces, bring_up_s=BRING_UP_S)
    world = World(scenario.fleet, settings)
    world.submit(scenario.tasks)
    return world


def run_alone(scenario: Scenario) -> RunRecord:
    """Run a scenario with nobody who changes the mix."""
    world, settings = make_world(scenario), scenario.settings
    before = boards_of(world.hardware, world.fleet.names)
    world.run_until(settings.end_s)
    return record_run(world, settings.start_s, before)


def run_autoscaled(scenario: Scenario, policy: Policy, watcher: Watcher) -> AutoscaledRun:
    """Run a scenario with the autoscaler; ``watcher`` is told of every cycle."""
    world = make_world(scenario)
    with outside_of(world, policy) as outside:
        return Driver(world, scenario, outside, watcher).run(policy)


@contextmanager
def outside_of(world: World, policy: Policy) -> Iterator[Outside]:
    """Serve a world over HTTP and yield the ports that reach it.

    The policy names a Prometheus inside the cluster; here it is one on loopback, under a
    port that differs from run to run.
    """
    with ApiServer(world.store) as api, PrometheusServer(world.metrics.api) as prometheus:
        found = policy.model_copy(update={"prometheus": Prometheus(url=prometheus.url)})
        client = HttpObjectClient(connect_to(api.url), world.clock)
        yield Outside(
            cluster=cluster_of(client, policy, world.clock, NAMESPACE),
            clock=world.clock,
            metrics=metrics_of(found, world.clock),
            identity=IDENTITY,
            namespace=NAMESPACE,
        )


class Driver:
    """Drives the loop and the world in turn: time moves only between two cycles."""

    def __init__(
        self, world: World, scenario: Scenario, outside: Outside, watcher: Watcher
    ) -> None:
        self._world = world
        self._settings = scenario.settings
        self._outside = outside
        self._watcher = watcher
        self._phase = Phase.DRY_RUN
        self._journals: dict[str, Journal] = {}
        self._changes: list[ChangeRecord] = []

    def run(self, policy: Policy) -> AutoscaledRun:
        """Go through dry run, hours of change, and the end of what is under way."""
        world, end_s = self._world, self._settings.end_s
        before = boards_of(world.hardware, world.fleet.names)
        self._policy = policy
        self._loop = Loop(self._outside, lambda: self._policy)
        rehearsal = self._rehearse()
        self._watcher.show_rehearsal(rehearsal)
        opened_s = world.clock.now_s()
        self._enter(Phase.AUTO, policy.model_copy(update={"mode": Mode.AUTO}))
        while world.clock.now_s() < end_s:
            self._cycle(end_s)
        record = record_run(world, self._settings.start_s, before)
        self._finish()
        return AutoscaledRun(
            record=replace(record, after=boards_of(world.hardware, world.fleet.names)),
            rehearsal=rehearsal,
            opened_s=opened_s,
            changes=tuple(self._changes),
            requests=tuple(world.store.requests.entries(is_ours)),
            dropped=world.store.requests.num_dropped,
            faults=faults_of(world, self._changes),
        )

    def _rehearse(self) -> Rehearsal:
        """Propose until a window is open and there is something to propose.

        What is kept is the last proposal before that, or that one if it is the first.
        """
        half_s = self._settings.start_s + self._settings.duration_s / 2
        found = self._propose()
        while not self._may_begin(found) and self._world.clock.now_s() < half_s:
            latest = self._propose()
            if latest.proposal.plan.changes or not found.proposal.plan.changes:
                found = latest
        return found

    def _propose(self) -> Rehearsal:
        outcome = self._cycle(self._settings.end_s)
        log, view, plan = self._world.store.requests, outcome.view, outcome.plan
        if view is None or plan is None:
            raise ObservationError(outcome.message)
        return Rehearsal(
            at_s=outcome.started_s,
            proposal=Proposal(view.snapshot, view.demand, plan),
            observation=view.observation,
            requests=len(log.entries(is_ours)),
            mutating=log.num_mutating(AGENT),
        )

    def _may_begin(self, found: Rehearsal) -> bool:
        windows, now_s = self._policy.disruption.windows, self._world.clock.now_s()
        return bool(found.proposal.plan.changes) and is_open(windows, now_s)

    def _finish(self) -> None:
        """Let what is under way come to its end, and start nothing."""
        budgets = Budgets(nodes=0, per_hour=0)
        disruption = self._policy.disruption.model_copy(update={"budgets": budgets})
        self._enter(Phase.LAST, self._policy.model_copy(update={"disruption": disruption}))
        limit_s = self._world.clock.now_s() + LAST_S
        while self._cycle(limit_s).journals and self._world.clock.now_s() < limit_s:
            continue
        self._loop.close()

    def _enter(self, phase: Phase, policy: Policy) -> None:
        self._phase, self._policy = phase, policy

    def _cycle(self, limit_s: float) -> CycleOutcome:
        """Run one cycle, and the world until the next one is due."""
        outcome = self._loop.step()
        for record in outcome.records:
            journal = self._journals.pop(record.rollout, None)
            if journal is not None:
                self._changes.append(ChangeRecord(record, journal))
        self._journals |= {journal.id: journal for journal in outcome.journals.values()}
        self._watcher.watch(Scene(self._phase, outcome, self._world))
        due_s = self._world.clock.now_s() + self._policy.loop.interval_s
        self._world.run_until(min(due_s, limit_s))
        return outcome


def is_ours(entry: LogEntry) -> bool:
    """Say whether a request came from the autoscaler."""
    return entry.user_agent == AGENT


def faults_of(world: World, changes: Iterable[ChangeRecord]) -> tuple[str, ...]:
    """Return what is wrong with nodes: still cordoned, or not what their change promised."""
    targets = {c.record.node: c.journal.target.resources for c in changes if c.is_done}
    faults = []
    for item in world.client("demo").list(NODES).items:
        node = node_from(item)
        if node.unschedulable:
            faults.append(f"{node.name} is still cordoned")
        target = targets.get(node.name)
        if target is not None and node.allocatable != target:
            faults.append(f"{node.name} advertises {node.allocatable} and not {target}")
    return tuple(faults)
