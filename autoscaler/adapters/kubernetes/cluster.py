"""The cluster port over raw objects, whichever client brings them."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.adapters.kubernetes.bodies import (
    event_body,
    eviction_body,
    node_patch_body,
    placeholder_body,
)
from autoscaler.adapters.kubernetes.leases import lease_body, lease_from
from autoscaler.adapters.kubernetes.listing import Pass
from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.adapters.kubernetes.object_memory import ObjectMemory
from autoscaler.adapters.kubernetes.objects import config_map_from
from autoscaler.adapters.kubernetes.pods import pod_from
from autoscaler.adapters.kubernetes.reading import mapping_at, text_at
from autoscaler.domain.cluster.objects import ConfigMap, Node, Observation, Pod, PodRef
from autoscaler.domain.cluster.placeholder import PlaceholderOrder
from autoscaler.domain.errors import Conflict, InvariantError, NotFound, Refused
from autoscaler.ports import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    Clock,
    ClusterEvent,
    Kind,
    LeaseState,
    NodePatch,
    ObjectClient,
    RawObject,
)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Which objects are ours.

    Parameters
    ----------
    operator_namespace
        Where the GPU operator, its MIG managers and their configurations live.
    config_map
        Our configurations for MIG manager, in that namespace.
    namespace, status_map
        Where our status is kept.
    reads_announcements
        Whether Namespaces, Jobs and CronJobs may announce peaks.
    """

    operator_namespace: str = "gpu-operator"
    config_map: str = "mig-autoscaler-config"
    namespace: str = "mig-autoscaler"
    status_map: str = "mig-autoscaler-status"
    reads_announcements: bool = True


DEFAULT_SETTINGS = ClusterSettings()


class KubernetesCluster:
    """A ``ClusterApi`` over any client of raw objects."""

    def __init__(
        self,
        client: ObjectClient,
        clock: Clock,
        settings: ClusterSettings = DEFAULT_SETTINGS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings
        self._nodes = ObjectMemory(node_from)
        self._pods = ObjectMemory(pod_from)

    def observe(self) -> Observation:
        """Return all objects of one pass; ObservationError when any list failed."""
        own = self._settings
        names = (
            (own.operator_namespace, own.config_map),
            (own.namespace, own.status_map),
        )
        one = Pass(
            self._client,
            own.reads_announcements,
            read_node=self._nodes.reader(),
            read_pod=self._pods.reader(),
            own_namespace=own.namespace,
        )
        return one.observe(self._clock.now_s(), names, own.operator_namespace)

    def read_node(self, name: str) -> Node:
        """Return one node as it is now."""
        return self._nodes.read(self._client.get(NODES, None, name))

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return all pods bound to a node, as they are now."""
        page = self._client.list(PODS, field_selector=f"spec.nodeName={node}")
        return tuple(sorted(map(self._pods.read, page.items), key=lambda pod: pod.ref))

    def patch_node(self, name: str, patch: NodePatch) -> Node:
        """Apply one merge patch, atomically; Conflict when a precondition fails."""
        try:
            return node_from(self._client.patch(NODES, None, name, node_patch_body(patch)))
        except Refused as error:
            # To the API server another uid is an attempt to change it, which it refuses.
            if patch.uid and self.read_node(name).uid != patch.uid:
                raise Conflict(f"node {name} was replaced by another of its name") from error
            raise

    def evict(self, pod: PodRef) -> None:
        """Evict through the Eviction API, with the pod's uid as precondition."""
        if not pod.uid:
            raise InvariantError(f"pod {pod} is not to be evicted by its name alone")
        try:
            self._client.post(PODS, pod.namespace, pod.name, "eviction", eviction_body(pod))
        except NotFound:
            return
        except Conflict:
            # Another pod of this name, or another writer at the same moment.
            if self._is_here(pod):
                raise

    def create_placeholder(self, namespace: str, order: PlaceholderOrder) -> None:
        """Create a placeholder pod; Conflict when one of its name exists."""
        self._client.create(PODS, namespace, placeholder_body(namespace, order))

    def delete_pod(self, pod: PodRef) -> None:
        """Delete a pod of ours, with its uid as precondition; fine when it is gone."""
        if not pod.uid:
            raise InvariantError(f"pod {pod} is not to be deleted by its name alone")
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        try:
            self._client.delete(PODS, pod.namespace, pod.name, body)
        except NotFound:
            return

    def _is_here(self, pod: PodRef) -> bool:
        found = self._get(PODS, pod.namespace, pod.name)
        return (
            found is not None and text_at(mapping_at(found, "metadata", []), "uid") == pod.uid
        )

    def read_config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return a ConfigMap, ``None`` when it does not exist."""
        found = self._get(CONFIG_MAPS, namespace, name)
        return None if found is None else config_map_from(found, [])

    def write_config_map(
        self, config_map: ConfigMap, annotations: Mapping[str, str | None] | None = None
    ) -> ConfigMap:
        """Create or replace its data; Conflict when its resource version is stale."""
        metadata: RawObject = {"name": config_map.name}
        body: RawObject = {"metadata": metadata, "data": dict(config_map.data)}
        if config_map.resource_version:
            metadata["resourceVersion"] = config_map.resource_version
            metadata["annotations"] = dict(annotations or {})
            written = self._client.patch(
                CONFIG_MAPS, config_map.namespace, config_map.name, body
            )
        else:
            metadata["namespace"] = config_map.namespace
            metadata["labels"] = dict(config_map.labels)
            wanted = {**config_map.annotations, **(annotations or {})}
            metadata["annotations"] = {k: v for k, v in wanted.items() if v is not None}
            body |= {"apiVersion": "v1", "kind": "ConfigMap"}
            written = self._client.create(CONFIG_MAPS, config_map.namespace, body)
        return config_map_from(written, [])

    def read_lease(self, namespace: str, name: str) -> LeaseState | None:
        """Return a Lease, ``None`` when it does not exist."""
        found = self._get(LEASES, namespace, name)
        return None if found is None else lease_from(found)

    def write_lease(self, namespace: str, lease: LeaseState) -> LeaseState:
        """Create (empty resource version) or replace; Conflict when someone was first."""
        body = lease_body(lease)
        if lease.resource_version:
            return lease_from(self._client.patch(LEASES, namespace, lease.name, body))
        body["metadata"]["namespace"] = namespace
        return lease_from(self._client.create(LEASES, namespace, body))

    def record(self, event: ClusterEvent) -> None:
        """Write an Event; not idempotent, the caller de-duplicates."""
        body = event_body(event, self._clock.now_s())
        self._client.create(EVENTS, body["metadata"]["namespace"], body)

    def _get(self, kind: Kind, namespace: str, name: str) -> RawObject | None:
        try:
            return self._client.get(kind, namespace, name)
        except NotFound:
            return None
