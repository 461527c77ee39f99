"""Every "no" and "not" has one of these names, and a sentence beside it.

The names are part of the output (plan JSON, events, metrics), so they are
stable; messages may change.
"""

from dataclasses import dataclass
from enum import StrEnum

from autoscaler.domain.cluster.objects import PodRef


class Reason(StrEnum):
    """Why something is not done, not counted or not served."""

    # A node is left alone, its supply counted unless said otherwise.
    GEOMETRY_UNKNOWN = "GeometryUnknown"
    UNKNOWN_MODEL = "UnknownModel"
    MIXED_MODELS = "MixedModels"
    PRODUCT_INVALID = "ProductInvalid"
    EXCEEDS_HARDWARE = "ExceedsHardware"
    UNKNOWN_PROFILE = "UnknownProfile"
    DRIFTED = "Drifted"
    UNHEALTHY_DEVICE = "UnhealthyDevice"
    SHARED = "Shared"
    MANAGED_BY_PROVIDER = "ManagedByProvider"
    TWO_OWNERS = "TwoOwners"
    NO_MIG_MANAGER = "NoMigManager"
    NO_AGENT = "NoAgent"
    OBSERVE_ONLY = "ObserveOnly"
    OPERATOR_CONFIG = "OperatorConfigMap"
    NOT_READY = "NotReady"
    NOT_SETTLED = "NotSettled"
    WARMING_UP = "WarmingUp"
    CHANGE_IN_PROGRESS = "ChangeInProgress"
    CORDONED = "Cordoned"
    NODE_LEAVING = "NodeLeaving"
    HELD = "Held"
    IGNORED = "Ignored"
    RESERVED = "Reserved"
    QUARANTINED = "Quarantined"
    FOREIGN_CONFIG = "ForeignConfig"
    ADMISSION_FAILURES = "AdmissionFailures"
    START_FAILURES = "StartFailures"
    PREEMPTION = "Preemption"
    UNREADABLE = "Unreadable"
    AMBIGUOUS_POOL = "AmbiguousPool"
    DUPLICATE_NODE = "DuplicateNode"
    # A pool cannot be as the policy wishes.
    POOL_EMPTY = "PoolEmpty"
    FLOOR_IMPOSSIBLE = "FloorImpossible"
    RESERVE_IMPOSSIBLE = "ReserveImpossible"
    PRESET_IMPOSSIBLE = "PresetImpossible"
    # A pod is not demand.
    GATED = "Gated"
    TOO_YOUNG = "TooYoung"
    FITS_TODAY = "FitsToday"
    TERMINATING = "Terminating"
    FINISHED = "Finished"
    BOUND = "Bound"
    NOMINATED = "Nominated"
    CLAIMS = "Claims"
    OPERATOR_POD = "OperatorPod"
    MIRROR_POD = "MirrorPod"
    OVER_QUOTA = "OverQuota"
    GANG_INCOMPLETE = "GangIncomplete"
    # Demand stays unserved.
    IMPOSSIBLE_PROFILE = "ImpossibleProfile"
    NOT_ALLOWED = "ProfileNotAllowed"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    GANG_TOO_LARGE = "GangTooLarge"
    BUNDLE_TOO_LARGE = "BundleTooLarge"
    FOLDED_PROFILE = "FoldedProfile"
    WHOLE_GPU = "WholeGpu"
    MIG_OFF = "MigOff"
    NO_CAPACITY = "NoCapacity"
    GPUS_BUSY = "GpusBusy"
    NOT_WORTH_IT = "NotWorthIt"
    WHOLE_GPU_CAP = "WholeGpuCap"
    CEILING = "Ceiling"
    # A change is blocked for now.
    PAUSED = "Paused"
    OUTSIDE_WINDOW = "OutsideWindow"
    FROZEN = "Frozen"
    DOES_NOT_FIT_WINDOW = "DoesNotFitWindow"
    NODE_BUDGET = "NodeBudget"
    HOURLY_BUDGET = "HourlyBudget"
    COOLDOWN = "Cooldown"
    LAYOUT_REFUSED = "LayoutRefused"
    MIN_GAIN = "MinGain"
    NOT_PERSISTENT = "NotPersistent"
    NOT_LEADER = "NotLeader"
    NODE_GONE = "NodeGone"
    METRICS_MISSING = "MetricsMissing"
    HOLDERS_UNPROVEN = "HoldersUnproven"
    SOLVER_STOPPED = "SolverStopped"
    REFUSED = "Refused"
    # A pod may not be evicted.
    PROTECTED = "Protected"
    EVICTION_DISABLED = "EvictionDisabled"
    JOB_POD = "JobPod"
    UNOWNED_POD = "UnownedPod"
    DAEMON_SET_POD = "DaemonSetPod"
    GANG_MEMBER = "GangMember"
    BUDGET_EXHAUSTED = "DisruptionBudgetExhausted"


@dataclass(frozen=True, slots=True, order=True)
class Hold:
    """A named reason to leave a node (or, without one, the fleet) alone this cycle."""

    reason: Reason
    message: str
    node: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """Why a proposed change may not start now."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, order=True)
class PodNote:
    """A pod and why it is not counted or not served."""

    pod: PodRef
    reason: Reason
    message: str
