"""A plan: which nodes change, what that serves and costs, what forbids it.

The JSON form is a contract (``to_json``, ``from_json``); ``apply`` reads it back.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.reasons import Block, Hold, PodNote, Reason


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


class Scenario(StrEnum):
    """Whose waiting is avoided: that of pods of now, or of work that is to come."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    LIKELY = "likely"


@dataclass(frozen=True, slots=True, order=True)
class Avoided:
    """Waiting avoided of one kind, in slice-seconds; negative where it is caused.

    Parameters
    ----------
    scenario
        Whose waiting.
    resource
        Resource name of the instances.
    worth
        Value of serving them.
    """

    scenario: Scenario
    resource: str
    worth: float


@dataclass(frozen=True, slots=True)
class Price:
    """Terms of a change's gain and cost, in slice-seconds.

    Parameters
    ----------
    waiting_avoided
        Value of pending demand it serves, less what it makes wait (``displaced``).
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
    displaced
        What was taken off the waiting avoided: evicted pods that wait again, and what
        would have been served without the change.
    avoided
        What waiting avoided (before that) and hedge are made of, sorted.
    """

    waiting_avoided: float = 0.0
    home: float = 0.0
    hedge: float = 0.0
    out_of_service: float = 0.0
    work_lost: float = 0.0
    rule: float = 0.0
    restarts: float = 0.0
    churn: float = 0.0
    displaced: float = 0.0
    avoided: tuple[Avoided, ...] = ()

    @property
    def gain(self) -> float:
        """All value, in slice-seconds."""
        return self.waiting_avoided + self.home + self.hedge + self.rule

    @property
    def cost(self) -> float:
        """All cost, in slice-seconds."""
        return self.out_of_service + self.work_lost + self.restarts

    @property
    def net(self) -> float:
        """What is left of the gain, cost and margin taken off, in slice-seconds."""
        return self.gain - self.cost - self.churn


def sum_of(prices: Iterable[Price]) -> Price:
    """Return the prices of several changes as one, term by term."""
    own = tuple(prices)
    names = [part.name for part in fields(Price) if part.name != "avoided"]
    totals: dict[tuple[Scenario, str], float] = {}
    for part in (part for price in own for part in price.avoided):
        key = (part.scenario, part.resource)
        totals[key] = totals.get(key, 0.0) + part.worth
    return Price(
        **{name: sum((getattr(price, name) for price in own), 0.0) for name in names},
        avoided=tuple(Avoided(*key, worth) for key, worth in sorted(totals.items())),
    )


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
    awaits
        Pods that will end by themselves and must have done so first.
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
    awaits: tuple[PodRef, ...] = ()
    serves: tuple[PodRef, ...] = ()
    price: Price = Price()
    estimated_s: float = 0.0
    blocked_by: tuple[Block, ...] = ()

    @property
    def reasons(self) -> frozenset[Reason]:
        """Why it may not start now; empty when it may."""
        return frozenset(block.reason for block in self.blocked_by)


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
class NodePlaceholders:
    """Whole GPUs of a node that placeholders shall have next, so that they can be cut anew.

    Parameters
    ----------
    resource, number
        What each placeholder asks for, and how many of them the node shall have.
    awaits
        Pods that hold such GPUs now, in name order; the first of them to end count.
    """

    node: str
    pool: str
    resource: str
    number: int
    awaits: tuple[PodRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All proposed changes of one moment, in the order in which they should start.

    ``terms`` are the prices of all of them together.
    """

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
    terms: Price = Price()
    placeholders: tuple[NodePlaceholders, ...] = ()
