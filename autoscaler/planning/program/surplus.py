"""Surplus: whole GPUs in use beyond the home share, which others may have next.

A request for a whole GPU that becomes free is served before any plan can look, so a flood
of them would keep every GPU that it ever got. While more are in use than the past entitles
them to, their GPUs may be kept from new pods before they are free: which of them ends
first nobody knows. That costs nobody anything as long as their pods run, and a node has
no other GPU; of what becomes free the next plan gives back the home share.
"""

from collections.abc import Collection, Iterable, Mapping

from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Driver

Place = tuple[str, int]


def surplus_of(
    holders: Iterable[Holder],
    nodes: Collection[FleetNode],
    home: Mapping[tuple[str, str], int],
) -> frozenset[Place]:
    """Return the GPUs, by node name and index, that nobody is entitled to have again.

    Parameters
    ----------
    holders
        Who holds what.
    nodes
        All nodes.
    home
        Home mix by pool and resource. Pools without one have no surplus: nothing says
        what whole GPUs are needed for.
    """
    able = {
        node.name: (node.pool, node.model.whole_gpu.name)
        for node in nodes
        if node.driver is Driver.AGENT and node.model is not None and not node.reserved
    }
    in_use: dict[tuple[str, str], int] = {}
    single: set[str] = set()
    for node in nodes:
        if node.name in able:
            key = able[node.name]
            held = sum((gpu.held[key[1]] for gpu in node.gpus), 0)
            in_use[key] = in_use.get(key, 0) + held
            if len(node.gpus) == 1:
                single.add(node.name)
    return frozenset(
        (holder.node, holder.gpu)
        for holder in holders
        if holder.node in single
        and holder.held[able[holder.node][1]]
        and _is_beyond(able[holder.node], in_use, home)
    )


def _is_beyond(
    key: tuple[str, str],
    in_use: Mapping[tuple[str, str], int],
    home: Mapping[tuple[str, str], int],
) -> bool:
    pool, whole = key
    entitled = home.get((pool, resource_name(whole)))
    return entitled is not None and in_use.get(key, 0) > entitled
