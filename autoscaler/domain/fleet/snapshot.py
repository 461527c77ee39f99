"""One immutable view of the fleet: what each GPU holds and what may change.

Built from an ``Observation`` by ``domain.assessment``; the planner and the gate
read only this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.objects import Node, Pod, PodRef
from autoscaler.domain.cluster.placeholder import Placeholder
from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.journal.rollout import Journal, State
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.reasons import Hold


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of a node.

    Parameters
    ----------
    index
        Position in PCI bus order.
    mig_enabled
        A GPU with MIG mode off is a whole GPU and stays one.
    counts
        Instances that exist, by profile; empty when MIG is off.
    geometry
        The same with placements, where an inventory shows them.
    held
        Instances that are or may be held by a pod, by profile. A node's
        unmapped pods make every GPU that could hold them count as held.
    holders
        Pods proven to sit on this GPU.
    proven
        Whether every device holder of the node is mapped, so that ``held`` is
        exact for this GPU.
    pinned
        The instances of ``held`` with their placements, where an inventory shows who
        holds which; ``None`` when only their number is known.
    seats
        Who holds which of them, in placement order; empty when that is not known.
    """

    index: int
    mig_enabled: bool = True
    counts: Counts = Counts()
    geometry: Geometry | None = None
    held: Counts = Counts()
    holders: tuple[PodRef, ...] = ()
    proven: bool = True
    pinned: Geometry | None = None
    seats: tuple[tuple[GpuInstance, PodRef], ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether provably no pod holds any of its instances."""
        return not self.held


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node as the planner sees it.

    Parameters
    ----------
    node
        What the API server said; labels of feature discovery that are away during a
        change are those it had before.
    pool
        Name of its pool; empty for a node of none.
    model
        GPU model; ``None`` when unknown (then it is on hold).
    driver, strategy
        How its GPUs are changed and advertised.
    gpus
        In index order; empty when the geometry is unknown.
    supply
        Allocatable amounts that may be counted on, by resource name.
    allocated
        What pods bound to it hold or will hold, by resource name.
    holders
        Bound pods that hold devices, in name order.
    holds
        Reasons why it may not be changed; empty means it is a candidate.
    reserved
        Whether it is taken as one of the pool's reserved full-GPU nodes. One that people
        marked is, also while it is cut; it may become whole and nothing else.
    journal
        Its open rollout.
    target_supply
        For an open rollout or a change in progress: what it is about to offer.
    has_waited
        Whether we closed it only until its pods would end, and they have: it is a node
        like any other, but nobody else can take what is free there.
    unseen
        Why metrics do not show where its pods sit; then MIG manager may change all of it
        when it is empty, and no part of it while anyone is there. Empty where they do.
    placeholders
        Pods of ours that keep, or wait to keep, whole GPUs of it from others.
    """

    node: Node
    pool: str
    model: GpuModel | None
    driver: Driver
    strategy: Strategy
    gpus: tuple[Gpu, ...] = ()
    supply: Counts = Counts()
    allocated: Counts = Counts()
    holders: tuple[Pod, ...] = ()
    holds: tuple[Hold, ...] = ()
    reserved: bool = False
    journal: Journal | None = None
    target_supply: Counts | None = None
    has_waited: bool = False
    unseen: str = ""
    placeholders: tuple[Placeholder, ...] = ()

    @property
    def name(self) -> str:
        """Node name."""
        return self.node.name

    @property
    def free(self) -> Counts:
        """Supply less what is allocated, by resource name."""
        return self.supply.minus(self.allocated)

    @property
    def takeable(self) -> Counts:
        """What is free and no placeholder keeps, by resource name."""
        return self.free.minus(self.kept)

    @property
    def kept(self) -> Counts:
        """What placeholders keep from others, by resource name; it counts as free."""
        return sum_of(p.holds for p in self.placeholders if p.is_bound and not p.is_over)

    @property
    def unit(self) -> str:
        """Profile that each of its devices is under strategy single; empty elsewhere.

        There all instances of a node are alike and are called ``nvidia.com/gpu``; the
        product label tells pods which profile they are.
        """
        if self.strategy is not Strategy.SINGLE or not all(g.mig_enabled for g in self.gpus):
            return ""
        layout = [gpu.counts for gpu in self.gpus]
        if self.journal is not None and self.target_supply is not None:
            is_back = self.journal.state is State.ROLLING_BACK
            coming = self.journal.before if is_back else self.journal.target
            layout = [counts or Counts() for counts in coming.gpus]
        names = {name for counts in layout for name in counts}
        return names.pop() if len(names) == 1 else ""

    @property
    def is_changeable(self) -> bool:
        """Whether a plan may change it."""
        return not self.holds and self.model is not None and bool(self.gpus)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fleet at one moment.

    Parameters
    ----------
    observed_at_s
        Epoch seconds.
    nodes
        Nodes of the policy's pools, in name order; ignored ones left out.
    holds
        All holds of nodes and of the fleet, sorted.
    outsiders
        Nodes of no pool that offer GPU resources: supply for eligibility only.
    pools_total
        Number of nodes each pool's selector matches, by pool name.
    """

    observed_at_s: float
    nodes: tuple[FleetNode, ...] = ()
    holds: tuple[Hold, ...] = ()
    outsiders: tuple[FleetNode, ...] = ()
    pools_total: Mapping[str, int] = field(default_factory=dict)

    def node(self, name: str) -> FleetNode | None:
        """Return the node of that name, if it is in a pool."""
        return next((n for n in self.nodes if n.name == name), None)
