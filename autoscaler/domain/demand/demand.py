"""What is asked for: pods as atomic bundles with the nodes that may take them.

A bundle is what one pod needs on one node. Pods alike in bundle, eligibility and
weight form one group, so the planner's size grows with kinds, not with pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.reasons import PodNote


@dataclass(frozen=True, slots=True)
class DemandGroup:
    """Pods that are interchangeable for the planner.

    Parameters
    ----------
    bundle
        What each pod needs on one node, by resource name
        (``{"nvidia.com/mig-1g.5gb": 1}``).
    eligible
        Names of the nodes that may take them.
    weight
        Priority weight, 1 by default.
    pods
        Oldest first.
    gang
        Name of the pod group, ``namespace/name``; empty for none. A gang counts
        as a whole or not at all.
    gang_min
        How many pods of the gang, of all its groups together, must be served at once;
        0 for none.
    one_per_node
        Whether at most one of them may be on a node; nodes that have one already are
        not eligible.
    unit
        Profile that ``nvidia.com/gpu`` must be, because they select a product under
        strategy single; empty where any will do. Their nodes are those that could have
        that product after a change.
    created_s
        When each of the pods was made, epoch seconds, in their order; empty when that is
        not known.
    """

    bundle: Counts
    eligible: frozenset[str]
    weight: float = 1.0
    pods: tuple[PodRef, ...] = ()
    gang: str = ""
    gang_min: int = 0
    one_per_node: bool = False
    unit: str = ""
    created_s: tuple[float, ...] = ()

    @property
    def number(self) -> int:
        """How many pods."""
        return len(self.pods)


@dataclass(frozen=True, slots=True, order=True)
class Announced:
    """Instances that people say will be asked for, and that no pod asks for yet.

    Parameters
    ----------
    source
        Who says so: ``policy release-peak``, ``CronJob team-x/nightly``.
    resource, number
        What is still to come.
    start_s, end_s
        From when to when it is wanted, epoch seconds; infinity for an end not known.
    """

    source: str
    resource: str
    number: int
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Demand:
    """All demand of one moment.

    Parameters
    ----------
    groups
        Pods that no free capacity of today's layout serves, and those it does:
        the planner serves both, so that it never takes away what the latter need.
    running
        Instances held by bound pods, by pool and resource name.
    queued
        Work without a pod yet, by resource name: a hedge, never pending pods.
    ignored
        Pods that ask for GPUs and are not demand, each with the reason.
    impossible
        Pods that no layout of the fleet can serve, or whose wish cannot be read, each
        with the reason.
    fits_today
        Pods of ``groups`` that free capacity of today's layout serves already, with
        the node that could take each: no change can help them.
    announced
        Peaks that count now: a hedge too, of a worth of its own.
    notices
        What could not be read of work to come, one sentence each.
    holders
        Pods that hold instances, where it is proven which GPU they are on.
    room
        Evictions that each disruption budget of these allows now, by its name.
    """

    groups: tuple[DemandGroup, ...] = ()
    running: dict[str, Counts] = field(default_factory=dict)
    queued: Counts = Counts()
    ignored: tuple[PodNote, ...] = ()
    impossible: tuple[PodNote, ...] = ()
    fits_today: tuple[PodNote, ...] = ()
    announced: tuple[Announced, ...] = ()
    notices: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
    room: Mapping[str, int] = field(default_factory=dict)
