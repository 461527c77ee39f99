"""The gate: which proposed changes may start now, and for each other one why not.

It never removes or reorders a change. All reasons are given, not only the first, so
that a person who lifts one knows the rest. Budgets go to changes in plan order, and
only to those that nothing else blocks. How long a proposal must have been there
(``persistence``) is a matter of starting and not of the plan, so it is not in here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import backoff_s
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.plan.plan import NodeChange, Plan, StoppedBy
from autoscaler.domain.policy.policy import Driver, Policy
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.domain.reasons import Block, Hold, Reason
from autoscaler.planning.gating.allowance import allowance
from autoscaler.planning.gating.timing import Timing, moment, timing

# What only the planner can know; everything else is worked out anew.
OF_PLANNER = frozenset({Reason.HOLDERS_UNPROVEN, Reason.EVICTION_DISABLED})

# A layout that failed fails again; only another driver or another board would help.
REFUSED_S = 7 * 86400.0

# MIG manager fails on a name that it does not find in the file it reads.
OF_CONFIGURATIONS = frozenset({Reason.OPERATOR_CONFIG, Reason.UNREADABLE})


@dataclass(frozen=True, slots=True)
class Standing:
    """What the gate must know beside the fleet and the policy.

    Parameters
    ----------
    history
        Rollouts that are over, in any order.
    paused
        What people wrote when they paused the loop; ``None`` when it is not paused.
    by_hand
        Whether a person applies the plan, who may take one that the solver had to
        stop at some moment of the wall clock.
    """

    history: tuple[RolloutRecord, ...] = ()
    paused: str | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything the rules look at, worked out once; ``holds`` are those of the fleet."""

    nodes: dict[str, FleetNode]
    holds: tuple[Hold, ...]
    policy: Policy
    now_s: float
    standing: Standing
    timing: Timing


def gate(
    plan: Plan,
    snapshot: Snapshot,
    policy: Policy,
    now_s: float,
    standing: Standing | None = None,
) -> Plan:
    """Return the plan with every change's blocks filled in.

    Parameters
    ----------
    plan
        Changes in the order in which they should start. What an earlier gate said of
        them is forgotten.
    snapshot
        The fleet as it is now.
    policy
        Windows, freezes, budgets, cooldown and minimum gain.
    now_s
        Epoch seconds.
    standing
        History, pause and who asks; by default nothing happened and nobody paused.
    """
    standing = standing or Standing()
    nodes = {node.name: node for node in snapshot.nodes}
    holds = tuple(hold for hold in snapshot.holds if hold.node is None)
    case = _Case(nodes, holds, policy, now_s, standing, timing(policy.disruption, now_s))
    allowed = allowance(snapshot, policy.disruption.budgets, standing.history, now_s)
    granted, changes = 0, []
    for change in plan.changes:
        kept = tuple(block for block in change.blocked_by if block.reason in OF_PLANNER)
        blocks = dict.fromkeys((*kept, *_plan_blocks(case, plan)))
        blocks |= dict.fromkeys(_node_blocks(case, change))
        blocks |= dict.fromkeys(_change_blocks(case, change))
        blocks |= dict.fromkeys(allowed.blocks(granted))
        granted += 0 if blocks else 1
        changes.append(replace(change, blocked_by=tuple(blocks)))
    return replace(plan, changes=tuple(changes))


def _plan_blocks(case: _Case, plan: Plan) -> Iterator[Block]:
    if case.standing.paused is not None:
        said = f" ({case.standing.paused})" if case.standing.paused else ""
        yield Block(Reason.PAUSED, f"paused by people{said}, until they resume")
    stopped = plan.optimality.stopped_by if plan.optimality else None
    by_chance = {StoppedBy.WALL_CLOCK, StoppedBy.FAILURE}
    if stopped in by_chance and not case.standing.by_hand:
        yield Block(
            Reason.SOLVER_STOPPED,
            f"the solver stopped by {stopped}: another run may plan otherwise, so only a"
            " person may apply this plan",
        )


def _node_blocks(case: _Case, change: NodeChange) -> Iterator[Block]:
    node = case.nodes.get(change.node)
    if node is None or (change.uid and node.node.uid != change.uid):
        yield Block(Reason.NODE_GONE, f"{change.node} is not in the fleet any more")
        return
    yield from (Block(hold.reason, hold.message) for hold in node.holds)
    if node.driver is Driver.MIG_MANAGER:
        files = (hold for hold in case.holds if hold.reason in OF_CONFIGURATIONS)
        yield from (Block(hold.reason, hold.message) for hold in files)
    if node.journal is not None:
        state = node.journal.state
        yield Block(Reason.CHANGE_IN_PROGRESS, f"its rollout {node.journal.id} is {state}")
    if node.reserved and node.model is not None:
        whole = Counts({node.model.whole_gpu.name: 1})
        if any(gpu.after != whole for gpu in change.gpus):
            yield Block(Reason.RESERVED, f"{change.node} is reserved for whole GPUs")


