"""After the label: verify, else repair once, else go back, else quarantine.

Only what kubelet offers counts. A node that is not ready is normal here: MIG manager
may stop kubelet for a change.
"""

from dataclasses import replace

from autoscaler.domain.cluster.marks import MIG_CONFIG_STATE
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.fleet.advertised import (
    advertised,
    advertises,
    is_manager_busy,
    manager_state,
    paused_labels,
)
from autoscaler.domain.journal.rollout import Layout, Result, State
from autoscaler.domain.mig.resource import folded
from autoscaler.domain.reasons import Reason
from autoscaler.domain.rollout.agent_report import Way
from autoscaler.domain.rollout.agent_sight import has_become
from autoscaler.domain.rollout.releasing import quarantine, release
from autoscaler.domain.rollout.situation import Situation
from autoscaler.domain.rollout.steps import (
    EvictManagerPod,
    Notice,
    PatchNode,
    Step,
    WaitReason,
    WriteConfiguration,
)

# What a journal says of a layout that was tried and could not be made.
REFUSED = "MIG manager reports failed"


def apply(s: Situation) -> Step:
    """Return the next step of a node that was asked for its target."""
    if s.config != s.journal.target.config_name:
        return yield_to_other(s)
    step = recordon(s) or settle(s, s.journal.target, Result.DONE)
    if step is not None:
        return step
    if s.is_aborted:
        return go_back(s, "an operator asked for its end")
    if s.is_silent and offers(s, s.journal.before):
        return take_back(s)
    trouble = trouble_of(s)
    return repair(s, trouble) if trouble else reconfiguring(s)


def mend(s: Situation) -> Step:
    """Return the next step of the one repair."""
    if s.config is None and not s.is_late:
        # The second half of "away and back": the same value again is no change.
        return PatchNode(s.journal, labels=s.relabel(s.journal.target.config_name))
    if s.config not in {None, s.journal.target.config_name}:
        return yield_to_other(s)
    step = recordon(s) or settle(s, s.journal.target, Result.DONE)
    if step is not None:
        return step
    if s.is_aborted:
        return go_back(s, "an operator asked for its end")
    return restart_manager(s) or reconfiguring(s)


def roll_back(s: Situation) -> Step:
    """Return the next step of a node that was asked for what it had before."""
    if s.config != s.journal.rollback_name:
        return yield_to_other(s)
    step = recordon(s) or settle(s, s.journal.before, Result.ROLLED_BACK)
    if step is not None:
        return step
    trouble = trouble_of(s)
    if trouble:
        return quarantine(s, f"{s.journal.reason}; the way back failed too: {trouble}")
    return reconfiguring(s)


def offers(s: Situation, layout: Layout) -> bool:
    """Say whether the node offers a layout, as far as its resources tell.

    Two layouts may add up to the same resources; then only the manager's answer to
    our label, which cannot be an older one, tells them apart. The node agent shows the
    instances themselves.
    """
    if s.by_agent:
        way = Way.BACK if s.journal.state is State.ROLLING_BACK else Way.FORWARD
        return has_become(s, layout, way)
    if not advertises(s.node, layout.resources):
        return False
    same = folded(s.journal.before.resources) == folded(s.journal.target.resources)
    return not same or manager_state(s.node) == "success"


def settle(s: Situation, layout: Layout, result: Result) -> Step | None:
    """Return the step of a node that offers a layout; ``None`` while it does not."""
    since_s = s.journal.settled_since_s
    if not offers(s, layout):
        return None if since_s is None else PatchNode(replace(s.journal, settled_since_s=None))
    if since_s is None:
        return PatchNode(replace(s.journal, settled_since_s=s.now_s))
    settled_s = since_s + s.rules.rollout.settle_s
    if s.now_s < settled_s:
        return s.wait(WaitReason.SETTLING, "offers what it should; must stay so", settled_s)
    offered = f"offers {advertised(s.node.allocatable)}"
    if result is Result.ROLLED_BACK:
        return release(s, result, "RolledBack", f"{s.journal.reason}; again {offered}")
    return release(s, result, "Verified", offered)


def recordon(s: Situation) -> Step | None:
    """Return the one further cordon after somebody else opened the node.

    The driver's own manager does so by itself at a restart; a person who does it
    again means it. The cordon is then ours, so the release takes it away.
    """
    if s.node.unschedulable or s.journal.recordoned:
        return None
    journal = replace(s.journal, recordoned=True, was_unschedulable=False)
    message = "the node was opened in the middle of a change; closed again, once"
    return PatchNode(journal, unschedulable=True, notice=Notice("MigNodeRecordoned", message))


