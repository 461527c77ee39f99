"""Before the label: the node is closed, and what holds its devices leaves.

Nothing was asked of the GPUs yet, so whatever goes wrong is undone by the release.
"""

from dataclasses import dataclass, replace

from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.fleet.advertised import is_manager_busy
from autoscaler.domain.fleet.evictions import evictions
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.agent_report import Phase
from autoscaler.domain.rollout.agent_sight import answer_to, sitting
from autoscaler.domain.rollout.releasing import release
from autoscaler.domain.rollout.situation import AGENT_DEADLINE_S, Situation
from autoscaler.domain.rollout.steps import (
    Evict,
    PatchNode,
    Step,
    WaitReason,
    WriteConfiguration,
)


@dataclass(frozen=True, slots=True)
class Leaving:
    """Pods that must be gone before the GPUs are changed.

    Parameters
    ----------
    pods
        In name order.
    is_exact
        Whether it is known that each of them sits on a GPU that changes.
    gap
        Why it is not known.
    """

    pods: tuple[Pod, ...]
    is_exact: bool
    gap: str = ""


def close(s: Situation) -> Step:
    """Return the next step of a node whose closing was written.

    The cordon counts from when it was seen on a fresh read, not from when it was sent.
    """
    step = abort(s) or upkeep(s)
    if step is not None:
        return step
    journal = replace(
        s.journal,
        state=State.DRAINING,
        state_since_s=s.now_s,
        cordoned_at_s=s.now_s,
        config_written_at_s=None if s.by_agent else written_at_s(s),
    )
    return PatchNode(journal, annotations=s.lacking_marks())


def drain(s: Situation) -> Step:
    """Return the next step while device holders leave."""
    step = abort(s) or upkeep(s)
    if step is not None:
        return step
    if s.lacking_marks() or written_at_s(s) > (s.journal.config_written_at_s or 0.0):
        journal = replace(s.journal, config_written_at_s=written_at_s(s))
        return PatchNode(journal, annotations=s.lacking_marks())
    if s.by_agent and answer_to(s.node, s.journal) is None:
        return await_agent(s)
    leaving = must_leave(s)
    if leaving.pods:
        return empty(s, leaving)
    if s.seen.plans_follow and s.journal.has_waited(is_used=bool(s.users)):
        # Much may have come since the plan, and the node is empty as a whole.
        message = "the pods it waited for have ended; the next plan decides"
        return s.wait(WaitReason.NEXT_PLAN, message)
    return hold_back(s) or ask(s)


def abort(s: Situation) -> Step | None:
    """Return the release when the rollout should not go on."""
    why = abort_reason(s)
    if why is None:
        return None
    # Where nobody needs the GPU any more the wait was no failure, and the node no worse.
    in_vain = s.journal.is_waiting and why[0] == Reason.NOT_WORTH_IT
    return release(s, Result.WAITED if in_vain else Result.ABORTED, *why)


def abort_reason(s: Situation) -> tuple[str, str] | None:
    """Return the name and the sentence of what ends a rollout before the label."""
    if not s.node.unschedulable:
        return "Uncordoned", "someone opened the node again"
    if s.is_aborted:
        return "AbortRequested", "an operator asked for its end"
    if s.config != s.journal.before.config_name and not s.by_agent:
        was, now = s.journal.before.config_name, s.config
        return Reason.FOREIGN_CONFIG, f"someone changed mig.config from {was} to {now}"
    if s.seen.verdict is not None:
        return s.seen.verdict.reason, s.seen.verdict.message
    if s.seen.configuration_problem:
        return "ConfigurationProblem", s.seen.configuration_problem
    if s.is_late:
        return "DrainDeadline", late_message(s)
    return premise_gone(s) if s.by_agent else daemon_in_the_way(s)


def late_message(s: Situation) -> str:
    """Say what was still there when the time was over."""
    names = [str(p.ref) for p in must_leave(s).pods]
    if not names:
        return "the deadline for emptying the node is over"
    return f"still on the GPUs at the deadline: {', '.join(names)}"


def daemon_in_the_way(s: Situation) -> tuple[str, str] | None:
    """Name a DaemonSet's or static pod on the GPUs that change: it never ends."""
    leaving = must_leave(s)
    if not leaving.is_exact:
        return None
    for note in evictions(leaving.pods, s.rules.eviction, s.seen.budgets, s.now_s).refused:
        if note.reason in {Reason.DAEMON_SET_POD, Reason.MIRROR_POD}:
            return note.reason, f"{note.pod} holds a device: {note.message}"
    return None


def premise_gone(s: Situation) -> tuple[str, str] | None:
    """Say why the agent cannot do what was planned for the node as it was then.

    A plan for the agent cuts around whoever is there. A pod that has come to an instance
    which was free then is no reason to keep the node closed until it ends: a new plan
    cuts around it too.
    """
    answer = answer_to(s.node, s.journal)
    if answer is not None and answer.phase is Phase.FAILED:
        return "AgentRefused", answer.message
    leaving = must_leave(s)
    planned = {*s.journal.evictions, *s.journal.awaits}
    for pod in leaving.pods if leaving.is_exact else ():
        if pod.deletion_s is None and str(pod.ref) not in planned:
            return Reason.GPUS_BUSY, f"{pod.ref} has come to an instance that was to go"
    return None