def _change_blocks(case: _Case, change: NodeChange) -> Iterator[Block]:
    yield from case.timing.blocks(
        change.estimated_s, disturbs(case.nodes.get(change.node), change)
    )
    yield from _unseen(case, change)
    yield from _cooldown(case, change)
    yield from _refused(case, change)
    least, price = case.policy.planning.min_gain, change.price
    if price.gain < least * price.cost:
        yield Block(
            Reason.MIN_GAIN,
            f"gains {price.gain:.0f} slice-seconds for {price.cost:.0f};"
            f" planning.minGain asks for {least:g} times the cost",
        )


def disturbs(node: FleetNode | None, change: NodeChange) -> str:
    """Return whom a change disturbs, empty when provably nobody.

    Nobody means: it evicts no pod, and no pod holds or may hold an instance of a GPU
    that it changes.

    Parameters
    ----------
    node
        The node as it is now; ``None`` when unknown, then nothing is proven.
    change
        The change of it.
    """
    if change.evictions:
        number = len(change.evictions)
        return f"it evicts {number} {'pod' if number == 1 else 'pods'}"
    if node is None:
        return "its node is not known"
    idle = {gpu.index for gpu in node.gpus if gpu.is_idle}
    held = [gpu.index for gpu in change.gpus if gpu.index not in idle]
    return f"GPU {', '.join(map(str, held))} is or may be held" if held else ""


def _unseen(case: _Case, change: NodeChange) -> Iterator[Block]:
    """Yield the block of a part of a node whose pods cannot be told to be elsewhere.

    It would be closed until all its pods have ended, or until it is given up.
    """
    node = case.nodes.get(change.node)
    if node is None or not node.unseen or len(change.gpus) == len(node.gpus):
        return
    yield Block(
        Reason.METRICS_MISSING,
        f"{node.unseen}; so MIG manager may change {change.node} only when it is empty, and"
        f" {len(node.holders)} {'pods hold' if len(node.holders) > 1 else 'pod holds'} its"
        " GPUs",
    )


def _cooldown(case: _Case, change: NodeChange) -> Iterator[Block]:
    mine = sorted(
        (r for r in case.standing.history if r.node == change.node and _did_something(r)),
        key=lambda record: record.ended_at_s,
    )
    if not mine:
        return
    failures = _aborted_in_a_row(mine)
    wait_s = case.policy.disruption.cooldown_s
    # Rollouts that went wrong on the node lead to quarantine; those that never got so
    # far leave no mark there, so their back-off is counted here.
    first_s = case.policy.rollout.backoff_s
    wait_s = max(wait_s, backoff_s(first_s, failures) if failures else 0.0)
    until_s = mine[-1].ended_at_s + wait_s
    if case.now_s < until_s:
        last = f"its last rollout ended ({mine[-1].result}) at {moment(mine[-1].ended_at_s)}"
        why = f"given up {failures} times in a row" if failures > 1 else "cooldown"
        yield Block(
            Reason.COOLDOWN,
            f"{last}; {why}: it rests for {format_duration(wait_s)}, until {moment(until_s)}",
        )


def _did_something(record: RolloutRecord) -> bool:
    return record.result is not Result.WAITED


def _refused(case: _Case, change: NodeChange) -> Iterator[Block]:
    """Yield the block of a layout that MIG manager could not make elsewhere in the pool.

    One node that has it proves that it can be made, and then the fault was the other's.
    """
    config = change.config_name
    mine = [r for r in case.standing.history if (r.pool, r.after) == (change.pool, config)]
    failed = [r for r in mine if r.refused and r.ended_at_s + REFUSED_S > case.now_s]
    proven = any(r.result is Result.DONE for r in mine) or any(
        node.pool == change.pool and node.node.labels.get(MIG_CONFIG) == config
        for node in case.nodes.values()
        if not node.holds
    )
    if not failed or proven:
        return
    last = max(failed, key=lambda record: record.ended_at_s)
    yield Block(
        Reason.LAYOUT_REFUSED,
        f"MIG manager could not make {config} on node {last.node} and no node of pool"
        f" {change.pool} has it; not tried again before {moment(last.ended_at_s + REFUSED_S)}",
    )


def _aborted_in_a_row(records: list[RolloutRecord]) -> int:
    number = 0
    for record in reversed(records):
        if record.result is not Result.ABORTED:
            break
        number += 1
    return number
