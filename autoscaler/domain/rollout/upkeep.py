"""Marks on nodes without a rollout: what is to be cleaned up, each cycle anew.

Quarantine that is over, a request to abort that came too late, a node whose pods cannot
start since we changed it, and one whose layout somebody else has changed since.
"""

from dataclasses import dataclass, replace

from autoscaler.domain.cluster.marks import ABORT, MIG_CONFIG, OVERRULED, QUARANTINE, ROLLOUT
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import Quarantine, backoff_s
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.agent_sight import is_half_cut, may_open
from autoscaler.domain.rollout.opening import failures_so_far
from autoscaler.domain.rollout.releasing import FOREIGN_HOLD_S
from autoscaler.domain.rollout.steps import Notice, PatchNode

# Pods that cannot start this soon after a change are its work.
SUSPECT_S = 900.0


@dataclass(frozen=True, slots=True)
class Upkeep:
    """A patch for one node without a rollout."""

    node: Node
    patch: PatchNode


def upkeep_of(
    node: FleetNode, last: RolloutRecord | None, *, first_backoff_s: float, now_s: float
) -> Upkeep | None:
    """Return what a node needs, ``None`` for nothing.

    Parameters
    ----------
    last
        The last rollout of the node that is over.
    first_backoff_s
        Wait after a first failure, in seconds.
    """
    if ROLLOUT in node.node.annotations:
        return None
    patch = (
        _closing(node, last, first_backoff_s, now_s)
        or _overruled(node, last, now_s)
        or _quarantine(node.node, now_s)
        or _late_abort(node.node)
    )
    return None if patch is None else Upkeep(node.node, patch)


def _closing(
    node: FleetNode, last: RolloutRecord | None, first_backoff_s: float, now_s: float
) -> PatchNode | None:
    """Close a node again whose pods cannot start since our change."""
    failing = next((h for h in node.holds if h.reason is Reason.START_FAILURES), None)
    if failing is None or last is None or node.node.unschedulable:
        return None
    if last.result is not Result.DONE or now_s - last.ended_at_s > SUSPECT_S:
        return None
    attempt = failures_so_far(node.node) + 1
    entry = Quarantine(
        reason=Reason.START_FAILURES,
        message=failing.message,
        since_s=now_s,
        until_s=now_s + backoff_s(first_backoff_s, attempt),
        attempt=attempt,
        cordoned=True,
        rollout=last.rollout,
    )
    message = f"closed again after its change: {failing.message}"
    return PatchNode(
        None,
        annotations={QUARANTINE: entry.to_text()},
        unschedulable=True,
        notice=Notice("MigStartFailures", message, warning=True),
    )


def _overruled(node: FleetNode, last: RolloutRecord | None, now_s: float) -> PatchNode | None:
    """Leave a node alone whose configuration somebody else has set since our change.

    Writing ours back would make two writers cut the node in turns for ever. The mark
    says for which change this was told, so that it is told once and can be cleared.
    """
    config = node.node.labels.get(MIG_CONFIG)
    if last is None or last.result is not Result.DONE or not last.after:
        return None
    is_told = node.node.annotations.get(OVERRULED) == last.rollout
    is_younger = node.node.created_s > last.ended_at_s
    if config == last.after or is_told or is_younger or node.driver is not Driver.MIG_MANAGER:
        return None
    writer = f" by {node.node.config_writer}" if node.node.config_writer else ""
    message = (
        f"mig.config was set to {config or 'nothing'}{writer} after our change to {last.after};"
        " left so, and the node alone"
    )
    entry = Quarantine(
        reason=Reason.FOREIGN_CONFIG,
        message=message,
        since_s=now_s,
        until_s=now_s + FOREIGN_HOLD_S,
        attempt=failures_so_far(node.node),
        cordoned=_left_closed(node.node),
        rollout=last.rollout,
        result=Result.FOREIGN,
    )
    return PatchNode(
        None,
        annotations={QUARANTINE: entry.to_text(), OVERRULED: last.rollout},
        notice=Notice("MigForeignConfig", message, warning=True),
    )


def _left_closed(node: Node) -> bool:
    """Say whether a quarantine of before left the node closed: then we open it again."""
    text = node.annotations.get(QUARANTINE)
    return text is not None and Quarantine.from_text(text).cordoned


def _quarantine(node: Node, now_s: float) -> PatchNode | None:
    """End a quarantine that an operator cleared, and open what we need not keep closed.

    The entry stays after its time, because it counts failures; a success removes it.
    """
    text = node.annotations.get(QUARANTINE)
    if text is None:
        return None
    entry = Quarantine.from_text(text)
    ours = entry.cordoned and node.unschedulable
    if entry.cleared:
        notice = Notice("MigQuarantineCleared", "an operator ended the quarantine")
        opened = False if ours else None
        return PatchNode(
            None, annotations={QUARANTINE: None}, unschedulable=opened, notice=notice
        )
    recovered = entry.result is Result.QUARANTINED and may_open(node)
    is_over = entry.is_over(now_s) and not is_half_cut(node)
    if not ours or not (is_over or recovered):
        return None
    why = "it offers resources again" if recovered else "its back-off is over"
    return PatchNode(
        None,
        annotations={QUARANTINE: replace(entry, cordoned=False).to_text()},
        unschedulable=False,
        notice=Notice("MigNodeOpened", f"opened: {why}"),
    )


def _late_abort(node: Node) -> PatchNode | None:
    """Remove a request to abort from a node where there is nothing to abort.

    It would end the next rollout, which its writer knows nothing of.
    """
    if ABORT not in node.annotations:
        return None
    notice = Notice("MigNothingToAbort", "there is no rollout to abort")
    return PatchNode(None, annotations={ABORT: None}, notice=notice)
