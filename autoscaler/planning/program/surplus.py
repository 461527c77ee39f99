"""Surplus: whole GPUs in use beyond the home share, which others may have next.

A request for a whole GPU that becomes free is served before any plan can look, so a flood
of them would keep every GPU that it ever got. Of the GPUs beyond the home share, one may
be kept from new pods before it is free. That costs nobody anything while its pod runs, as
long as the node has no other GPU.
"""

from collections.abc import Iterable, Mapping

from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Driver

Place = tuple[str, int]


def surplus_of(
    holders: Iterable[Holder],
    nodes: Mapping[str, FleetNode],
    home: Mapping[tuple[str, str], int],
) -> frozenset[Place]:
    """Return the GPUs, by node name and index, that nobody is entitled to have again.

    Parameters
    ----------
    holders
        Who holds what.
    nodes
        Nodes that may be changed, by name.
    home
        Home mix by pool and resource. Pools without one have no surplus: nothing says
        what whole GPUs are needed for.
    """
    left: dict[tuple[str, str], int] = {}
    found: set[Place] = set()
    for holder in sorted(holders, key=lambda own: (own.node, own.gpu, own.pod)):
        node = nodes.get(holder.node)
        if node is None or node.model is None or node.driver is not Driver.AGENT:
            continue
        whole = node.model.whole_gpu.name
        entitled = home.get((node.pool, resource_name(whole)))
        if entitled is None or not holder.held[whole]:
            continue
        own = left.setdefault((node.pool, whole), entitled)
        left[node.pool, whole] = own - 1
        if own <= 0 and len(node.gpus) == 1:
            found.add((holder.node, holder.gpu))
    return frozenset(found)
