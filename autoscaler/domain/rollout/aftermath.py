"""How a rollout ended that nobody was there to record.

The last write of a rollout removes its journal. When its answer is lost, or its writer
dies right after it, the node still tells what happened.
"""

from autoscaler.domain.cluster.marks import MIG_CONFIG, QUARANTINE
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.advertised import advertises
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Journal, Result
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.agent_sight import shows
from autoscaler.domain.rollout.steps import Finish


def infer_end(journal: Journal, node: Node | None) -> Finish:
    """Return how a rollout ended whose journal is not on its node any more.

    Parameters
    ----------
    journal
        As last seen.
    node
        The node now; ``None`` when it does not exist.
    """
    if node is None or node.uid != journal.node_uid:
        return Finish(Result.GONE, "NodeDeleted", "the node does not exist any more")
    entry = node.annotations.get(QUARANTINE)
    if entry is not None:
        found = Quarantine.from_text(entry)
        if found.rollout == journal.id:
            return Finish(found.result or Result.QUARANTINED, found.reason, found.message)
    if node.unschedulable and not journal.was_unschedulable:
        message = "its journal was removed by someone else; the node is left as it is"
        return Finish(Result.GONE, "JournalRemoved", message)
    if journal.driver is Driver.AGENT:
        return _by_inventory(journal, node)
    target = journal.target
    if node.labels.get(MIG_CONFIG) == target.config_name and advertises(node, target.resources):
        return Finish(Result.DONE, "Verified", "it offers what it should")
    if node.labels.get(MIG_CONFIG) == journal.before.config_name:
        return Finish(Result.ABORTED, "Undone", "it is open again and as it was before")
    message = f"mig.config is {node.labels.get(MIG_CONFIG)} and the journal is gone"
    return Finish(Result.FOREIGN, Reason.FOREIGN_CONFIG, message)


def _by_inventory(journal: Journal, node: Node) -> Finish:
    """Return how a rollout of the node agent ended: no label tells, the places do."""
    for layout, result, reason, message in (
        (journal.target, Result.DONE, "Verified", "it offers what it should"),
        (journal.before, Result.ABORTED, "Undone", "it is open again and as it was before"),
    ):
        if shows(node, layout, journal.gpus) and advertises(node, layout.resources):
            return Finish(result, reason, message)
    message = "it is open, the journal is gone and its GPUs are neither as before nor as asked"
    return Finish(Result.GONE, "JournalRemoved", message)
