"""Reservation: which nodes of a pool are kept whole, whatever demand says.

Nodes that people marked come first, then nodes that offer only whole GPUs already, by
name. Making a further node whole is a change like any other, for the planner to find.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autoscaler.domain.cluster.marks import RESERVED, is_set
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.policy.pool import Pool
from autoscaler.domain.policy.quantity import share_of
from autoscaler.domain.reasons import Hold, Reason

# Held nodes that may come back count as candidates; these never do or are not there.
UNUSABLE = frozenset(
    {
        Reason.NODE_LEAVING,
        Reason.NOT_READY,
        Reason.UNKNOWN_MODEL,
        Reason.MIXED_MODELS,
        Reason.EXCEEDS_HARDWARE,
        Reason.PRODUCT_INVALID,
        Reason.DUPLICATE_NODE,
        Reason.MANAGED_BY_PROVIDER,
        Reason.TWO_OWNERS,
        Reason.SHARED,
    }
)


def reserve(
    nodes: Iterable[FleetNode], pool: Pool, total: int
) -> tuple[tuple[FleetNode, ...], tuple[Hold, ...]]:
    """Return a pool's nodes with the reserved ones marked, and what is impossible.

    Parameters
    ----------
    nodes
        Of the pool.
    total
        Nodes of the pool that percentages are of.

    Returns
    -------
    tuple
        Marked nodes: all that people marked, and so many whole ones that the policy's
        number is met as far as it can be without a change.
    """
    members = tuple(sorted(nodes, key=lambda n: n.name))
    wanted = share_of(pool.reserve.full_gpu_nodes, total)
    taken = {n.name for n in members if is_marked(n)}
    usable = [n for n in members if not is_unusable(n)]
    for node in usable:
        if len(taken) < wanted and is_whole(node):
            taken.add(node.name)
    marked = tuple(replace(n, reserved=n.name in taken) for n in members)
    candidates = len(taken | {n.name for n in usable if n.gpus})
    if wanted <= candidates:
        return marked, ()
    text = (
        f"pool {pool.name} shall keep {wanted} full-GPU nodes"
        f" ({pool.reserve.full_gpu_nodes} of {total}), {candidates} can be whole"
    )
    return marked, (Hold(Reason.RESERVE_IMPOSSIBLE, text),)


def is_marked(node: FleetNode) -> bool:
    """Say whether a person reserved the node."""
    return is_set(node.node.annotations.get(RESERVED))


def is_whole(node: FleetNode) -> bool:
    """Say whether a node offers only whole GPUs: MIG off, or one whole-GPU instance."""
    if node.model is None or not node.gpus:
        return False
    whole = Counts({node.model.whole_gpu.name: 1})
    modes = {gpu.mig_enabled for gpu in node.gpus}
    return len(modes) == 1 and all(g.counts == whole or not g.mig_enabled for g in node.gpus)


def is_unusable(node: FleetNode) -> bool:
    """Say whether a node cannot serve as a reserve in any state."""
    return any(hold.reason in UNUSABLE for hold in node.holds)


def reserved_holds(nodes: Sequence[FleetNode]) -> tuple[FleetNode, ...]:
    """Return the nodes with a hold on each reserved one that is whole already."""
    return tuple(_with_hold(node) if node.reserved else node for node in nodes)


def _with_hold(node: FleetNode) -> FleetNode:
    if not is_whole(node):
        return node
    why = "a person marked it" if is_marked(node) else "the pool's reserve"
    text = f"node {node.name}: reserved, it keeps its whole GPUs ({why})"
    return replace(node, holds=(*node.holds, Hold(Reason.RESERVED, text, node.name)))