def trouble_of(s: Situation) -> str:
    """Return what is wrong with the change, empty while it may still succeed."""
    if s.has_failed:
        return REFUSED
    if s.is_late:
        paused = ", ".join(paused_labels(s.node))
        state = manager_state(s.node) or "none"
        detail = f"; paused: {paused}" if paused else ""
        return f"not done at the deadline, MIG manager's state is {state}{detail}"
    if s.is_silent:
        return "MIG manager does not answer the label"
    return ""


def reconfiguring(s: Situation) -> Step:
    """Return the wait for MIG manager, kubelet and device plugin."""
    silent_s = s.journal.state_since_s + s.rules.rollout.no_response_s
    until_s = silent_s if s.now_s < silent_s else s.journal.deadline_s
    state = manager_state(s.node) or "no state yet"
    message = f"{state}, offers {advertised(s.node.allocatable)}"
    return s.wait(WaitReason.RECONFIGURATION, message, min(until_s, s.journal.deadline_s))


def take_back(s: Situation) -> PatchNode:
    """Return the release of a node where nobody took up the label."""
    message = "no MIG manager answered the label; it reads as before again"
    labels = s.relabel(s.journal.before.config_name)
    return release(s, Result.NO_RESPONSE, Reason.NO_MIG_MANAGER, message, labels)


def repair(s: Situation, trouble: str) -> PatchNode:
    """Return the first half of the repair: operands un-paused, label away."""
    journal = s.enter(State.REPAIRING, s.rules.mig_manager.deadline_s)
    return PatchNode(
        replace(journal, reason=trouble),
        labels=s.unpause() | s.relabel(None),
        notice=Notice("MigRolloutRepair", trouble, warning=True),
    )


def restart_manager(s: Situation) -> Step | None:
    """Return the last resort of the repair, the manager's pod, or the way back.

    The pod is named in the journal before it is evicted, so that a crash between the
    two neither forgets it nor takes its successor too.
    """
    pod = None if s.is_late else s.seen.manager_pod
    if pod is not None and pod.uid == s.journal.manager_pod:
        return evict_manager(s, pod)
    trouble = trouble_of(s)
    if pod is not None and not s.journal.manager_pod and (trouble or is_half_way(s)):
        journal = replace(s.journal, manager_pod=pod.uid, state_since_s=s.now_s)
        known = MIG_CONFIG_STATE in s.node.labels and manager_state(s.node) != "rebooting"
        return PatchNode(journal, labels={MIG_CONFIG_STATE: None} if known else {})
    return go_back(s, trouble) if trouble else None


def evict_manager(s: Situation, pod: PodRef) -> Step:
    """Return the eviction of the manager's pod, for which a new leader waits too."""
    if s.now_s >= s.seen.may_evict_from_s:
        return EvictManagerPod(pod)
    message = "a new leader evicts nothing until the old one has surely stopped"
    return s.wait(WaitReason.NOT_LEADER, message, s.seen.may_evict_from_s)


def is_half_way(s: Situation) -> bool:
    """Say whether half of the time is over; then the manager's pod is suspect."""
    return s.now_s >= s.journal.deadline_s - s.rules.mig_manager.deadline_s / 2


def go_back(s: Situation, trouble: str) -> Step:
    """Return the patch that asks for what was before, once its name is surely known."""
    back = s.journal.needed[1]
    name = s.journal.rollback_name
    last_s = s.journal.deadline_s + 2 * s.rules.mig_manager.config_sync_s
    if s.now_s < last_s and not s.seen.configuration_problem:
        if name not in s.seen.configurations:
            return WriteConfiguration((back,))
        since_s = s.seen.configurations[name] or 0.0
        synced_s = since_s + s.rules.mig_manager.config_sync_s
        if s.now_s < synced_s:
            message = "the previous configuration may not have reached the node yet"
            return s.wait(WaitReason.CONFIG_SYNC, message, min(synced_s, last_s))
    journal = s.enter(State.ROLLING_BACK, s.rules.mig_manager.deadline_s)
    return PatchNode(
        replace(journal, reason=trouble),
        labels=s.unpause() | s.relabel(name),
        notice=Notice("MigRolloutRollback", trouble, warning=True),
    )


def yield_to_other(s: Situation) -> Step:
    """Return the release of a node whose configuration somebody else has set.

    It is never written back: two writers would cut the node for ever. While the
    manager works on the other value the node stays closed.
    """
    value = s.config or "nothing"
    if is_manager_busy(s.node) and not s.is_late:
        message = f"mig.config was set to {value} by someone else; MIG manager works on it"
        return s.wait(WaitReason.FOREIGN_CONFIG, message)
    writer = f" by {s.node.config_writer}" if s.node.config_writer else ""
    message = f"mig.config was set to {value}{writer}; left so, and the node alone"
    return release(s, Result.FOREIGN, Reason.FOREIGN_CONFIG, message)
