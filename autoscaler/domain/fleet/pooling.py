"""Pooling: which pool of the policy each node belongs to.

A node that two pools claim belongs to neither until a person decides. While feature
discovery is stopped its labels are missing, and a selector on them is then taken as
neither met nor missed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.marks import IGNORE, INVENTORY, ROLLOUT, is_set
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.conditions import journal_of
from autoscaler.domain.fleet.memory import PRODUCT, is_lasting
from autoscaler.domain.mig.resource import is_gpu_resource
from autoscaler.domain.policy.policy import Pool
from autoscaler.domain.reasons import Hold, Reason

NVIDIA = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Pooling:
    """How the nodes are divided.

    Parameters
    ----------
    members
        Pool of each node that has exactly one, by node name.
    strays
        Names of GPU nodes of no pool, and of those that several pools claim.
    ignored
        Names of nodes that are marked as not ours.
    totals
        Nodes that each pool's selector matches, ignored ones aside, by pool name.
    holds
        Nodes with several pools, pools without nodes, ignored nodes.
    """

    members: Mapping[str, Pool] = field(default_factory=dict)
    strays: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    totals: Mapping[str, int] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()


def divide(nodes: Iterable[Node], pools: tuple[Pool, ...]) -> Pooling:
    """Return the pool of each node.

    Parameters
    ----------
    nodes
        Each name once.
    pools
        In the order of the policy; their names are unique.
    """
    members: dict[str, Pool] = {}
    totals = {pool.name: 0 for pool in pools}
    strays, ignored, holds = set(), set(), []
    for node in nodes:
        if not has_gpu_signs(node) and not any(p.node_selector for p in pools):
            continue
        if is_set(node.annotations.get(IGNORE)):
            ignored.add(node.name)
            holds.append(_ignored(node))
            continue
        found = matching_pools(node, pools) or possible_pools(node, pools)
        for pool in found:
            totals[pool.name] += 1
        if len(found) == 1:
            members[node.name] = found[0]
            continue
        if found or has_gpu_signs(node):
            strays.add(node.name)
        # A node whose labels are away is told as that; which pool is no question then.
        if len(matching_pools(node, pools)) > 1:
            holds.append(_ambiguous(node, found))
    holds += [_empty(pool) for pool in pools if not totals[pool.name]]
    return Pooling(members, frozenset(strays), frozenset(ignored), totals, tuple(holds))


def matching_pools(node: Node, pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Return the pools whose selector a node meets, in the order of the policy.

    Strategy single and sharing decorate the product label. It is the same board still,
    so such a node is of the pool of its plain product, unless a pool names the label
    just as it is.
    """
    met = tuple(pool for pool in pools if _is_met(node, pool))
    exact = tuple(pool for pool in met if _is_exact(node, pool))
    return exact or met


def possible_pools(node: Node, pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Return the pools that a node without a product label may be of.

    Returns
    -------
    tuple
        The pool that the journal of an open rollout names; else all pools whose other
        labels the node carries: the missing ones may be away for a while only.
    """
    if PRODUCT in node.labels or not has_gpu_signs(node):
        return ()
    journal = journal_of(node)
    named = tuple(pool for pool in pools if journal is not None and pool.name == journal.pool)
    return named or tuple(p for p in pools if p.node_selector and _is_open(node, p))


def has_gpu_signs(node: Node) -> bool:
    """Say whether anything on a node hints at NVIDIA GPUs."""
    return (
        any(label.startswith(NVIDIA) for label in node.labels)
        or any(is_gpu_resource(name) for name in (*node.allocatable, *node.capacity))
        or INVENTORY in node.annotations
        or ROLLOUT in node.annotations
    )


def _is_met(node: Node, pool: Pool) -> bool:
    if not pool.node_selector:
        return has_gpu_signs(node)
    return all(_carries(node, key, value) for key, value in pool.node_selector.items())


def _is_exact(node: Node, pool: Pool) -> bool:
    return all(node.labels.get(key) == value for key, value in pool.node_selector.items())


def _is_open(node: Node, pool: Pool) -> bool:
    return all(
        _carries(node, key, value) or (is_lasting(key) and key not in node.labels)
        for key, value in pool.node_selector.items()
    )


def _carries(node: Node, key: str, value: str) -> bool:
    label = node.labels.get(key)
    if label == value or label is None or key != PRODUCT:
        return label == value
    plain = label.removesuffix("-SHARED")
    return plain == value or plain.startswith(f"{value}-MIG-")


def _ambiguous(node: Node, pools: tuple[Pool, ...]) -> Hold:
    names = ", ".join(pool.name for pool in pools)
    text = f"node {node.name} matches {len(pools)} pools ({names}): it is left alone"
    return Hold(Reason.AMBIGUOUS_POOL, text, node.name)


def _empty(pool: Pool) -> Hold:
    labels = ", ".join(f"{k}={v}" for k, v in sorted(pool.node_selector.items()))
    text = f"no node matches pool {pool.name} ({labels or 'any node with NVIDIA GPUs'})"
    return Hold(Reason.POOL_EMPTY, text)


def _ignored(node: Node) -> Hold:
    text = f"node {node.name} carries the annotation {IGNORE}: neither supply nor target"
    return Hold(Reason.IGNORED, text, node.name)
