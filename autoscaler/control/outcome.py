"""What one cycle saw, decided and did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from autoscaler.control.leadership import Standing
from autoscaler.control.memory import CycleMemory
from autoscaler.control.rollouts import Progress
from autoscaler.control.service_time import ServiceTime
from autoscaler.domain.cluster.objects import MetricsView, Observation
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.plan.plan import Plan


class Decision(StrEnum):
    """How far a cycle came."""

    NOT_LEADER = "not-leader"
    INCOMPLETE = "incomplete"
    OBSERVED = "observed"
    UNCHANGED = "unchanged"
    PLAN_FAILED = "plan-failed"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class View:
    """Everything a plan rests on, of one moment.

    Parameters
    ----------
    metrics
        ``None`` when there are none.
    metrics_gap
        Why there are none or not all; empty when all is there.
    paused
        What people wrote when they paused the product; ``None`` when it runs.
    """

    observation: Observation
    snapshot: Snapshot
    demand: Demand
    metrics: MetricsView | None = None
    metrics_gap: str = ""
    paused: str | None = None


@dataclass(frozen=True, slots=True)
class CycleOutcome:
    """The answer of one cycle.

    Parameters
    ----------
    message
        One sentence for the log.
    started_s, ended_s
        Epoch seconds.
    standing
        Whether we lead.
    view
        What was seen; ``None`` when the observation was incomplete or not made.
    plan
        The plan in force, gated; of an earlier cycle when nothing changed.
    progress
        What became of each open rollout, in node order; those started last.
    journals
        Rollouts that are open now, by node.
    records
        Rollouts that ended.
    service_times
        Of pods that ended since the cycle before.
    errors
        What failed, one sentence each.
    memory
        For the next cycle.
    due_s
        When the next cycle has something to do at the latest, should nothing change.
    """

    decision: Decision
    message: str
    started_s: float
    ended_s: float
    standing: Standing
    memory: CycleMemory
    view: View | None = None
    plan: Plan | None = None
    progress: tuple[Progress, ...] = ()
    journals: Mapping[str, Journal] = field(default_factory=dict)
    records: tuple[RolloutRecord, ...] = ()
    service_times: tuple[ServiceTime, ...] = ()
    errors: tuple[str, ...] = ()
    due_s: float = 0.0
