"""What the loop needs from outside, and what each call promises.

No third-party exception crosses these protocols; see ``domain.errors`` for what
each error means. Every call has a deadline of its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.cluster.objects import (
    ConfigMap,
    MetricsView,
    Node,
    Observation,
    Pod,
    PodRef,
)
from autoscaler.domain.cluster.placeholder import PlaceholderOrder
from autoscaler.domain.mig.geometry import GpuInstance

if TYPE_CHECKING:
    # Arrays come with it, which most commands do without.
    from autoscaler.planning.past.demand_history import DemandHistory, Grid

# A Kubernetes object as JSON gives it. Only an ObjectClient and the code right
# above it (the Kubernetes adapter, the simulated controllers) may see one.
RawObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object and where the API serves it.

    Parameters
    ----------
    group, version
        API group (empty for core) and version.
    name, plural
        ``Node``, ``nodes``.
    namespaced
        Whether objects live in a namespace.
    """

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True


NODES = Kind("", "v1", "Node", "nodes", namespaced=False)
PODS = Kind("", "v1", "Pod", "pods")
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps")
EVENTS = Kind("", "v1", "Event", "events")
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas")
DISRUPTION_BUDGETS = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
LEASES = Kind("coordination.k8s.io", "v1", "Lease", "leases")
REPLICA_SETS = Kind("apps", "v1", "ReplicaSet", "replicasets")
JOBS = Kind("batch", "v1", "Job", "jobs")


