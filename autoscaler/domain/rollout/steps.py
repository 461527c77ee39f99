"""What the state machine of a rollout sees, and what it answers.

A step is one effect on the world at most. Every write to the node is one patch that
carries the journal with it, so journal and node never disagree: a crash between two
steps leaves a state of the table, not something in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from autoscaler.domain.cluster.objects import Node, Pod, PodDisruptionBudget, PodRef
from autoscaler.domain.journal.rollout import Journal, Layout, Result
from autoscaler.domain.policy.policy import EvictionRules, MigManager, RolloutRules
from autoscaler.domain.reasons import Block


class WaitReason(StrEnum):
    """What a rollout waits for; every wait ends at a known time at the latest."""

    NOT_LEADER = "NotLeader"
    BIND_GRACE = "BindGrace"
    CONFIG_SYNC = "ConfigSync"
    DEVICE_HOLDERS = "DeviceHolders"
    HOLDERS_UNPROVEN = "HoldersUnproven"
    PAUSED = "Paused"
    MANAGER_BUSY = "ManagerBusy"
    NODE_NOT_READY = "NodeNotReady"
    RECONFIGURATION = "Reconfiguration"
    SETTLING = "Settling"
    FOREIGN_CONFIG = "ForeignConfig"
    NODE_AGENT = "NodeAgent"
    NEXT_PLAN = "NextPlan"
    READ_FAILED = "ReadFailed"
    WRITE_FAILED = "WriteFailed"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to say about the node; ``warning`` only where a person should act."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """The rollout is over.

    As a step of its own it writes nothing: the node it was about is gone.
    """

    result: Result
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PatchNode:
    """One atomic patch of the node, with its resource version and uid as conditions.

    Parameters
    ----------
    journal
        What the journal then says; ``None`` removes it.
    labels, annotations
        Keys to set, or with ``None`` to remove; the journal's own is not among them.
    unschedulable
        New ``spec.unschedulable``; ``None`` leaves it.
    finish
        How the rollout ends with this write.
    """

    journal: Journal | None
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    unschedulable: bool | None = None
    notice: Notice | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class WriteConfiguration:
    """Define the configurations of these layouts in our ConfigMap."""

    layouts: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class Evict:
    """Ask for the eviction of pods, each with its uid; some may be refused."""

    pods: tuple[PodRef, ...]


@dataclass(frozen=True, slots=True)
class EvictManagerPod:
    """Evict the MIG manager's pod, so that a new process runs for the label."""

    pod: PodRef


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now.

    Parameters
    ----------
    until_s
        Epoch seconds at which time alone changes the answer, at the latest.
    """

    reason: WaitReason
    message: str
    until_s: float


Step = PatchNode | WriteConfiguration | Evict | EvictManagerPod | Wait | Finish


@dataclass(frozen=True, slots=True)
class HolderProof:
    """Which GPU each device holder sits on, proven after the cordon, or why not.

    Parameters
    ----------
    gpus
        GPU index of each pod.
    gap
        Why it is not proven; empty when it is.
    """

    gpus: Mapping[PodRef, int] = field(default_factory=dict)
    gap: str = ""

    @property
    def is_proven(self) -> bool:
        """Whether every holder is mapped."""
        return not self.gap


@dataclass(frozen=True, slots=True)
class Seen:
    """One fresh look at a node and what matters for its rollout.

    Parameters
    ----------
    node
        The node; ``None`` when it does not exist any more.
    read_at_s
        Epoch seconds of the moment before the first of these reads was sent.
    pods
        All pods bound to the node.
    budgets
        PodDisruptionBudgets of the cluster.
    configurations
        Names in our ConfigMap whose content is what the journal's layouts need, with
        the time since when (``None``: not known).
    configuration_problem
        Why our ConfigMap cannot be used; empty when it can.
    paused
        Whether an operator paused the product.
    may_evict_from_s
        Before this time a new leader evicts nothing.
    verdict
        Why the change should not go on, before the label; ``None`` when it should.
    proof
        Where the device holders sit.
    has_metrics
        Whether metrics can be had at all.
    manager_pod
        The MIG manager's pod on this node.
    plans_follow
        Whether a plan of this cycle decides what becomes of a node that has waited.
    """

    node: Node | None
    read_at_s: float
    pods: tuple[Pod, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    configurations: Mapping[str, float | None] = field(default_factory=dict)
    configuration_problem: str = ""
    paused: bool = False
    may_evict_from_s: float = 0.0
    verdict: Block | None = None
    proof: HolderProof = HolderProof(gap="no metrics")
    has_metrics: bool = False
    manager_pod: PodRef | None = None
    plans_follow: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What the policy and our Lease say.

    Parameters
    ----------
    holder, epoch
        Who writes, and the transitions of the Lease it holds.
    """

    rollout: RolloutRules
    mig_manager: MigManager
    eviction: EvictionRules
    holder: str
    epoch: int
