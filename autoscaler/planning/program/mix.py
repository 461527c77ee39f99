"""The mix problem: what GPUs may become, what is wanted, and what each is worth.

Plain numbers without nodes, pods or policies: prices come in as arguments, so the same
problem serves plans, golden instances and comparisons. Names of instances are resource
names in plans, and any text elsewhere.
"""

from dataclasses import dataclass

from autoscaler.domain.counts import Counts

# Gains of options that make a node one of those that offer whole GPUs only: any node,
# or one that people chose for it.
WHOLE_NODE = "whole-node"
MARKED_NODE = "marked-node"
# Stands for "all GPUs of the node at once" where a GPU kind is named by index.
ALL_GPUS = -1


@dataclass(frozen=True, slots=True)
class Option:
    """One other thing that a GPU, or all GPUs of a node at once, may become.

    Parameters
    ----------
    gains
        Change of the number of free instances, by name, sorted; never zero.
    freed
        Instances among these that exist already and are held, by name, sorted.
    cost
        Price of one such change, at least 0.
    returns
        Requests that one such change makes wait again, by index of the want, sorted.
    uses
        How much one such change takes of limits, by index of the limit, sorted.
    must_wait
        Whether it cannot start for now, while others can.
    """

    gains: tuple[tuple[str, int], ...]
    cost: float
    returns: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[int, int], ...] = ()
    must_wait: bool = False
    freed: tuple[tuple[str, int], ...] = ()

    @property
    def makes_whole(self) -> bool:
        """Whether it leaves a node that offers whole GPUs only."""
        return any(name in {WHOLE_NODE, MARKED_NODE} for name, _ in self.gains)


@dataclass(frozen=True, slots=True)
class GpuKind:
    """GPUs of a node that are alike and may change.

    Parameters
    ----------
    number
        GPUs of this kind on each node, at least 1.
    options
        What one of them may become; staying as it is is always possible.
    """

    number: int
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes that are alike.

    Parameters
    ----------
    zone
        Index of the zone: nodes of one zone may take the same wants.
    number
        How many nodes, at least 1.
    free
        Free instances of each node as it stands.
    gpus
        Its changeable GPUs, by kind.
    node_options
        What all GPUs of ``gpus`` together may become, at one price.
    closing_cost
        Price of closing one node, however many of its GPUs change.
    is_host
        Whether it may take wants that need one node. Only single nodes may: what
        several nodes have together says nothing about any one of them.
    """

    zone: int
    number: int
    free: Counts
    gpus: tuple[GpuKind, ...] = ()
    node_options: tuple[Option, ...] = ()
    closing_cost: float = 0.0
    is_host: bool = False

    def __post_init__(self) -> None:
        if self.is_host and self.number != 1:
            raise ValueError(f"a host is one node, not {self.number}")


@dataclass(frozen=True, slots=True)
class Want:
    """Requests that are alike.

    Parameters
    ----------
    bundle
        Instances that one request needs on one node.
    number
        How many requests, those included that only a change makes wait.
    value
        Worth of serving one, at least 0.
    zones
        Indexes of the zones that may take it.
    gang
        Name of the gang it belongs to: all of ``gang_min`` or none.
    gang_min
        How many of the gang must be served together.
    per_node
        Most of them on one node; ``None`` for no limit.
    is_one
        Whether the names of the bundle all mean one and the same instance.
    is_returning
        Whether they are served today and wait only where an option says that they
        return; serving them earns no bonus a second time.
    """

    bundle: Counts
    number: int
    value: float
    zones: frozenset[int]
    gang: str = ""
    gang_min: int = 0
    per_node: int | None = None
    is_one: bool = False
    is_returning: bool = False

    @property
    def is_divisible(self) -> bool:
        """Whether any free instance in a zone will do, whatever its node."""
        most = max(self.bundle.values(), default=0) if self.is_one else self.bundle.total()
        return most == 1 and self.per_node is None


@dataclass(frozen=True, slots=True)
class Bonus:
    """Extra worth of the first instances that are served in some zones.

    Parameters
    ----------
    name
        Name of the instances.
    zones
        Where they count.
    number
        How many of them.
    value
        Extra worth of each, at least 0.
    """

    name: str
    zones: frozenset[int]
    number: int
    value: float


@dataclass(frozen=True, slots=True)
class Rule:
    """How many instances of a name there shall be, held ones included.

    Parameters
    ----------
    name
        Name of the instances, or ``WHOLE_NODE``.
    zones
        Where they count.
    present
        How many there are now.
    least, most
        Limits; ``None`` for none.
    price
        Price of each instance that is short or too many. It must be larger than
        what demand can offer, for a limit holds whatever demand says; and it is no
        hard limit, because an impossible one must not make everything impossible.
    """

    name: str
    zones: frozenset[int]
    present: int
    least: int | None = None
    most: int | None = None
    price: float = 0.0


@dataclass(frozen=True, slots=True)
class Mix:
    """A whole problem.

    Parameters
    ----------
    limits
        How much of each limit options may use in all.
    offset
        Added to the objective.
    """

    kinds: tuple[NodeKind, ...]
    wants: tuple[Want, ...]
    bonuses: tuple[Bonus, ...] = ()
    rules: tuple[Rule, ...] = ()
    limits: tuple[int, ...] = ()
    offset: float = 0.0

    def option(self, kind: int, gpu: int, option: int) -> Option:
        """Return an option by node kind, GPU kind (or ``ALL_GPUS``) and index."""
        own = self.kinds[kind]
        return (own.node_options if gpu == ALL_GPUS else own.gpus[gpu].options)[option]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to settle a problem.

    Parameters
    ----------
    taken
        Number of GPUs (or nodes) that take an option, by node kind, GPU kind
        (``ALL_GPUS`` for the node's options) and option; zero entries left out.
    closed
        Number of nodes closed at a price, by node kind.
    flows
        Requests served in a zone, by want and zone.
    hosted
        Requests served on a host, by want and node kind.
    served
        Requests served, one entry a want.
    bonuses
        Instances that earn a bonus, one entry a bonus.
    short
        Instances short or too many, one entry a rule.
    objective
        Worth served less prices.
    """

    taken: dict[tuple[int, int, int], int]
    closed: dict[int, int]
    flows: dict[tuple[int, int], int]
    hosted: dict[tuple[int, int], int]
    served: tuple[int, ...]
    bonuses: tuple[int, ...]
    short: tuple[int, ...]
    objective: float
