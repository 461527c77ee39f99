"""Assessment: from what the API server said to one view of the fleet.

Nothing is decided here. Each node gets what is known of its GPUs, of who holds them,
and every reason to leave it alone; the planner and the gate need nothing else.
"""

from collections.abc import Iterable
from dataclasses import replace

from autoscaler.domain.cluster.inventory import inventory_of
from autoscaler.domain.cluster.mig_manager import misplaced
from autoscaler.domain.cluster.objects import MetricsView, Node, Observation
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.conditions import with_conditions_left_out
from autoscaler.domain.fleet.evidence import Evidence, gather
from autoscaler.domain.fleet.examination import examine
from autoscaler.domain.fleet.memory import (
    CAPABLE,
    GPU_COUNT,
    NO_MEMORY,
    PRODUCT,
    Memory,
    remember,
)
from autoscaler.domain.fleet.pooling import Pooling, divide, has_gpu_signs
from autoscaler.domain.fleet.reservation import reserve, reserved_holds
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.reasons import Hold, Reason

__all__ = ["Memory", "assess", "remember"]

# Holds worth telling of a node that no pool wants: its owner may have meant it to be.
TOLD_OF_STRAYS = frozenset({Reason.UNKNOWN_MODEL, Reason.UNREADABLE, Reason.CHANGE_IN_PROGRESS})


def assess(
    observation: Observation,
    policy: Policy,
    metrics: MetricsView | None,
    now_s: float,
    memory: Memory = NO_MEMORY,
) -> Snapshot:
    """Return the fleet as the planner sees it.

    Parameters
    ----------
    observation
        One complete pass over the API server.
    policy
        The policy in force.
    metrics
        ``None`` when there are none; then GPUs that pods may sit on count as held.
    now_s
        Epoch seconds; ages count to it.
    memory
        What earlier cycles knew of these nodes (see ``remember``).

    Returns
    -------
    Snapshot
        The same for the same input, whatever the order of its lists.
    """
    unique, doubles = _distinct(observation.nodes)
    if observation.offline:
        unique = tuple(with_conditions_left_out(node) for node in unique)
    restored = tuple(_restored(node, memory) for node in unique)
    pooling = divide(restored, policy.pools)
    evidence = gather(observation, policy, nodes=restored, metrics=metrics, now_s=now_s)
    evidence = replace(evidence, memory=memory)
    members, strays = [], []
    for node in evidence.nodes:
        if node.name in pooling.members:
            members.append(examine(node, pooling.members[node.name], evidence))
        elif node.name in pooling.strays:
            strays.append(examine(node, None, evidence))
    members, reserve_holds = _reserve(members, policy, pooling)
    fleet_holds = (
        *pooling.holds,
        *doubles,
        *reserve_holds,
        *_file_holds(evidence, members),
        *(hold for node in members for hold in node.holds),
        *(hold for node in strays for hold in _told(node)),
    )
    return Snapshot(
        observed_at_s=observation.observed_at_s,
        nodes=tuple(members),
        holds=tuple(sorted(set(fleet_holds), key=_order)),
        outsiders=tuple(strays),
        pools_total=dict(sorted(pooling.totals.items())),
    )


def _distinct(nodes: Iterable[Node]) -> tuple[tuple[Node, ...], tuple[Hold, ...]]:
    """Return each name once; nodes that contradict each other become one that is held."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        same = found.setdefault(node.name, [])
        if node not in same:
            same.append(node)
    holds = tuple(
        Hold(
            Reason.DUPLICATE_NODE,
            f"node {name} is there {len(same)} times, each different",
            name,
        )
        for name, same in found.items()
        if len(same) > 1
    )
    return tuple(_one(same) for same in found.values()), holds


def _one(same: list[Node]) -> Node:
    """Return the one node, or of several only what all of them say."""
    first, *others = same
    labels = {
        key: value
        for key, value in first.labels.items()
        if all(other.labels.get(key) == value for other in others)
    }
    if not others:
        return first
    fault = f"is there {len(same)} times, each different: none of them is believed"
    return Node(name=first.name, labels=labels, faults=(fault,))


def _restored(node: Node, memory: Memory) -> Node:
    """Return the node with what is known of it where its own labels are away."""
    node = memory.with_labels(node)
    if PRODUCT in node.labels and GPU_COUNT in node.labels:
        return node
    try:
        inventory = inventory_of(node)
    except ConfigError:
        return node
    if inventory is None:
        return node
    known = {PRODUCT: inventory.products[0], GPU_COUNT: str(len(inventory.gpus))}
    return replace(node, labels={**known, **node.labels})


def _reserve(
    members: list[FleetNode], policy: Policy, pooling: Pooling
) -> tuple[list[FleetNode], list[Hold]]:
    """Mark the reserved nodes of each pool."""
    marked: dict[str, FleetNode] = {}
    holds: list[Hold] = []
    by_pool: dict[str, list[FleetNode]] = {}
    for node in members:
        by_pool.setdefault(node.pool, []).append(node)
    for pool in policy.pools:
        total = pooling.totals[pool.name]
        # A pool without nodes is told as such; its reserve is no second trouble.
        if total:
            nodes, impossible = reserve(by_pool.get(pool.name, ()), pool, total)
            holds.extend(impossible)
            marked.update((node.name, node) for node in reserved_holds(nodes))
    return [marked[node.name] for node in members], holds


def _file_holds(evidence: Evidence, members: Iterable[FleetNode]) -> tuple[Hold, ...]:
    """Return what is wrong with configuration files, where MIG manager is to read them."""
    if any(node.driver is Driver.MIG_MANAGER for node in members):
        namespace = evidence.policy.mig_manager.namespace
        return (*evidence.promises.holds(), *misplaced(evidence.observation.pods, namespace))
    return ()


def _told(node: FleetNode) -> tuple[Hold, ...]:
    if node.node.labels.get(CAPABLE) == "false" or not has_gpu_signs(node.node):
        return ()
    return tuple(hold for hold in node.holds if hold.reason in TOLD_OF_STRAYS)


def _order(hold: Hold) -> tuple[str, str, str]:
    return hold.node or "", hold.reason.value, hold.message
