"""Conditions: why a node as it stands should be left alone for now.

Each rule reads one node and what people and other controllers say of it. Which GPUs it
has and whose they are is the business of ``identity`` and ``ownership``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.marks import HOLD, MIG_CONFIG, QUARANTINE, ROLLOUT, is_set
from autoscaler.domain.cluster.objects import Node
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.fleet.advertised import manager_state, paused_labels
from autoscaler.domain.journal.journal_json import journal_from_text
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Journal, State
from autoscaler.domain.policy.policy import Driver, RolloutRules
from autoscaler.domain.reasons import Hold, Reason

CHANGING_STATES = frozenset({"pending", "rebooting"})
# Soft marks of candidates are no decision yet and are not among these.
LEAVING_TAINTS = {
    "ToBeDeletedByClusterAutoscaler": "Cluster Autoscaler",
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",
    "node.cloudprovider.kubernetes.io/shutdown": "the cloud provider",
}
NOT_READY_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
LABELLED = frozenset({State.APPLYING, State.REPAIRING, State.ROLLING_BACK})


@dataclass(frozen=True, slots=True)
class Circumstances:
    """A node and what is needed to judge it.

    Parameters
    ----------
    journal
        Its open rollout, of this very node; ``None`` also for one that has waited.
    has_waited
        Whether we cordoned it only until its pods would end, and they have.
    """

    node: Node
    journal: Journal | None
    rules: RolloutRules
    now_s: float
    has_waited: bool = False

    @property
    def is_changing(self) -> bool:
        """Whether its GPUs are being changed, by us or by anyone."""
        return self.journal is not None or manager_state(self.node) in CHANGING_STATES

    def hold(self, reason: Reason, text: str) -> Hold:
        """Return a hold of this node."""
        return Hold(reason, f"node {self.node.name}: {text}", self.node.name)


def condition_holds(seen: Circumstances) -> tuple[Hold, ...]:
    """Return all reasons in a node's own condition."""
    return tuple(hold for rule in RULES for hold in rule(seen))


def journal_of(node: Node) -> Journal | None:
    """Return a node's open rollout; what is not a journal of this node is none."""
    text = node.annotations.get(ROLLOUT)
    if text is None:
        return None
    try:
        journal = journal_from_text(text)
    except ConfigError:
        return None
    return journal if journal.node_uid == node.uid else None


def is_leaving(node: Node) -> bool:
    """Say whether the node is being deleted, by a node autoscaler or anyone."""
    return node.deletion_s is not None or any(
        taint.key in LEAVING_TAINTS for taint in node.taints
    )


def is_down(seen: Circumstances) -> bool:
    """Say whether kubelet does not answer, as far as is known."""
    return seen.node.ready is not True


def with_conditions_left_out(node: Node) -> Node:
    """Return a node of a file as ready where the file leaves its conditions out.

    Parameters
    ----------
    node
        A condition that is stated and reads Unknown has a time, and the control plane
        taints such a node: then it stays unknown.
    """
    is_stated = node.ready is not None or node.ready_since_s is not None
    if is_stated or any(taint.key in NOT_READY_TAINTS for taint in node.taints):
        return node
    return replace(node, ready=True)


def _readable(seen: Circumstances) -> Iterator[Hold]:
    for fault in seen.node.faults:
        yield seen.hold(Reason.UNREADABLE, fault)


def _wishes(seen: Circumstances) -> Iterator[Hold]:
    wish = seen.node.annotations.get(HOLD)
    if is_set(wish):
        said = "" if wish == "true" else f": {wish}"
        yield seen.hold(Reason.HELD, f"a person holds it by the annotation {HOLD}{said}")


def _quarantined(seen: Circumstances) -> Iterator[Hold]:
    text = seen.node.annotations.get(QUARANTINE)
    if text is None:
        return
    quarantine = Quarantine.from_text(text)
    if quarantine.is_over(seen.now_s):
        return
    is_foreign = quarantine.reason == Reason.FOREIGN_CONFIG
    reason = Reason.FOREIGN_CONFIG if is_foreign else Reason.QUARANTINED
    yield seen.hold(reason, f"in quarantine: {quarantine.message}")


