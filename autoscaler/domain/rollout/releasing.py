"""The end of a rollout: one patch that opens the node again and removes the journal."""

from dataclasses import replace

from autoscaler.domain.cluster.marks import ABORT, QUARANTINE
from autoscaler.domain.fleet.advertised import paused_labels
from autoscaler.domain.journal.quarantine import Quarantine, backoff_s
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.rollout.agent_sight import may_open
from autoscaler.domain.rollout.situation import Situation
from autoscaler.domain.rollout.steps import Finish, Notice, PatchNode

# A foreign writer of mig.config will write again at its next sync or scaling.
FOREIGN_HOLD_S = 86400.0

NOTICES = {
    Result.DONE: Notice("MigRolloutDone", ""),
    Result.WAITED: Notice("MigRolloutWaited", ""),
    Result.ABORTED: Notice("MigRolloutAborted", ""),
    Result.ROLLED_BACK: Notice("MigRolloutRolledBack", "", warning=True),
    Result.QUARANTINED: Notice("MigNodeQuarantined", "", warning=True),
    Result.FOREIGN: Notice("MigForeignConfig", "", warning=True),
    Result.NO_RESPONSE: Notice("MigManagerMissing", "", warning=True),
}
AGENT_MISSING = "MigAgentMissing"


def release(
    s: Situation,
    result: Result,
    reason: str,
    message: str,
    labels: dict[str, str | None] | None = None,
) -> PatchNode:
    """Return the terminal write: uncordon what we cordoned, restore marks, drop the journal.

    Parameters
    ----------
    labels
        Labels to set in the same patch.
    """
    annotations = s.restored_marks() | quarantine_change(s, result, reason, message)
    if ABORT in s.node.annotations:
        annotations[ABORT] = None
    ours = s.node.unschedulable and not s.journal.was_unschedulable
    stays = result is Result.QUARANTINED and not may_open(s.node)
    notice = replace(NOTICES[result], message=message)
    if s.by_agent and result is Result.NO_RESPONSE:
        notice = replace(notice, reason=AGENT_MISSING)
    return PatchNode(
        journal=None,
        labels=labels or {},
        annotations=annotations,
        unschedulable=False if ours and not stays else None,
        notice=notice,
        finish=Finish(result, reason, message),
    )


def quarantine(s: Situation, message: str) -> PatchNode:
    """Return the terminal write after the way back failed too."""
    paused = ", ".join(paused_labels(s.node))
    detail = f"{message}; still paused: {paused}" if paused else message
    return release(s, Result.QUARANTINED, s.journal.reason or "RollbackFailed", detail)


def quarantine_change(
    s: Situation, result: Result, reason: str, message: str
) -> dict[str, str | None]:
    """Return what becomes of the quarantine annotation with this result."""
    if result is Result.DONE:
        return {QUARANTINE: None} if QUARANTINE in s.node.annotations else {}
    if result in {Result.ABORTED, Result.WAITED}:
        return {}
    attempt = s.journal.attempt + (1 if result.is_failure else 0)
    wait_s = backoff_s(s.rules.rollout.backoff_s, max(1, attempt))
    left_cordoned = (
        result is Result.QUARANTINED
        and s.node.unschedulable
        and not s.journal.was_unschedulable
        and not may_open(s.node)
    )
    entry = Quarantine(
        reason=reason,
        message=message,
        since_s=s.now_s,
        until_s=s.now_s + (FOREIGN_HOLD_S if result is Result.FOREIGN else wait_s),
        attempt=attempt,
        cordoned=left_cordoned,
        rollout=s.journal.id,
        result=result,
    )
    return {QUARANTINE: entry.to_text()}
