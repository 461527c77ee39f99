"""The fleet in kinds: nodes and GPUs that are alike count together.

So the program grows with the variety of a fleet, not with its size. Names of nodes play
no part in the order of kinds: other names give the same plan for the same nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.planning.program.cost import NOTHING, Cost
from autoscaler.planning.program.likeness import SortKey
from autoscaler.planning.program.menu import GpuMenu, Menus, NodeMenu
from autoscaler.planning.program.mix import GpuKind, NodeKind, Option, Want
from autoscaler.planning.program.units import free_of

# Single nodes that requests for one node are considered on. More of them make the
# program slow, and fewer leave such requests waiting where others would take them.
MAX_HOSTS = 2000


@dataclass(frozen=True, slots=True, order=True)
class Zone:
    """Nodes of one pool that may take the same wants, given by index, sorted."""

    pool: str
    wants: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """The nodes behind a node kind.

    Parameters
    ----------
    nodes
        In name order.
    menus
        What GPUs may become, one entry a GPU kind of the node kind.
    places
        Positions of the GPUs of each GPU kind, one entry a node.
    whole
        What all GPUs together may become.
    closing_cost
        Price of closing one of the nodes.
    """

    nodes: tuple[FleetNode, ...]
    menus: tuple[GpuMenu, ...] = ()
    places: tuple[tuple[tuple[int, ...], ...], ...] = ()
    whole: NodeMenu = field(default_factory=NodeMenu)
    closing_cost: Cost = NOTHING


@dataclass(frozen=True, slots=True)
class Fleet:
    """All nodes in kinds.

    Parameters
    ----------
    zones
        Sorted.
    kinds, members
        Sorted by content; one entry of each a kind.
    unhosted
        Nodes that were left out as hosts, because there are too many.
    """

    zones: tuple[Zone, ...]
    kinds: tuple[NodeKind, ...]
    members: tuple[Members, ...]
    unhosted: int = 0


@dataclass(frozen=True, slots=True, order=True)
class _Likeness:
    """What makes nodes alike."""

    zone: int
    model: str
    driver: str
    states: tuple[tuple[SortKey, int], ...]
    free: tuple[tuple[str, int], ...]
    closing_cost: float
    whole: tuple[tuple[tuple[tuple[str, int], ...], float], ...]


def is_movable(node: FleetNode) -> bool:
    """Say whether a plan may change a node at all; else only its supply counts."""
    return (
        node.is_changeable
        and node.journal is None
        and node.target_supply is None
        and node.strategy is not Strategy.NONE
    )


def zones_of(
    nodes: Iterable[FleetNode], eligible: Sequence[frozenset[str]]
) -> tuple[tuple[Zone, ...], dict[str, int]]:
    """Return the zones of a fleet, and the index of each node's zone by its name.

    Parameters
    ----------
    nodes
        The nodes.
    eligible
        Names of the nodes that may take a want, one entry a want.
    """
    audiences: dict[frozenset[str], list[int]] = {}
    for index, names in enumerate(eligible):
        audiences.setdefault(names, []).append(index)
    wants: dict[str, list[int]] = {}
    for names, indexes in audiences.items():
        for name in names:
            wants.setdefault(name, []).extend(indexes)
    own = {n.name: Zone(n.pool, tuple(sorted(wants.get(n.name, [])))) for n in nodes}
    zones = tuple(sorted(set(own.values())))
    place = {zone: index for index, zone in enumerate(zones)}
    return zones, {name: place[zone] for name, zone in own.items()}


def group_nodes(
    nodes: Iterable[FleetNode],
    zones: tuple[Zone, ...],
    zone_of: Mapping[str, int],
    menus: Menus,
) -> Fleet:
    """Return nodes in kinds.

    Parameters
    ----------
    nodes
        The nodes.
    zones, zone_of
        As ``zones_of`` returns them.
    menus
        Knows what each GPU may become and at which price.
    """
    alike: dict[_Likeness, list[Members]] = {}
    shapes: dict[_Likeness, NodeKind] = {}
    for node in nodes:
        zone = zone_of[node.name]
        likeness, kind, members = _shape(node, zone, menus)
        alike.setdefault(likeness, []).append(members)
        shapes.setdefault(likeness, kind)
    kinds, all_members = [], []
    for likeness in sorted(alike):
        own = sorted(alike[likeness], key=lambda members: members.nodes[0].name)
        kinds.append(replace(shapes[likeness], number=len(own)))
        nodes_of_kind = tuple(members.nodes[0] for members in own)
        places = tuple(members.places[0] for members in own)
        all_members.append(replace(own[0], nodes=nodes_of_kind, places=places))
    return Fleet(zones, tuple(kinds), tuple(all_members))


def _shape(node: FleetNode, zone: int, menus: Menus) -> tuple[_Likeness, NodeKind, Members]:
    free = Counts({n: k for n, k in free_of(node).items() if menus.needs[n]})
    found: dict[SortKey, tuple[GpuMenu, list[int]]] = {}
    whole, closing_cost = NodeMenu(), NOTHING
    if is_movable(node) and node.pool in menus.pools:
        # A reserved node that is cut may only become whole, and under strategy single
        # all GPUs of a node change together.
        is_apart = not node.reserved and node.strategy is Strategy.MIXED
        for place, gpu in enumerate(node.gpus if is_apart else ()):
            menu = menus.of_gpu(gpu, node, zone)
            if menu.options:
                found.setdefault(menu.key, (menu, []))[1].append(place)
        whole = menus.of_node(node, zone)
        if found or whole.options:
            closing_cost = menus.prices.of_closing(node, zone)
    states = [found[key] for key in sorted(found)]
    likeness = _Likeness(
        zone=zone,
        model=node.model.key if node.model is not None and states else "",
        driver=node.driver.value if states else "",
        states=tuple((menu.key, len(places)) for menu, places in states),
        free=tuple(free.items()),
        closing_cost=closing_cost.charged(),
        whole=tuple((option.gains, option.cost) for option in whole.options),
    )
    kind = NodeKind(
        zone=zone,
        number=1,
        free=free,
        gpus=tuple(GpuKind(len(places), menu.options) for menu, places in states),
        node_options=whole.options,
        closing_cost=closing_cost.charged(),
    )
    members = Members(
        nodes=(node,),
        menus=tuple(menu for menu, _ in states),
        places=(tuple(tuple(places) for _, places in states),),
        whole=whole,
        closing_cost=closing_cost,
    )
    return likeness, kind, members


def with_hosts(fleet: Fleet, wants: Sequence[Want], most: int = MAX_HOSTS) -> Fleet:
    """Return the fleet with single nodes set apart where wants need a node as a whole.

    Parameters
    ----------
    fleet
        The fleet in kinds.
    wants
        In the order of the zones' indexes.
    most
        Nodes to set apart at most.

    Returns
    -------
    Fleet
        Of nodes that are alike only so many are set apart as there are such requests:
        the others would stand for the same.
    """
    kinds: list[NodeKind] = []
    members: list[Members] = []
    left, unhosted = most, 0
    whole = {i for i, want in enumerate(wants) if not want.is_divisible}
    in_zone = [[wants[i] for i in zone.wants if i in whole] for zone in fleet.zones]
    for kind, own in zip(fleet.kinds, fleet.members, strict=True):
        useful = min(kind.number, _requests_for(kind, in_zone[kind.zone]))
        hosts = min(useful, left)
        left -= hosts
        unhosted += useful - hosts
        for node, places in zip(own.nodes[:hosts], own.places[:hosts], strict=True):
            kinds.append(replace(kind, number=1, is_host=True))
            members.append(replace(own, nodes=(node,), places=(places,)))
        if hosts < kind.number:
            kinds.append(replace(kind, number=kind.number - hosts))
            members.append(replace(own, nodes=own.nodes[hosts:], places=own.places[hosts:]))
    return Fleet(fleet.zones, tuple(kinds), tuple(members), unhosted)


def _requests_for(kind: NodeKind, wants: Iterable[Want]) -> int:
    """Count the requests for one node that a node of the kind might take some day."""
    most: dict[str, int] = {}
    total = 0
    for want in wants:
        for name, number in want.bundle.items():
            if name not in most:
                most[name] = _most(kind, name)
            if most[name] < number:
                break
        else:
            total += want.number
        if total >= kind.number:
            break
    return total


def potential_of(kind: NodeKind) -> Counts:
    """Return the most free instances of each name that a node of a kind may offer.

    Each name on its own: all of them at once may be impossible.
    """
    names = {
        *kind.free,
        *(n for gpu in kind.gpus for o in gpu.options for n, _ in o.gains),
        *(n for option in kind.node_options for n, _ in option.gains),
    }
    return Counts({name: _most(kind, name) for name in names})


def _most(kind: NodeKind, name: str) -> int:
    gained = sum(g.number * _most_gained(g.options, name) for g in kind.gpus)
    return kind.free[name] + max(gained, _most_gained(kind.node_options, name))


def _most_gained(options: Iterable[Option], name: str) -> int:
    gains = (gain for option in options for own, gain in option.gains if own == name)
    return max(0, max(gains, default=0))


def zones_in(pool: str, zones: tuple[Zone, ...]) -> frozenset[int]:
    """Return the indexes of the zones of a pool."""
    return frozenset(index for index, zone in enumerate(zones) if zone.pool == pool)