def _leaving(seen: Circumstances) -> Iterator[Hold]:
    keys = {taint.key for taint in seen.node.taints}
    for who in sorted({LEAVING_TAINTS[key] for key in keys if key in LEAVING_TAINTS}):
        yield seen.hold(Reason.NODE_LEAVING, f"{who} is deleting it: no supply, no target")
    if seen.node.deletion_s is not None and not keys & LEAVING_TAINTS.keys():
        yield seen.hold(Reason.NODE_LEAVING, "it is being deleted: no supply, no target")


def _cordoned(seen: Circumstances) -> Iterator[Hold]:
    ours = seen.journal is not None and not seen.journal.was_unschedulable
    if seen.node.unschedulable and not ours and not seen.has_waited:
        yield seen.hold(Reason.CORDONED, "someone else cordoned it")


def _reachable(seen: Circumstances) -> Iterator[Hold]:
    # Some changes stop kubelet on purpose, so this is no news while one is under way.
    if is_down(seen) and not seen.is_changing:
        said = (
            "is not Ready" if seen.node.ready is False else "does not say whether it is Ready"
        )
        yield seen.hold(Reason.NOT_READY, said)


def _warming_up(seen: Circumstances) -> Iterator[Hold]:
    since_s = max(seen.node.created_s, seen.node.ready_since_s or 0.0)
    ends_s = since_s + seen.rules.warm_up_s
    if since_s and seen.now_s < ends_s:
        warm_up_s = seen.rules.warm_up_s
        text = f"warming up: {ends_s - seen.now_s:.0f} s are left of {warm_up_s:.0f} s"
        if since_s > seen.now_s:
            text = "warming up: it joined or became ready only after this moment"
        yield seen.hold(Reason.WARMING_UP, text)


def _changing(seen: Circumstances) -> Iterator[Hold]:
    node, journal = seen.node, seen.journal
    config = node.labels.get(MIG_CONFIG, "none")
    state = manager_state(node)
    paused = paused_labels(node)
    if journal is not None:
        target = journal.target.config_name
        text = f"rollout {journal.id} to {target} is {journal.state.value}"
        yield seen.hold(Reason.CHANGE_IN_PROGRESS, text)
    elif ROLLOUT in node.annotations and not seen.has_waited:
        yield seen.hold(Reason.UNREADABLE, f"the annotation {ROLLOUT} is no journal of it")
    if journal is None and state in CHANGING_STATES:
        waiting = f"; paused: {', '.join(paused)}" if paused else ""
        text = f"MIG manager is at work: configuration {config} is {state}{waiting}"
        yield seen.hold(Reason.CHANGE_IN_PROGRESS, text)
    elif journal is None and paused:
        text = f"state is {state or 'none'} and still paused: {', '.join(paused)}"
        yield seen.hold(Reason.NOT_SETTLED, text)


def _foreign(seen: Circumstances) -> Iterator[Hold]:
    journal = seen.journal
    if journal is None or journal.state not in LABELLED or journal.driver is Driver.AGENT:
        return
    ours = {journal.target.config_name}
    if journal.state is State.ROLLING_BACK:
        ours = {journal.rollback_name, journal.before.config_name}
    value = seen.node.labels.get(MIG_CONFIG)
    # The repair takes the label away for a moment.
    if value in ours or (value is None and journal.state is State.REPAIRING):
        return
    who = f" by {seen.node.config_writer}" if seen.node.config_writer else ""
    text = f"{MIG_CONFIG} was set to {value}{who} in the middle of our rollout"
    yield seen.hold(Reason.FOREIGN_CONFIG, text)


RULES: tuple[Callable[[Circumstances], Iterator[Hold]], ...] = (
    _readable,
    _wishes,
    _quarantined,
    _leaving,
    _cordoned,
    _reachable,
    _warming_up,
    _changing,
    _foreign,
)
