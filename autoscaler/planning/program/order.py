"""Order of groups: by what they ask for and where, so that other names change only names.

Groups that ask for the same are told apart by what their nodes are like; the names of
their pods decide only where even that is the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode

Shape = tuple[tuple[str, int], ...]
"""What nodes are like, and how many are."""


def groups_in_order(
    groups: Iterable[DemandGroup], nodes: Iterable[FleetNode]
) -> tuple[DemandGroup, ...]:
    """Return the groups that have pods, in an order that names of nodes play no part in."""
    own = [group for group in groups if group.number]
    wishes = [_wish_of(group) for group in own]
    number = Counter(wishes)
    # Only groups that ask for the same need a closer look, and few share their nodes.
    near = {g.eligible for g, wish in zip(own, wishes, strict=True) if number[wish] > 1}
    shapes = shapes_of(near, nodes)
    order = {
        id(group): (wish, shapes.get(group.eligible, ()), _named(group))
        for group, wish in zip(own, wishes, strict=True)
    }
    return tuple(sorted(own, key=lambda group: order[id(group)]))


def shapes_of(
    audiences: Iterable[frozenset[str]], nodes: Iterable[FleetNode]
) -> Mapping[frozenset[str], Shape]:
    """Return what the nodes of each set of names are like."""
    wanted = set(audiences)
    if not wanted:
        return {}
    likeness = {node.name: _likeness_of(node) for node in nodes}
    return {
        names: tuple(sorted(Counter(likeness[n] for n in names if n in likeness).items()))
        for names in wanted
    }


def _wish_of(group: DemandGroup) -> tuple[object, ...]:
    return (
        tuple(group.bundle.items()),
        -group.weight,
        (group.gang_min, group.one_per_node, group.unit),
        group.created_s,
        group.number,
    )


def _named(group: DemandGroup) -> tuple[str, str, str]:
    return group.gang, group.pods[0].namespace, group.pods[0].name


def _likeness_of(node: FleetNode) -> str:
    gpus = [(str(gpu.counts), str(gpu.held), str(gpu.geometry)) for gpu in node.gpus]
    model = "" if node.model is None else node.model.key
    return repr((model, node.pool, gpus, node.supply, node.allocated, node.reserved))
