"""What the API server said, as slim immutable values.

Raw API dictionaries end in the adapter that received them; this is what they
become. No rule is applied here: a ``Pod`` carries its containers as they are,
and ``demand`` decides what they ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.announcement import Announcement
from autoscaler.domain.cluster.queueing import Kueue
from autoscaler.domain.counts import Counts


@dataclass(frozen=True, slots=True, order=True)
class PodRef:
    """A pod's name; ``uid`` is empty where only the name is known."""

    namespace: str
    name: str
    uid: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling owner reference of an object."""

    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod; an empty ``key`` with ``Exists`` tolerates all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement of a selector: ``In NotIn Exists DoesNotExist Gt Lt``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """Requirements that must all hold; ``fields`` apply to ``metadata.name``."""

    labels: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A ``metav1.LabelSelector``: all expressions must hold; empty selects all."""

    expressions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Container:
    """What one container asks for.

    Parameters
    ----------
    name
        Container name.
    requests
        Amounts of extended resources (``nvidia.com/…``), whole numbers.
    cpu_milli, memory_bytes
        Ordinary requests; 0 when none.
    init
        Whether it is an init container.
    sidecar
        Whether it is an init container with ``restartPolicy: Always``.
    """

    name: str
    requests: Counts = Counts()
    cpu_milli: int = 0
    memory_bytes: int = 0
    init: bool = False
    sidecar: bool = False


