"""Values of the metrics after a cycle.

Every label set that can occur is there from the first cycle on, at zero, so that a
first failure is a step and not a new series. What was not observed is absent.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autoscaler.control import metric_catalog as catalog
from autoscaler.control.metric_catalog import Metric
from autoscaler.control.outcome import CycleOutcome, Decision, View
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import parse_resource
from autoscaler.domain.plan.plan import Plan
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.domain.policy.window import next_open_s
from autoscaler.domain.reasons import Reason
from autoscaler.planning.gating.timing import timing

COMPLETE = frozenset({Decision.OBSERVED, Decision.UNCHANGED, Decision.PLANNED})
NODE_STATES = ("changeable", "held", "reserved", "rolling")
PLACEHOLDER_STATES = ("waiting", "bound")
ANSWERS = ("accepted", "refused")
PHASES = ("pending", "running")


@dataclass(frozen=True, slots=True)
class Sample:
    """One value: a gauge's level, a counter's increment, or a histogram's observation."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What one cycle changes in the metrics.

    Parameters
    ----------
    gauges
        Replace all earlier values of the same metrics; a metric without any sample
        here keeps what it had.
    increments
        To add to counters; zero where a series is only to exist.
    observations
        To add to histograms.
    """

    gauges: tuple[Sample, ...] = ()
    increments: tuple[Sample, ...] = ()
    observations: tuple[Sample, ...] = ()


def telemetry_of(outcome: CycleOutcome, policy: Policy) -> Telemetry:
    """Return the values of all metrics after a cycle."""
    gauges = [*_loop_gauges(outcome, policy), *_calendar(policy, outcome.started_s)]
    if outcome.view is not None:
        gauges += [*_fleet(outcome.view), *_demand(outcome.view)]
        gauges += _counted(
            catalog.OPEN_ROLLOUTS, State, (j.state for j in outcome.journals.values())
        )
    if outcome.plan is not None:
        gauges += _plan(outcome.plan)
    return Telemetry(tuple(gauges), tuple(_increments(outcome)), tuple(_observations(outcome)))


def initial_telemetry() -> Telemetry:
    """Return what exists before the first cycle: every closed label set, at zero."""
    zeros = [Sample(catalog.CYCLES, 0, (d.value,)) for d in Decision]
    zeros += [Sample(catalog.ROLLOUTS, 0, (r.value,)) for r in Result]
    zeros += [Sample(catalog.EVICTIONS, 0, (a,)) for a in ANSWERS]
    zeros.append(Sample(catalog.ERRORS, 0))
    gauges = [Sample(catalog.HOLDS, 0, (r.value,)) for r in Reason]
    gauges += [Sample(catalog.BLOCKED, 0, (r.value,)) for r in Reason]
    gauges += [Sample(catalog.UNSERVED, 0, (r.value,)) for r in Reason]
    gauges += [Sample(catalog.OPEN_ROLLOUTS, 0, (s.value,)) for s in State]
    gauges += [Sample(m, 0) for m in (catalog.CHANGES, catalog.QUARANTINED, catalog.LEADER)]
    return Telemetry(tuple(gauges), tuple(zeros))


def _loop_gauges(outcome: CycleOutcome, policy: Policy) -> Iterator[Sample]:
    view = outcome.view
    yield Sample(catalog.LEADER, float(outcome.standing.is_leader))
    for mode in Mode:
        yield Sample(catalog.MODE, float(mode is policy.mode), (mode.value,))
    if outcome.decision in COMPLETE:
        yield Sample(catalog.LAST_SUCCESS, outcome.ended_s)
    paused = view is not None and view.paused is not None
    acts = policy.mode is Mode.AUTO and view is not None and not paused
    yield Sample(catalog.SAFE_TO_ACT, float(acts))
    if view is not None:
        yield Sample(catalog.PAUSED, float(paused))
        yield Sample(catalog.METRICS_GAP, float(bool(view.metrics_gap)))


def _calendar(policy: Policy, now_s: float) -> Iterator[Sample]:
    rules, now = policy.disruption, timing(policy.disruption, now_s)
    is_open = now.in_window and now.frozen is None
    opens_s = now_s if is_open else next_open_s(rules.windows, now_s, rules.freezes)
    yield Sample(catalog.WINDOW_OPEN, float(is_open))
    yield Sample(catalog.WINDOW_OPENS, opens_s or 0.0)


def _fleet(view: View) -> Iterator[Sample]:
    nodes = view.snapshot.nodes
    states = Counter((node.pool, _state(node)) for node in nodes)
    for pool in sorted(view.snapshot.pools_total):
        for state in NODE_STATES:
            yield Sample(catalog.NODES, states[pool, state], (pool, state))
    yield from _counted(catalog.HOLDS, Reason, (hold.reason for hold in view.snapshot.holds))
    quarantined = sum(1 for n in nodes if any(h.reason is Reason.QUARANTINED for h in n.holds))
    yield Sample(catalog.QUARANTINED, quarantined)
    yield from Amounts(view).of(catalog.SUPPLY, ((n, n.supply) for n in nodes))
    yield from Amounts(view).of(catalog.FREE, ((n, n.takeable) for n in nodes))
    placeholders = Counter(
        (n.pool, "bound" if p.is_bound else "waiting") for n in nodes for p in n.placeholders
    )
    for pool in sorted(view.snapshot.pools_total):
        for state in PLACEHOLDER_STATES:
            yield Sample(catalog.PLACEHOLDERS, placeholders[pool, state], (pool, state))


def _state(node: FleetNode) -> str:
    if node.journal is not None:
        return "rolling"
    if node.reserved:
        return "reserved"
    return "changeable" if node.is_changeable else "held"


def _demand(view: View) -> Iterator[Sample]:
    """Return instances asked for, pending in the pool of the first node that may serve."""
    amounts = Amounts(view)
    homes = {node.name: node for node in view.snapshot.nodes}
    pending: list[tuple[FleetNode, Counts]] = []
    for group in view.demand.groups:
        home = next((homes[name] for name in sorted(group.eligible) if name in homes), None)
        if home is not None:
            pending.append((home, Counts().plus(group.bundle, group.number)))
    running = [(node, node.allocated) for node in view.snapshot.nodes]
    for phase, found in zip(PHASES, (pending, running), strict=True):
        yield from amounts.of(catalog.REQUESTED, found, phase)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Adds up resources by pool and profile, with a zero for each that could be there."""

    view: View
    zeros: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.view.snapshot.nodes:
            if node.model is not None:
                for profile in node.model.profiles:
                    self.zeros.setdefault((node.pool, profile.name), 0.0)

    def of(
        self, metric: Metric, found: Iterable[tuple[FleetNode, Counts]], *more: str
    ) -> Iterator[Sample]:
        """Yield one sample a pool and profile."""
        totals = dict(self.zeros)
        for node, amounts in found:
            for resource, number in amounts.items():
                key = (node.pool, profile_of(node.model, resource))
                totals[key] = totals.get(key, 0.0) + number
        for (pool, profile), total in sorted(totals.items()):
            yield Sample(metric, total, (pool, profile, *more))


