"""A rollout and one fresh look at its node: what every rule of the machine reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.marks import (
    ABORT,
    KARPENTER_DO_NOT_DISRUPT,
    MIG_CONFIG,
    MIG_CONFIG_STATE,
    SCALE_DOWN_DISABLED,
    is_set,
)
from autoscaler.domain.cluster.objects import Node, Pod
from autoscaler.domain.fleet.advertised import manager_state, paused_labels
from autoscaler.domain.fleet.evictions import uses_gpu
from autoscaler.domain.journal.rollout import Journal, State
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.rollout.steps import Rules, Seen, Wait, WaitReason

# Asks Cluster Autoscaler and Karpenter to leave a node alone while it is changed.
OUR_MARKS: Mapping[str, str] = {
    KARPENTER_DO_NOT_DISRUPT: "true",
    SCALE_DOWN_DISABLED: "true",
}

# Cutting eight GPUs takes the agent some minutes, and a device plugin that does not
# start at first tries again every half minute.
AGENT_DEADLINE_S = 900.0


@dataclass(frozen=True, slots=True)
class Situation:
    """All that decides the next step of a rollout.

    Parameters
    ----------
    node
        ``seen.node``, known to exist and to be the one of the journal.
    now_s
        Epoch seconds, not before any of the reads ended.
    """

    journal: Journal
    node: Node
    seen: Seen
    rules: Rules
    now_s: float

    @property
    def config(self) -> str | None:
        """Present value of the ``mig.config`` label."""
        return self.node.labels.get(MIG_CONFIG)

    @property
    def by_agent(self) -> bool:
        """Whether the node agent cuts the GPUs, and no label asks for anything."""
        return self.journal.driver is Driver.AGENT

    @property
    def users(self) -> tuple[Pod, ...]:
        """Pods that use GPUs of the node, in name order."""
        namespace = self.rules.mig_manager.namespace
        found = (pod for pod in self.seen.pods if uses_gpu(pod, namespace))
        return tuple(sorted(found, key=lambda pod: pod.ref))

    @property
    def has_failed(self) -> bool:
        """Whether MIG manager says so; our own label writes take old answers away."""
        return manager_state(self.node) == "failed"

    @property
    def is_silent(self) -> bool:
        """Whether nobody has taken up our label for too long."""
        return (
            self.now_s >= self.journal.state_since_s + self.rules.rollout.no_response_s
            and not manager_state(self.node)
            and not paused_labels(self.node)
        )

    @property
    def is_aborted(self) -> bool:
        """Whether a person asked for the end of this rollout."""
        return is_set(self.node.annotations.get(ABORT))

    @property
    def is_late(self) -> bool:
        """Whether the present state should be over."""
        return self.now_s >= self.journal.deadline_s

    def enter(self, state: State, within_s: float) -> Journal:
        """Return the journal in a new state with a deadline of its own."""
        return replace(
            self.journal,
            state=state,
            state_since_s=self.now_s,
            deadline_s=self.now_s + within_s,
            settled_since_s=None,
        )

    def relabel(self, config_name: str | None) -> dict[str, str | None]:
        """Return the labels that ask MIG manager for a configuration.

        There is no acknowledgement of a label, so the old state is removed with the
        same patch and the next state is an answer to this label. While it reads
        ``rebooting`` it is the manager's own memory across the reboot and stays.
        """
        labels: dict[str, str | None] = {MIG_CONFIG: config_name}
        if manager_state(self.node) not in {"", "rebooting"}:
            labels[MIG_CONFIG_STATE] = None
        return labels

    def unpause(self) -> dict[str, str | None]:
        """Return labels that bring exactly the paused operands back."""
        return dict.fromkeys(paused_labels(self.node), "true")

    def lacking_marks(self) -> dict[str, str | None]:
        """Return the marks for node autoscalers that are not there."""
        have = self.node.annotations
        return {name: value for name, value in OUR_MARKS.items() if have.get(name) != value}

    def restored_marks(self) -> dict[str, str | None]:
        """Return previous values of the marks that still read as we wrote them."""
        return {
            name: before
            for name, before in sorted(self.journal.marks.items())
            if self.node.annotations.get(name) == OUR_MARKS.get(name) != before
        }

    def wait(self, reason: WaitReason, message: str, until_s: float | None = None) -> Wait:
        """Return a wait that the deadline of the state ends at the latest."""
        until_s = self.journal.deadline_s if until_s is None else until_s
        return Wait(reason, message, until_s)
