"""Carries out rollouts: looks, asks the state machine, does one step, looks again.

The only thing decided here is what a failed request means for the step. Nothing is
tried twice blindly: after a conflict the world is read afresh, and after anything
worse the rollout waits for the next cycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoscaler.control.briefing import Briefing, journal_on
from autoscaler.control.driver_mig_manager import MigManagerDriver
from autoscaler.control.leadership import Leadership
from autoscaler.control.looking import Onlooker
from autoscaler.control.outside import Outside
from autoscaler.domain.cluster.marks import ROLLOUT
from autoscaler.domain.cluster.objects import Node, PodRef
from autoscaler.domain.errors import AutoscalerError, Conflict, Refused
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.rollout import Journal, Result
from autoscaler.domain.policy.policy import Policy
from autoscaler.domain.rollout.aftermath import infer_end
from autoscaler.domain.rollout.applying import REFUSED
from autoscaler.domain.rollout.steps import (
    Evict,
    EvictManagerPod,
    Finish,
    Notice,
    PatchNode,
    Rules,
    Step,
    Wait,
    WaitReason,
    WriteConfiguration,
)
from autoscaler.domain.rollout.transition import next_step
from autoscaler.ports import NodePatch

# Enough for every state of the table in one cycle; a bound, not a plan.
STEPS_A_CYCLE = 16


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one rollout came in one cycle.

    Parameters
    ----------
    node
        The node as last read or written; ``None`` when it is gone or was not read.
    journal
        Where it stands; ``None`` when it is over.
    wait
        What it waits for.
    record
        How it ended, when it did.
    notices
        What to say about the node.
    evicted, refused
        Pods whose eviction was accepted, and those refused with the server's words.
    error
        What keeps us from going on; empty for none.
    """

    name: str
    node: Node | None = None
    journal: Journal | None = None
    wait: Wait | None = None
    record: RolloutRecord | None = None
    notices: tuple[Notice, ...] = ()
    evicted: tuple[PodRef, ...] = ()
    refused: Mapping[PodRef, str] | None = None
    error: str = ""

    def noting(self, notice: Notice | None) -> "Progress":
        """Return this progress with one more thing to say."""
        return self if notice is None else replace(self, notices=(*self.notices, notice))