def profile_of(model: GpuModel | None, resource: str) -> str:
    """Return the profile a resource means; a whole GPU counts as its profile."""
    if model is None:
        return resource
    return parse_resource(model, resource) or model.whole_gpu.name


def _plan(plan: Plan) -> Iterator[Sample]:
    yield Sample(catalog.CHANGES, len(plan.changes))
    yield Sample(catalog.GAIN, sum(change.price.gain for change in plan.changes))
    yield Sample(catalog.COST, sum(change.price.cost for change in plan.changes))
    if plan.optimality is not None:
        yield Sample(catalog.OPTIMALITY_GAP, plan.optimality.gap)
    blocks = (b.reason for change in plan.changes for b in change.blocked_by)
    yield from _counted(catalog.BLOCKED, Reason, blocks)
    yield from _counted(catalog.UNSERVED, Reason, (note.reason for note in plan.unserved))


def _increments(outcome: CycleOutcome) -> Iterator[Sample]:
    yield Sample(catalog.CYCLES, 1, (outcome.decision.value,))
    yield Sample(catalog.ERRORS, len(outcome.errors))
    for record in outcome.records:
        yield Sample(catalog.ROLLOUTS, 1, (record.result.value,))
    accepted = sum(len(p.evicted) for p in outcome.progress)
    refused = sum(len(p.refused or ()) for p in outcome.progress)
    for answer, number in zip(ANSWERS, (accepted, refused), strict=True):
        yield Sample(catalog.EVICTIONS, number, (answer,))


def _observations(outcome: CycleOutcome) -> Iterator[Sample]:
    yield Sample(catalog.CYCLE_SECONDS, outcome.ended_s - outcome.started_s)
    for record in outcome.records:
        yield Sample(catalog.ROLLOUT_SECONDS, record.duration_s, (record.result.value,))
    for time in outcome.service_times:
        yield Sample(catalog.SERVICE_SECONDS, time.seconds, (time.pool, time.profile))


def _counted(
    metric: Metric, every: Iterable[Reason | State], found: Iterable[Reason | State]
) -> Iterator[Sample]:
    """Yield how often each member of a closed set was found, zeros included."""
    numbers = Counter(found)
    for member in every:
        yield Sample(metric, numbers[member], (member.value,))