def await_agent(s: Situation) -> Step:
    """Return the wait for the agent's first look, or the release where nobody looks."""
    silent_s = s.journal.state_since_s + s.rules.rollout.no_response_s
    if s.now_s < silent_s:
        message = "the node agent has not looked since the cordon"
        return s.wait(WaitReason.NODE_AGENT, message, silent_s)
    message = "no node agent has looked at the closed node; nothing was changed"
    return release(s, Result.NO_RESPONSE, Reason.NO_AGENT, message)


def upkeep(s: Situation) -> Step | None:
    """Return the write of a configuration that is not there (any more).

    The way back is written together with the way forward: later it may be too late.
    """
    lacking = tuple(x for x in s.journal.needed if x.config_name not in s.seen.configurations)
    return WriteConfiguration(lacking) if lacking else None


def written_at_s(s: Situation) -> float:
    """Return since when all needed configurations are there, epoch seconds.

    Where that is not known, the time of the journal's first look counts, else now. Where
    none are needed it is always long ago.
    """
    unknown_s = s.journal.config_written_at_s or s.now_s
    since = (s.seen.configurations.get(x.config_name or "") for x in s.journal.needed)
    return max((unknown_s if t is None else t for t in since), default=0.0)


def must_leave(s: Situation) -> Leaving:
    """Return the pods that must be gone, as far as is proven.

    Labels prove where a holder sits, never that an instance is free: so without a
    mapping of every holder the whole node must be empty. A pod that uses GPUs
    without having asked for one may use any of them.
    """
    if s.by_agent:
        found = sitting(s)
        return Leaving(found.pods, is_exact=not found.gap, gap=found.gap)
    holders = s.users
    if len(s.journal.gpus) == len(s.journal.target.gpus):
        return Leaving(holders, is_exact=True)
    if not s.seen.proof.is_proven:
        return Leaving(holders, is_exact=False, gap=s.seen.proof.gap)
    changing = set(s.journal.gpus)
    on_gpus = s.seen.proof.gpus
    return Leaving(
        tuple(p for p in holders if on_gpus.get(p.ref) in changing or p.ref not in on_gpus),
        is_exact=True,
    )


def empty(s: Situation, leaving: Leaving) -> Step:
    """Return the evictions that are allowed, or the wait for the pods to leave."""
    if not leaving.is_exact:
        message = f"{names(leaving)} may be on GPUs that change: {leaving.gap}"
        return s.wait(WaitReason.HOLDERS_UNPROVEN, message)
    planned = set(s.journal.evictions)
    staying = [p for p in leaving.pods if p.deletion_s is None and str(p.ref) in planned]
    allowed = evictions(staying, s.rules.eviction, s.seen.budgets, s.now_s).allowed
    if not allowed or not s.seen.has_metrics:
        return s.wait(WaitReason.DEVICE_HOLDERS, f"{names(leaving)} to leave")
    if s.seen.paused:
        return s.wait(WaitReason.PAUSED, f"paused; {names(leaving)} would be evicted")
    if s.now_s < s.seen.may_evict_from_s:
        message = "a new leader evicts nothing until the old one has surely stopped"
        return s.wait(WaitReason.NOT_LEADER, message, s.seen.may_evict_from_s)
    return Evict(allowed)


def names(leaving: Leaving) -> str:
    """Name the pods, the first few of them."""
    first = ", ".join(str(p.ref) for p in leaving.pods[:3])
    more = len(leaving.pods) - 3
    return f"{first} and {more} more" if more > 0 else first


def hold_back(s: Situation) -> Step | None:
    """Return what still forbids the label on a node whose GPUs are empty."""
    cordoned_at_s = s.journal.cordoned_at_s or s.journal.state_since_s
    graced_s = cordoned_at_s + s.rules.rollout.bind_grace_s
    if s.seen.read_at_s < graced_s:
        # The API server does not refuse a binding to a cordoned node, so one that
        # was under way may still arrive.
        return s.wait(WaitReason.BIND_GRACE, "a binding may be under way", graced_s)
    if s.seen.paused:
        return s.wait(WaitReason.PAUSED, "paused by an operator")
    if s.node.ready is not True:
        return s.wait(WaitReason.NODE_NOT_READY, "the node is not ready")
    if is_manager_busy(s.node):
        return s.wait(WaitReason.MANAGER_BUSY, "MIG manager is in the middle of a run")
    synced_s = written_at_s(s) + s.rules.mig_manager.config_sync_s
    if s.now_s < synced_s:
        message = "the configuration may not have reached the node yet"
        return s.wait(WaitReason.CONFIG_SYNC, message, synced_s)
    return None


def ask(s: Situation) -> PatchNode:
    """Return the label patch: from here there is no way but forward or back.

    The node agent takes the journal's state itself for the question.
    """
    if s.by_agent:
        return PatchNode(s.enter(State.APPLYING, AGENT_DEADLINE_S))
    journal = s.enter(State.APPLYING, s.rules.mig_manager.deadline_s)
    return PatchNode(journal, labels=s.relabel(s.journal.target.config_name))
