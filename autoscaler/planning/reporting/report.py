"""What a plan says about a choice: changes by node, demand by pool, holds, sums."""

import hashlib
import json
from collections.abc import Sequence

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.configuration import node_configuration
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.plan.plan import DemandLine, Eviction, GpuChange, NodeChange, Plan
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.domain.reasons import Hold
from autoscaler.planning.program.duration import expected_out_of_service_s
from autoscaler.planning.program.mix import Choice
from autoscaler.planning.program.problem import Problem
from autoscaler.planning.program.rules import broken
from autoscaler.planning.reporting.moves import NodeMove
from autoscaler.planning.reporting.pricing import PricedMove
from autoscaler.planning.reporting.unserved import obstacles

ID_DIGITS = 12


def changes_of(
    problem: Problem,
    policy: Policy,
    priced: Sequence[PricedMove],
    before: Choice,
    after: Choice,
) -> tuple[NodeChange, ...]:
    """Return the changes in the given order; earlier ones serve the older pods.

    Parameters
    ----------
    problem
        The problem of the moment.
    policy
        Its waits, for estimates of duration.
    priced
        Changes of nodes with their prices.
    before, after
        Requests served by the fleet as it is and after the changes.
    """
    queues = {
        index: list(group.pods[before.served[index] : after.served[index]])
        for index, group in enumerate(problem.groups)
    }
    changes = []
    for own in priced:
        served: list[PodRef] = []
        for want, number in own.serves.items():
            queue = queues.get(want, [])
            served += queue[: max(0, number)]
            queues[want] = queue[max(0, number) :]
        acts = _num_acts(own.move)
        seconds = expected_out_of_service_s(own.move.node.driver, policy, acts)
        seconds += own.move.wait_s
        changes.append(_change(own, tuple(served), seconds))
    return tuple(changes)


def _num_acts(move: NodeMove) -> int:
    """Count the instances that are destroyed or created, where their places are known."""
    number = 0
    for place, target in move.targets:
        before, after = move.node.gpus[place].geometry, target.geometry
        if before is not None and after is not None:
            number += len(set(before.instances) ^ set(after.instances))
    return number


def _change(priced: PricedMove, serves: tuple[PodRef, ...], seconds: float) -> NodeChange:
    move, node = priced.move, priced.move.node
    targets = dict(move.targets)
    layout = tuple(
        targets[place].after if place in targets else gpu.counts if gpu.mig_enabled else None
        for place, gpu in enumerate(node.gpus)
    )
    name = node_configuration(node.model, layout)[0] if node.model is not None else ""
    return NodeChange(
        node=node.name,
        uid=node.node.uid,
        pool=node.pool,
        observed=observed_hash(node, [node.gpus[place].index for place in targets]),
        config_name=name,
        gpus=tuple(_gpu_changes(move)),
        layout=layout,
        resources=supply_of(layout, node.strategy),
        evictions=_evictions(priced.move, serves),
        awaits=tuple(holder.pod for holder in move.awaited),
        serves=serves,
        price=priced.price,
        estimated_s=seconds,
    )


def _evictions(move: NodeMove, serves: tuple[PodRef, ...]) -> tuple[Eviction, ...]:
    """Return whom a change evicts, and for whom."""
    more = f" and {len(serves) - 1} more" if len(serves) > 1 else ""
    whom = f"for {serves[0]}{more}" if serves else "for what the plan needs"
    return tuple(
        Eviction(
            holder.pod,
            f"GPU {holder.gpu} is re-cut {whom}; it holds {holder.held} there and loses"
            f" {format_duration(float(round(holder.lost_work_s)))} of work",
        )
        for holder in move.evicted
    )


def _gpu_changes(move: NodeMove) -> list[GpuChange]:
    changes = []
    for place, target in move.targets:
        gpu = move.node.gpus[place]
        is_placed = move.node.driver is Driver.AGENT
        change = GpuChange(
            index=gpu.index,
            before=gpu.counts,
            after=target.after,
            placements_before=gpu.geometry if is_placed else None,
            placements_after=target.geometry,
        )
        changes.append(change)
    return changes


def demand_lines(
    problem: Problem, snapshot: Snapshot, before: Choice, after: Choice
) -> tuple[DemandLine, ...]:
    """Return what is asked for by pool and resource, and what a plan does for it.

    Pods that several pools may take count where they are served, or else in the first
    of these pools by name.
    """
    served = [_by_pool(problem, choice) for choice in (before, after)]
    lines: dict[tuple[str, str], list[int]] = {}
    for index, group in enumerate(problem.groups):
        pools = sorted({problem.fleet.zones[z].pool for z in problem.mix.wants[index].zones})
        rest = group.number - after.served[index]
        for pool in pools or [""]:
            first, last = (own.get((index, pool), 0) for own in served)
            pending = last + (rest if pool == (pools or [""])[0] else 0)
            if not pending:
                continue
            for name, number in group.bundle.items():
                line = lines.setdefault((pool, name), [0, 0, 0])
                line[0] += number * pending
                line[1] += number * max(0, pending - first)
                line[2] += number * max(0, last - first)
    free: dict[tuple[str, str], int] = {}
    for node in (*snapshot.nodes, *snapshot.outsiders):
        # Nobody can take what is free on a node that is closed.
        for name, number in node.takeable.items() if not node.node.unschedulable else ():
            free[node.pool, name] = free.get((node.pool, name), 0) + number
    return tuple(
        DemandLine(name, pool, pending, free.get((pool, name), 0), lacking, more)
        for (pool, name), (pending, lacking, more) in sorted(lines.items())
    )


def _by_pool(problem: Problem, choice: Choice) -> dict[tuple[int, str], int]:
    """Count the requests served by want and pool."""
    zones, kinds = problem.fleet.zones, problem.mix.kinds
    total: dict[tuple[int, str], int] = {}
    found = [((want, zones[zone].pool), n) for (want, zone), n in choice.flows.items()]
    found += [((w, zones[kinds[k].zone].pool), n) for (w, k), n in choice.hosted.items()]
    for key, number in found:
        total[key] = total.get(key, 0) + number
    return total


def holds_of(problem: Problem, snapshot: Snapshot, choice: Choice) -> tuple[Hold, ...]:
    """Return a hold for each floor and reserve that a choice cannot keep."""
    holds = []
    for rule, short in zip(problem.rules, choice.short, strict=True):
        nodes = [node for node in snapshot.nodes if node.pool == rule.pool]
        hold = broken(rule, short, obstacles(nodes))
        # What can never be met has been said already.
        said = {(h.reason, h.message.split(" shall ")[0]) for h in snapshot.holds}
        if hold is not None and (hold.reason, f"pool {rule.pool}") not in said:
            holds.append(hold)
    return tuple(sorted(holds))


def plan_id(plan: Plan) -> str:
    """Return hex digits over what a plan proposes and why, times and gaps aside.

    The same proposal has the same id in the next cycle.
    """
    content = [
        plan.policy_hash,
        plan.mode,
        [[c.node, c.uid, c.observed, c.config_name, _layout(c.layout)] for c in plan.changes],
        [[str(pod) for pod in change.serves] for change in plan.changes],
        [[str(note.pod), note.reason.value] for note in plan.unserved],
    ]
    text = json.dumps(content, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def _layout(layout: Sequence[Counts | None]) -> list[dict[str, int] | None]:
    return [None if counts is None else dict(counts) for counts in layout]
