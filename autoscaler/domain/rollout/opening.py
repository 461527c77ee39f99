"""The first write of a rollout: journal and cordon in one patch."""

from dataclasses import dataclass

from autoscaler.domain.cluster.marks import MIG_CONFIG, QUARANTINE
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.advertised import advertised
from autoscaler.domain.fleet.conditions import journal_of
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Journal, Layout, State
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.plan.plan import NodeChange
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.rollout.situation import OUR_MARKS
from autoscaler.domain.rollout.steps import Notice, PatchNode, Rules

Places = tuple[Geometry | None, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """A change that may start, and what the node is now.

    Parameters
    ----------
    plan
        Id of the plan the change belongs to.
    node
        A fresh read of the node.
    layout
        Profile counts of every GPU now, in index order; ``None`` for MIG off.
    rollback_name
        Configuration that brings this layout back.
    model
        Key of the node's GPU model.
    driver, strategy
        Who cuts the GPUs, and how the node advertises them.
    places_before, places_after
        Where the instances of every GPU are, and shall be, for a driver that chooses
        their places.
    """

    plan: str
    change: NodeChange
    node: Node
    layout: tuple[Counts | None, ...]
    rollback_name: str
    model: str = ""
    driver: Driver = Driver.MIG_MANAGER
    strategy: Strategy = Strategy.MIXED
    places_before: Places = ()
    places_after: Places = ()


def open_rollout(start: Start, rules: Rules, now_s: float) -> PatchNode:
    """Return the patch that closes a node for its change."""
    node, change = start.node, start.change
    # One that has waited for its pods goes before, and it was that which closed the node.
    earlier = journal_of(node)
    was_closed = node.unschedulable if earlier is None else earlier.was_unschedulable
    marks = {name: node.annotations.get(name) for name in sorted(OUR_MARKS)}
    awaits = change.awaits if start.driver is Driver.AGENT else ()
    own = rules.rollout
    journal = Journal(
        id=f"{node.name}-{int(now_s)}",
        plan=start.plan,
        holder=rules.holder,
        epoch=rules.epoch,
        state=State.CLOSED,
        state_since_s=now_s,
        deadline_s=now_s + (own.surplus_deadline_s if awaits else own.drain_deadline_s),
        before=Layout(
            node.labels.get(MIG_CONFIG),
            start.layout,
            offered_before(start),
            start.places_before,
        ),
        target=Layout(change.config_name, change.layout, change.resources, start.places_after),
        node_uid=node.uid,
        attempt=failures_so_far(node),
        was_unschedulable=was_closed,
        marks=marks if earlier is None else earlier.marks,
        gpus=tuple(g.index for g in change.gpus),
        evictions=tuple(sorted(str(e.pod) for e in change.evictions)),
        pool=change.pool,
        model=start.model,
        started_at_s=now_s,
        rollback_name=start.rollback_name,
        serves=tuple(str(pod) for pod in change.serves),
        gain=change.price.gain,
        cost=change.price.cost,
        driver=start.driver,
        awaits=tuple(str(pod) for pod in awaits),
    )
    message = f"closed to change {change.config_name}: {layouts_text(start)}"
    return PatchNode(
        journal,
        annotations=dict(OUR_MARKS),
        unschedulable=True,
        notice=Notice("MigRolloutStarted", message),
    )


def offered_before(start: Start) -> Counts:
    """Return what the node offers with the present layout.

    It is taken from its capacity: a device that is unhealthy today may be back after the
    device plugin's restart. The agent's inventory knows better, because the capacity also
    holds the rest of an earlier layout for some minutes.
    """
    if start.driver is Driver.AGENT:
        return supply_of(start.layout, start.strategy)
    return advertised(start.node.capacity or start.node.allocatable)


def failures_so_far(node: Node) -> int:
    """Return how many changes of the node failed in a row."""
    text = node.annotations.get(QUARANTINE)
    return 0 if text is None else Quarantine.from_text(text).attempt


def layouts_text(start: Start) -> str:
    """Say what happens to each GPU that changes."""
    return "; ".join(f"GPU {g.index} {g.before} -> {g.after}" for g in start.change.gpus)
