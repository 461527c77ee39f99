"""Which whole GPUs in use placeholders shall have next, so that they can be cut anew.

Where a node has several GPUs, it cannot be closed until one of them is free: the others
would be lost meanwhile. A placeholder keeps that one GPU alone. Whether it is worth one is
answered by the planner itself, for a fleet in which these GPUs are free already.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.placeholder import Placeholder
from autoscaler.domain.counts import Counts, sum_of
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.plan.plan import NodeChange, NodePlaceholders
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.reasons import Reason
from autoscaler.planning.gating.gate import Standing, gate
from autoscaler.planning.past.values import ValueHistory
from autoscaler.planning.planner import PlannerSettings, make_plan
from autoscaler.planning.program.fleet import is_movable
from autoscaler.planning.program.keeping import (
    Place,
    allows_placeholders,
    keepable,
    may_wait_for,
)

# Nothing is closed for a placeholder, so what is out of service does not forbid it.
PASSING = frozenset({Reason.NODE_BUDGET, Reason.HOURLY_BUDGET})


def may_have_placeholders(node: FleetNode) -> bool:
    """Say whether placeholders may keep GPUs of a node.

    One that has a single GPU is closed instead, which needs no pod. Where a whole GPU is
    free, nobody else wants it, and a placeholder would have that one.
    """
    return (
        is_movable(node)
        and not node.reserved
        and node.strategy is Strategy.MIXED
        and not may_wait_for(node)
        and not node.takeable[_resource_of(node)]
        and all(gpu.mig_enabled for gpu in node.gpus)
    )


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a plan and its gate rest on beside fleet and demand.

    Parameters
    ----------
    policy
        Whether pods are waited for at all, and the constants of prices.
    now_s
        Epoch seconds.
    settings, standing
        As for the plan and its gate.
    """

    policy: Policy
    now_s: float
    settings: PlannerSettings
    standing: Standing


def placeholders_for(
    snapshot: Snapshot, demand: Demand, occasion: Occasion
) -> tuple[NodePlaceholders, ...]:
    """Return which whole GPUs placeholders shall have, by node; most often none."""
    policy, now_s = occasion.policy, occasion.now_s
    history = occasion.settings.history or ValueHistory()
    if not allows_placeholders(policy) or not demand.groups or not history.home:
        return ()
    holders = [h for h in demand.holders if h.ends or h.is_going or h.gone_in_s is not None]
    places = keepable(holders, snapshot.nodes, history.home, may_have_placeholders)
    if not places:
        return ()
    leaving: dict[str, list[Holder]] = {}
    for holder in holders:
        if (holder.node, holder.gpu) in places:
            leaving.setdefault(holder.node, []).append(holder)
    nodes = tuple(_emptied(node, leaving.get(node.name, ())) for node in snapshot.nodes)
    emptied = replace(snapshot, nodes=nodes)
    left = tuple(h for h in demand.holders if (h.node, h.gpu) not in places)
    plan = make_plan(emptied, replace(demand, holders=left), policy, now_s, occasion.settings)
    gated = gate(plan, emptied, policy, now_s, occasion.standing)
    wanted = _wanted(gated.changes, snapshot, places)
    found = (
        _wish_for(node, wanted, leaving[node.name])
        for node in snapshot.nodes
        if node.name in leaving
    )
    return tuple(wish for wish in found if wish.number)


def _wanted(
    changes: Iterable[NodeChange], snapshot: Snapshot, places: Collection[Place]
) -> dict[tuple[str, str], int]:
    """Return how many of the emptied GPUs a plan would cut, by pool and resource."""
    nodes = {node.name: node for node in snapshot.nodes}
    wanted: dict[tuple[str, str], int] = {}
    for change in changes:
        if change.reasons <= PASSING:
            key = (change.pool, _resource_of(nodes[change.node]))
            cut = sum((change.node, gpu.index) in places for gpu in change.gpus)
            wanted[key] = wanted.get(key, 0) + cut
    return wanted


def _wish_for(
    node: FleetNode, wanted: Mapping[tuple[str, str], int], leaving: Collection[Holder]
) -> NodePlaceholders:
    """Return what a node shall have: which pod of which node ends first nobody knows."""
    resource = _resource_of(node)
    return NodePlaceholders(
        node=node.name,
        pool=node.pool,
        resource=resource,
        number=min(len(leaving), wanted.get((node.pool, resource), 0)),
        awaits=tuple(sorted(holder.pod for holder in leaving)),
    )


def _emptied(node: FleetNode, leaving: Collection[Holder]) -> FleetNode:
    """Return a node as it will be when placeholders have some of its GPUs."""
    if not leaving:
        return node
    pods = {holder.pod for holder in leaving}
    empty = {holder.gpu for holder in leaving}
    kept = Counts({_resource_of(node): 1})
    virtual = tuple(
        Placeholder(node.name, holder.pod, holds=kept, is_bound=True) for holder in leaving
    )
    return replace(
        node,
        gpus=tuple(_free(gpu) if gpu.index in empty else gpu for gpu in node.gpus),
        allocated=node.allocated.minus(sum_of(holder.bundle for holder in leaving)),
        holders=tuple(pod for pod in node.holders if pod.ref not in pods),
        placeholders=(*node.placeholders, *virtual),
    )


def _free(gpu: Gpu) -> Gpu:
    pinned = None if gpu.pinned is None else Geometry()
    return replace(gpu, held=Counts(), holders=(), pinned=pinned, seats=())


def _resource_of(node: FleetNode) -> str:
    return "" if node.model is None else resource_name(node.model.whole_gpu.name)


def is_used(placeholder: Placeholder, changes: Mapping[str, NodeChange]) -> bool:
    """Say whether a change of a plan is about to cut what a placeholder keeps.

    Parameters
    ----------
    changes
        Changes that nothing blocks, by node.
    """
    change = changes.get(placeholder.node)
    if change is None:
        return False
    return any(
        Counts({resource_name(name): n for name, n in gpu.before.items()}).covers(
            placeholder.holds
        )
        for gpu in change.gpus
    )