@dataclass(frozen=True, slots=True)
class Page:
    """A list of objects as of one resource version."""

    items: tuple[RawObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Change:
    """One watch event: ``ADDED``, ``MODIFIED`` or ``DELETED``."""

    type: str
    object: RawObject


class ObjectClient(Protocol):
    """Raw objects of a Kubernetes API: the in-memory store, or a server over HTTP.

    All calls may raise Unavailable, Refused (401, 403, 422), NotFound or Conflict.
    """

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page:
        """Return all objects, read in pages but of one resource version."""
        ...

    def get(self, kind: Kind, namespace: str | None, name: str) -> RawObject:
        """Return one object; NotFound when it does not exist."""
        ...

    def create(self, kind: Kind, namespace: str | None, body: RawObject) -> RawObject:
        """Create an object; Conflict when it exists."""
        ...

    def patch(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        body: RawObject,
        subresource: str = "",
    ) -> RawObject:
        """Apply a JSON merge patch, atomically.

        With ``metadata.resourceVersion`` in the body it is a precondition: Conflict
        when stale. A wrong ``metadata.uid`` is Refused.
        """
        ...

    def delete(
        self, kind: Kind, namespace: str | None, name: str, body: RawObject | None = None
    ) -> None:
        """Delete an object; ``body`` is DeleteOptions (preconditions, grace period)."""
        ...

    def post(
        self, kind: Kind, namespace: str | None, name: str, subresource: str, body: RawObject
    ) -> RawObject:
        """Create a subresource: ``pods/eviction``, ``pods/binding``.

        An eviction that a disruption budget forbids is Unavailable with the server's
        message (429); two budgets on one pod are Unavailable too (500).
        """
        ...

    def watch(
        self, kind: Kind, since: str, timeout_s: float, namespace: str | None = None
    ) -> Iterator[Change]:
        """Yield changes after resource version ``since``, for at most ``timeout_s``.

        With a time-out of 0 yields what is there and ends. Conflict with "expired"
        when the version is too old: list again.
        """
        ...


@dataclass(frozen=True, slots=True)
class NodePatch:
    """One atomic change of a node; ``None`` as a value removes a key.

    Parameters
    ----------
    labels, annotations
        Keys to set or remove.
    unschedulable
        New ``spec.unschedulable``; ``None`` leaves it.
    resource_version
        Precondition; empty for none.
    uid
        Precondition; empty for none.
    """

    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    unschedulable: bool | None = None
    resource_version: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """A coordination Lease."""

    name: str
    holder: str
    duration_s: float
    renewed_at_s: float
    transitions: int
    resource_version: str


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A Kubernetes Event to be shown on an object.

    Parameters
    ----------
    kind, namespace, name, uid
        The object it is about; namespace empty for nodes.
    reason
        CamelCase.
    message
        One sentence.
    warning
        Only where a person should act.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    warning: bool = False


class ClusterApi(Protocol):
    """The Kubernetes cluster, in slim values.

    Reads are fresh. Errors: ObservationError when a whole pass is incomplete;
    otherwise Unavailable, Refused, NotFound, Conflict.
    """

    def observe(self) -> Observation:
        """Return all objects of one pass; ObservationError when any list failed."""
        ...

    def read_node(self, name: str) -> Node:
        """Return one node as it is now."""
        ...

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return all pods bound to a node, as they are now."""
        ...

    def patch_node(self, name: str, patch: NodePatch) -> Node:
        """Apply one merge patch, atomically; Conflict when a precondition fails."""
        ...

    def evict(self, pod: PodRef) -> None:
        """Evict through the Eviction API, with the pod's uid as precondition.

        Returns also when the pod is already gone or replaced. Unavailable when a
        disruption budget forbids it now; the message names the budget.
        """
        ...

    def create_placeholder(self, namespace: str, order: PlaceholderOrder) -> None:
        """Create a placeholder pod; Conflict when one of its name exists.

        Refused where its PriorityClass does not exist, or a quota stands against it.
        """
        ...

    def delete_pod(self, pod: PodRef) -> None:
        """Delete a pod of ours, with its uid as precondition; fine when it is gone."""
        ...

    def read_config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return a ConfigMap, ``None`` when it does not exist."""
        ...

    def write_config_map(
        self, config_map: ConfigMap, annotations: Mapping[str, str | None] | None = None
    ) -> ConfigMap:
        """Create or replace its data; Conflict when its resource version is stale.

        An empty resource version means create. Data keys not named are kept.
        """
        ...

    def read_lease(self, namespace: str, name: str) -> LeaseState | None:
        """Return a Lease, ``None`` when it does not exist."""
        ...

    def write_lease(self, namespace: str, lease: LeaseState) -> LeaseState:
        """Create (empty resource version) or replace; Conflict when someone was first."""
        ...

    def record(self, event: ClusterEvent) -> None:
        """Write an Event; not idempotent, the caller de-duplicates."""
        ...


class GpuDriver(Protocol):
    """The GPUs of one node, through NVML.

    No call changes the MIG mode. Unavailable when the driver does not answer, Refused
    where it says no for good (not permitted, a board is lost).
    """

    def version(self) -> str:
        """Return the version of the driver."""
        ...

    def read(self) -> tuple[Board, ...]:
        """Return all boards as they are now, in index order."""
        ...

    def destroy(self, board: str, instance: BoardInstance) -> None:
        """Destroy a GPU instance with all in it; neither atomic nor forced.

        InUse while a process or another client of the driver is on it: then nothing was
        done, or only its compute instance is gone, and the next try goes on from there.
        NotFound when no such instance is there.

        Parameters
        ----------
        board
            UUID of the board.
        instance
            As read; another instance with its id by now is left alone.
        """
        ...

    def create(self, board: str, place: GpuInstance) -> BoardInstance:
        """Create a GPU instance at a place, with one compute instance of its full size.

        Idempotent: what is there of it already is kept, and what is lacking added. NoRoom
        when anything else takes the place, also in part.
        """
        ...

    def refresh(self) -> None:
        """Make sure that containers can be given all instances there are now.

        Device nodes must exist and the description of devices must name them, else pods
        fail at their start. Idempotent.
        """
        ...


class PodResources(Protocol):
    """What kubelet has given to whom, on one node; Unavailable when it does not answer."""

    def holders(self) -> Mapping[str, PodRef]:
        """Return the pod that holds each device, by the device's id.

        Kubelet knows names only, so the uids are empty. A device that is shared has one
        of its holders.
        """
        ...


class Metrics(Protocol):
    """Prometheus, in values. Unavailable when no answer can be had at all."""

    def observe(self) -> MetricsView:
        """Return utilisation and demand counts as of now."""
        ...

    def holders_since(self, node: str, since_s: float) -> MetricsView:
        """Return samples of one node's instances that are newer than ``since_s``."""
        ...


class PastDemand(Protocol):
    """Demand of the past. Unavailable when nothing of it can be had at all."""

    def demand(self, pool: str, grid: "Grid", alone: Collection[str]) -> "DemandHistory":
        """Return the past of one pool; what is not known of it is NaN, and said.

        ``alone`` are resources that no other pool offers: counts that do not say whose
        they are can be taken for the pool's.
        """
        ...


class Clock(Protocol):
    """Time. Simulated and real time differ here and nowhere else."""

    def now_s(self) -> float:
        """Epoch seconds, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds from an arbitrary start, never backwards; for leases and time-outs."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Recorder(Protocol):
    """Receives what a cycle has to say, for logs, metrics and the status page."""

    def record_cycle(self, outcome: Any, fields: Sequence[tuple[str, object]]) -> None:
        """Take the outcome of one cycle."""
        ...