@dataclass(frozen=True, slots=True)
class Gang:
    """Membership of a pod group that starts whole or not at all."""

    name: str
    min_member: int


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod.

    Parameters
    ----------
    node
        Name of the node it is bound to; ``None`` while pending.
    phase, reason
        ``status.phase`` and ``status.reason``.
    unschedulable
        ``PodScheduled`` is false with reason ``Unschedulable``.
    created_s, started_s, deletion_s
        Epoch seconds; ``deletion_s`` is the time by which the grace period ends
        (``metadata.deletionTimestamp``), ``None`` when not terminating.
    priority
        ``spec.priority``, 0 when absent.
    affinity
        Required node affinity: one of the terms must match; empty means none.
    anti_affinity_self
        Required anti-affinity on the host name that selects the pod's own labels:
        at most one of its kind on a node.
    claims
        Whether it asks through ResourceClaims.
    gpu_runtime
        Whether it uses the NVIDIA runtime class or mounts an NVIDIA device.
    waiting
        Reasons of containers in state waiting, e.g. ``CreateContainerError``.
    grace_s
        Seconds it may take to end after an eviction.
    restarts
        Whether it is started again whenever it ends (``restartPolicy: Always``), so that
        it never ends by itself.
    active_deadline_s
        Seconds after its start at which kubelet ends it; ``None`` for no limit.
    faults
        What could not be read of it, e.g. a negative quantity; such a pod is
        reported and never counted.

    Attributes
    ----------
    ref
        Name and uid.
    """

    namespace: str
    name: str
    uid: str = ""
    node: str | None = None
    phase: str = "Pending"
    reason: str = ""
    unschedulable: bool = False
    unschedulable_message: str = ""
    created_s: float = 0.0
    started_s: float | None = None
    deletion_s: float | None = None
    priority: int = 0
    priority_class: str = ""
    scheduler: str = "default-scheduler"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner: Owner | None = None
    containers: tuple[Container, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[SelectorTerm, ...] = ()
    anti_affinity_self: bool = False
    tolerations: tuple[Toleration, ...] = ()
    gates: tuple[str, ...] = ()
    nominated_node: str = ""
    gang: Gang | None = None
    claims: bool = False
    gpu_runtime: bool = False
    host_network: bool = False
    ready: bool = False
    waiting: tuple[str, ...] = ()
    grace_s: float = 30.0
    restarts: bool = True
    active_deadline_s: float | None = None
    faults: tuple[str, ...] = ()
    ref: PodRef = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ref", PodRef(self.namespace, self.name, self.uid))

    @property
    def is_finished(self) -> bool:
        """Whether it has ended and holds no device any more."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    Parameters
    ----------
    allocatable, capacity
        Extended resources ``nvidia.com/…`` only; whole numbers.
    cpu_milli, memory_bytes
        Allocatable; ``None`` when not stated.
    ready
        Condition ``Ready``; ``None`` when absent or Unknown.
    config_writer
        Field manager that last set ``nvidia.com/mig.config``, empty if unknown.
    faults
        What could not be read of it; such a node is on hold.
    deletion_s
        When its deletion was asked for, while finalizers keep it; else ``None``.
    """

    name: str
    uid: str = ""
    resource_version: str = ""
    created_s: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool | None = True
    ready_since_s: float | None = None
    allocatable: Counts = Counts()
    capacity: Counts = Counts()
    cpu_milli: int | None = None
    memory_bytes: int | None = None
    config_writer: str = ""
    faults: tuple[str, ...] = ()
    deletion_s: float | None = None


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """A PodDisruptionBudget with the state its controller last wrote."""

    namespace: str
    name: str
    selector: LabelSelector
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    always_allow_unhealthy: bool = False
    observed: bool = True


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap; ``operator_owned`` marks those of the GPU operator or its managers."""

    namespace: str
    name: str
    resource_version: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    operator_owned: bool = False


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A gang of Volcano, the scheduler-plugins or KAI; pods name it by label or annotation."""

    namespace: str
    name: str
    min_member: int


@dataclass(frozen=True, slots=True)
class Quota:
    """What a ResourceQuota says of GPU resources, by resource name.

    Parameters
    ----------
    hard, used
        Amounts of ``requests.nvidia.com/…``; what ``hard`` does not name is unlimited.
    forbidden
        Resources whose hard amount is 0, in name order: counts hold no zeros.
    """

    namespace: str
    name: str
    hard: Counts
    used: Counts
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimDriver:
    """A ResourceSlice: ``driver`` publishes devices of ``node``."""

    node: str
    driver: str


@dataclass(frozen=True, slots=True)
class Observation:
    """All objects of one complete pass over the API server.

    Parameters
    ----------
    observed_at_s
        Epoch seconds of the moment before the first list was asked for.
    offline
        Whether it was read from files: what files leave out is unknown, not absent.
    mig_config_map
        ``migManager.config.name`` of the ClusterPolicy; ``None`` when not readable.
    manager_nodes
        Nodes with a Ready MIG manager pod; ``None`` when not known.
    announcements
        Objects that say something of demand to come.
    kueue, placeholders
        What Kueue has in its queues, ``None`` when there is none or it is not readable; and
        pods of ours that keep GPUs from others, which are not among ``pods``.
    notices
        What was left out and why, e.g. "pods on node x, which is not in the input".
    """

    observed_at_s: float
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    config_maps: tuple[ConfigMap, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    quotas: tuple[Quota, ...] = ()
    claim_drivers: tuple[ClaimDriver, ...] = ()
    priority_classes: Mapping[str, int] = field(default_factory=dict)
    mig_config_map: str | None = None
    manager_nodes: frozenset[str] | None = None
    offline: bool = False
    announcements: tuple[Announcement, ...] = ()
    kueue: Kueue | None = None
    placeholders: tuple[Pod, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstanceSample:
    """Activity of one GPU instance, as metrics last showed it.

    Parameters
    ----------
    node, gpu_uuid, instance_id
        Key of the instance; ``gpu_index`` is DCGM's number of the board.
    profile
        Profile as the exporter names it; may differ from the advertised one.
    busy
        ``True`` active, ``False`` provably near zero, ``None`` unknown.
    sampled_at_s
        Epoch seconds of the sample itself, not of the evaluation.
    pod
        Workload pod by the labels; ``None`` when no workload is named.
    """

    node: str
    gpu_uuid: str
    gpu_index: int | None
    instance_id: str
    profile: str
    busy: bool | None
    sampled_at_s: float | None
    pod: PodRef | None = None


@dataclass(frozen=True, slots=True)
class MetricsView:
    """What Prometheus said in one pass.

    Parameters
    ----------
    instances
        One entry an instance, duplicates of replicas merged on the safe side.
    pending
        Instances asked for by pending pods, by resource name; ``None`` unknown.
    queued
        Instances asked for by work that has no pod yet, by resource name;
        ``None`` when no such query is configured or it failed.
    partial
        Whether any answer carried warnings: what is not listed is unknown.
    notices
        One sentence a gap, for people.
    """

    observed_at_s: float
    instances: tuple[InstanceSample, ...] = ()
    pending: Counts | None = None
    queued: Counts | None = None
    partial: bool = False
    notices: tuple[str, ...] = ()
