"""A rollout: one node's change, from closing it to its release.

The journal is the only memory of a rollout; it lives in an annotation of the
node that is being changed, and every write to the node carries the journal's new
step in the same patch. ``domain.transition`` holds the state machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.pool import Driver


class State(StrEnum):
    """Where a rollout stands; see the table in ``docs/rollout.md``."""

    CLOSED = "closed"
    DRAINING = "draining"
    APPLYING = "applying"
    REPAIRING = "repairing"
    ROLLING_BACK = "rolling-back"
    QUARANTINED = "quarantined"

    @property
    def is_before_label(self) -> bool:
        """Whether nothing was asked of the GPUs yet, so that all can be undone."""
        return self in {State.CLOSED, State.DRAINING}


class Result(StrEnum):
    """How a rollout ended."""

    DONE = "done"
    WAITED = "waited"
    ABORTED = "aborted"
    ROLLED_BACK = "rolled-back"
    QUARANTINED = "quarantined"
    FOREIGN = "foreign"
    NO_RESPONSE = "no-response"
    GONE = "gone"

    @property
    def is_failure(self) -> bool:
        """Whether it counts as a failure of the node, for the back-off."""
        return self in {Result.ROLLED_BACK, Result.QUARANTINED, Result.NO_RESPONSE}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a configuration makes of a node.

    Parameters
    ----------
    config_name
        Value of ``nvidia.com/mig.config``; ``None`` when the node had none.
    gpus
        Profile counts of every GPU, in index order; ``None`` for MIG off.
    resources
        What the node then advertises, by resource name.
    places
        Where the instances of every GPU are, for a driver that chooses their places;
        ``None`` for MIG off. Empty where nobody chooses them.
    """

    config_name: str | None
    gpus: tuple[Counts | None, ...]
    resources: Counts
    places: tuple[Geometry | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Journal:
    """Everything a new leader needs to go on with a rollout.

    Parameters
    ----------
    id
        Id of this rollout.
    plan
        Id of the plan it belongs to.
    holder, epoch
        Identity of the replica that last wrote it, and its Lease's transitions.
    state, state_since_s
        Present state and the time it was entered (epoch seconds).
    attempt
        Failed rollouts of this node in a row, for the back-off.
    deadline_s
        When the present state must be over.
    cordoned_at_s, config_written_at_s, settled_since_s
        Times that waits are computed from; ``None`` until they happened.
    before, target
        Layout before the change and after it.
    was_unschedulable
        Whether the node was cordoned before us (then we leave it so).
    recordoned
        Whether we already cordoned again after a foreign uncordon.
    node_uid
        The node it is about; another uid is another node.
    marks
        Previous values of annotations we set (``None``: was absent).
    gpus
        Indexes of the GPUs that change.
    evictions
        Pods the plan may evict, ``namespace/name``.
    awaits
        Pods on the instances that go, ``namespace/name``, that will end by themselves.
        When they have, the loop decides anew: much may have come since the plan.
    reason
        Why it is repaired or rolled back; empty while all goes well.
    pool, model
        Pool of the node when it was planned, and key of its GPU model: the labels that
        tell it disappear while MIG manager works.
    started_at_s
        When the node was closed.
    rollback_name
        Configuration that brings ``before`` back: its own name, or a
        content-addressed one when it had none.
    serves
        Pods the change is for, ``namespace/name``; empty for other motives.
    gain, cost
        What the plan promised, in slice-seconds.
    manager_pod
        Uid of the MIG manager's pod that the repair evicts.
    driver
        Who cuts the GPUs.
    """

    id: str
    plan: str
    holder: str
    epoch: int
    state: State
    state_since_s: float
    deadline_s: float
    before: Layout
    target: Layout
    node_uid: str
    attempt: int = 0
    cordoned_at_s: float | None = None
    config_written_at_s: float | None = None
    settled_since_s: float | None = None
    was_unschedulable: bool = False
    recordoned: bool = False
    marks: Mapping[str, str | None] = field(default_factory=dict)
    gpus: tuple[int, ...] = ()
    evictions: tuple[str, ...] = ()
    reason: str = ""
    pool: str = ""
    model: str = ""
    started_at_s: float = 0.0
    rollback_name: str = ""
    serves: tuple[str, ...] = ()
    gain: float = 0.0
    cost: float = 0.0
    manager_pod: str = ""
    driver: Driver = Driver.MIG_MANAGER
    awaits: tuple[str, ...] = ()

    @property
    def is_waiting(self) -> bool:
        """Whether the node is only kept from new pods until those that are there end."""
        return bool(self.awaits) and self.state.is_before_label

    def has_waited(self, *, is_used: bool) -> bool:
        """Say whether the wait is over, and what becomes of the node is open again.

        Parameters
        ----------
        is_used
            Whether a pod may use GPUs of the node. A node that was closed before us stays
            closed, so nothing is open there.
        """
        return self.is_waiting and not is_used and not self.was_unschedulable

    @property
    def needed(self) -> tuple[Layout, ...]:
        """Layouts whose configurations must be known: the way forward and the way back.

        The node agent reads the journal and needs none.
        """
        if self.driver is Driver.AGENT:
            return ()
        return self.target, replace(self.before, config_name=self.rollback_name)
