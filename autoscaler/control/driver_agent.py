"""The node agent as a driver: it reads the journal, so the journal says every place."""

from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.errors import Refused
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.rollout import Journal
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.plan.plan import NodeChange
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.rollout.opening import Places, Start


def uses_agent(journal: Journal) -> bool:
    """Say whether the node agent carries a rollout out."""
    return journal.driver is Driver.AGENT


def start_of(plan: str, change: NodeChange, node: FleetNode) -> Start:
    """Return the start of a change for the node agent.

    Parameters
    ----------
    plan
        Id of the plan that the change belongs to.
    node
        As assessed from a fresh read.

    Raises
    ------
    Refused
        When the plan or the node does not say where instances are: only placements tell
        the agent what to keep.
    """
    before: list[Geometry | None] = []
    for gpu in node.gpus:
        if gpu.mig_enabled and gpu.geometry is None:
            raise Refused(
                f"{node.name} does not show where the instances of GPU {gpu.index} are"
            )
        before.append(gpu.geometry if gpu.mig_enabled else None)
    return Start(
        plan=plan,
        change=change,
        node=node.node,
        layout=tuple(gpu.counts if gpu.mig_enabled else None for gpu in node.gpus),
        rollback_name=node.node.labels.get(MIG_CONFIG, ""),
        model=node.model.key if node.model is not None else "",
        driver=Driver.AGENT,
        strategy=node.strategy,
        places_before=tuple(before),
        places_after=_after(change, tuple(before)),
    )


def _after(change: NodeChange, before: Places) -> Places:
    after = list(before)
    for gpu in change.gpus:
        if gpu.placements_after is None or gpu.placements_after.counts != gpu.after:
            raise Refused(f"the plan does not say where the instances of GPU {gpu.index} go")
        after[gpu.index] = gpu.placements_after
    return tuple(after)