class Rollouts:
    """Open rollouts of one cycle."""

    def __init__(self, outside: Outside, leadership: Leadership, briefing: Briefing) -> None:
        self._outside = outside
        self._leadership = leadership
        self._briefing = briefing
        self._driver = MigManagerDriver(outside, briefing.policy.mig_manager)
        self._onlooker = Onlooker(outside, self._driver, briefing)

    @property
    def rules(self) -> Rules:
        """What policy and Lease say now."""
        return rules_of(self._briefing.policy, self._outside.identity, self._leadership.epoch)

    def advance(self, name: str, journal: Journal) -> Progress:
        """Take steps for one node until it waits, ends, or something fails."""
        progress = Progress(name, journal=journal)
        for _ in range(STEPS_A_CYCLE):
            if progress.journal is None or progress.wait is not None:
                return progress
            if not self._leadership.guard():
                return self._stop(progress, WaitReason.NOT_LEADER, "the lease is lost")
            try:
                progress = self._take_step(progress, progress.journal)
            except Conflict:
                # Someone else wrote the node first; what they wrote decides.
                continue
            except AutoscalerError as error:
                return self._stop(progress, WaitReason.WRITE_FAILED, str(error), error)
        return progress

    def _take_step(self, progress: Progress, journal: Journal) -> Progress:
        """Look, decide and do one step."""
        try:
            may_evict_from_s = self._leadership.may_evict_from_s
            seen = self._onlooker.look(progress.name, journal, may_evict_from_s)
        except AutoscalerError as error:
            # A refused read, too: it says nothing of what we may write.
            return self._stop(progress, WaitReason.READ_FAILED, str(error))
        progress = replace(progress, node=seen.node)
        if seen.node is not None and seen.node.uid == journal.node_uid:
            found, _ = journal_on(seen.node)
            if found is None:
                return self._removed(progress, journal)
            journal = found
        step = next_step(journal, seen, self.rules, self._outside.clock.now_s())
        progress = replace(progress, journal=journal)
        if not isinstance(step, Wait | Finish) and not self._leadership.guard():
            # The look took so long that somebody else leads.
            return self._stop(progress, WaitReason.NOT_LEADER, "the lease is lost")
        return self._do(step, progress)

    def _do(self, step: Step, progress: Progress) -> Progress:
        match step:
            case PatchNode():
                return self._patch(step, progress)
            case WriteConfiguration():
                return self._write(step, progress)
            case Evict():
                return self._evict(step.pods, progress)
            case EvictManagerPod():
                return self._evict((step.pod,), progress)
            case Wait():
                return replace(progress, wait=step)
            case Finish():
                return self._finish(step, progress)

    def _patch(self, step: PatchNode, progress: Progress) -> Progress:
        """Write one patch; the next look tells whether it is there."""
        if progress.node is None:
            return progress
        node = self._outside.cluster.patch_node(progress.name, node_patch(step, progress.node))
        after = replace(progress, node=node).noting(step.notice)
        if step.finish is not None:
            return self._finish(step.finish, after)
        return replace(after, journal=step.journal)

    def _write(self, step: WriteConfiguration, progress: Progress) -> Progress:
        journal = progress.journal
        if journal is not None:
            in_use = self._briefing.names_in_use
            needed = {layout.config_name or "" for layout in journal.needed}
            self._driver.write(journal, step.layouts, in_use | needed)
        return progress

    def _evict(self, pods: tuple[PodRef, ...], progress: Progress) -> Progress:
        """Ask for evictions one by one; a refused one is asked for again next cycle."""
        evicted: list[PodRef] = []
        refused: dict[PodRef, str] = {}
        for pod in pods:
            if not self._leadership.guard():
                return self._stop(progress, WaitReason.NOT_LEADER, "the lease is lost")
            try:
                self._outside.cluster.evict(pod)
                evicted.append(pod)
            except AutoscalerError as error:
                refused[pod] = str(error)
        until_s = self._outside.clock.now_s() + self._briefing.policy.loop.interval_s
        message = f"{len(evicted)} evictions accepted, {len(refused)} refused"
        wait = Wait(WaitReason.DEVICE_HOLDERS, message, until_s)
        progress = replace(progress, wait=wait, evicted=tuple(evicted), refused=refused)
        for pod, why in refused.items():
            progress = progress.noting(Notice("MigEvictionRefused", f"{pod}: {why}"))
        return progress

    def _finish(self, finish: Finish, progress: Progress) -> Progress:
        journal = progress.journal
        if journal is None:
            return progress
        record = record_of(progress.name, journal, finish, self._outside.clock.now_s())
        return replace(progress, journal=None, record=record)

    def _removed(self, progress: Progress, journal: Journal) -> Progress:
        """Record what the node tells: our last write may have landed unanswered.

        A person may also have removed the journal; then the node is theirs.
        """
        finish = infer_end(journal, progress.node)
        if finish.result is Result.GONE:
            progress = progress.noting(
                Notice("MigJournalRemoved", finish.message, warning=True)
            )
        return self._finish(finish, progress)

    def _stop(
        self,
        progress: Progress,
        reason: WaitReason,
        message: str,
        error: AutoscalerError | None = None,
    ) -> Progress:
        """End this cycle's steps; the next one sees the world afresh."""
        until_s = self._outside.clock.now_s() + self._briefing.policy.loop.interval_s
        refusal = message if isinstance(error, Refused) else ""
        return replace(progress, wait=Wait(reason, message, until_s), error=refusal)


def rules_of(policy: Policy, holder: str, epoch: int) -> Rules:
    """Return what the state machine needs of policy and Lease."""
    return Rules(
        rollout=policy.rollout,
        mig_manager=policy.mig_manager,
        eviction=policy.disruption.eviction,
        holder=holder,
        epoch=epoch,
    )


def node_patch(step: PatchNode, node: Node) -> NodePatch:
    """Return a step as one patch that holds for this very version of the node."""
    text = None if step.journal is None else journal_to_text(step.journal)
    return NodePatch(
        labels=step.labels,
        annotations={**step.annotations, ROLLOUT: text},
        unschedulable=step.unschedulable,
        resource_version=node.resource_version,
        uid=node.uid,
    )


def record_of(node: str, journal: Journal, finish: Finish, now_s: float) -> RolloutRecord:
    """Return what history keeps of a rollout."""
    return RolloutRecord(
        node=node,
        started_at_s=journal.started_at_s,
        ended_at_s=now_s,
        result=finish.result,
        plan=journal.plan,
        rollout=journal.id,
        pool=journal.pool,
        message=f"{finish.reason}: {finish.message}",
        before=journal.before.config_name or "",
        after=journal.target.config_name or "",
        gain=journal.gain,
        cost=journal.cost,
        serves=journal.serves,
        gpus=journal.gpus,
        refused=REFUSED in journal.reason,
    )
