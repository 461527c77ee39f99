"""A plan: which nodes change, what that serves and costs, what forbids it.

The JSON form is a contract (``to_json``, ``from_json``); ``apply`` reads it back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.reasons import Block, Hold, PodNote


@dataclass(frozen=True, slots=True)
class GpuChange:
    """One GPU's instances before and after, by profile; placements where known."""

    index: int
    before: Counts
    after: Counts
    placements_before: Geometry | None = None
    placements_after: Geometry | None = None


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that must leave for a change."""

    pod: PodRef
    reason: str


@dataclass(frozen=True, slots=True)
class Price:
    """Terms of a change's gain and cost, in slice-seconds.

    Parameters
    ----------
    waiting_avoided
        Value of pending demand it serves.
    home, hedge
        Value of restoring the home share, and of instances for demand to come.
    out_of_service
        Compute slices re-cut, and free instances elsewhere on the closed node that
        present demand would use, times seconds from cordon to settled.
    work_lost, restarts
        Work that evicted pods have done for nothing, and time they take to work again.
    rule
        Value of what the policy demands whatever is asked for: floors, ceilings and
        reserved nodes.
    churn
        What the gain must exceed the cost by, so that demand that swings and estimates
        that are too kind change nothing; no part of either.
    """

    waiting_avoided: float = 0.0
    home: float = 0.0
    hedge: float = 0.0
    out_of_service: float = 0.0
    work_lost: float = 0.0
    rule: float = 0.0
    restarts: float = 0.0
    churn: float = 0.0

    @property
    def gain(self) -> float:
        """All value, in slice-seconds."""
        return self.waiting_avoided + self.home + self.hedge + self.rule

    @property
    def cost(self) -> float:
        """All cost, in slice-seconds."""
        return self.out_of_service + self.work_lost + self.restarts


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One node's change.

    Parameters
    ----------
    observed
        Hash of its GPU allocatable, ``mig.config`` and the holders of the GPUs to
        change; ``apply`` refuses when it no longer matches.
    config_name
        Name of the configuration that the label will carry.
    layout
        Profile counts of every GPU of the node after the change, in index order;
        ``None`` for a GPU with MIG off.
    resources
        What the node must advertise afterwards, by resource name.
    """

    node: str
    uid: str
    pool: str
    observed: str
    config_name: str
    gpus: tuple[GpuChange, ...]
    layout: tuple[Counts | None, ...]
    resources: Counts
    evictions: tuple[Eviction, ...] = ()
    serves: tuple[PodRef, ...] = ()
    price: Price = Price()
    estimated_s: float = 0.0
    blocked_by: tuple[Block, ...] = ()


class StoppedBy(StrEnum):
    """Why the solver stopped."""

    OPTIMAL = "optimal"
    GAP = "gap"
    NODE_LIMIT = "node-limit"
    WALL_CLOCK = "wall-clock"
    FAILURE = "failure"
    NOTHING_TO_DO = "nothing-to-do"


@dataclass(frozen=True, slots=True)
class Optimality:
    """How good the plan provably is: values of the whole program, in slice-seconds."""

    objective: float
    bound: float
    gap: float
    seconds: float
    stopped_by: StoppedBy


@dataclass(frozen=True, slots=True)
class DemandLine:
    """Demand for one resource in one pool, and what the plan does for it."""

    resource: str
    pool: str
    pending: int
    free: int
    lacking: int
    served_by_plan: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All proposed changes of one moment, in the order in which they should start."""

    id: str
    observed_at_s: float
    policy_name: str
    policy_hash: str
    mode: str
    demand: tuple[DemandLine, ...] = ()
    changes: tuple[NodeChange, ...] = ()
    unserved: tuple[PodNote, ...] = ()
    holds: tuple[Hold, ...] = ()
    optimality: Optimality | None = None
    notices: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
