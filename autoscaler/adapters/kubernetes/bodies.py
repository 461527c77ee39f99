"""Bodies of what we write: patches, evictions, events."""

import hashlib
from collections.abc import Iterable

from autoscaler.adapters.kubernetes.reading import format_time
from autoscaler.domain.cluster.marks import PLACEHOLDER
from autoscaler.domain.cluster.objects import PodRef, Taint
from autoscaler.domain.cluster.placeholder import PRIORITY_CLASS, PlaceholderOrder
from autoscaler.domain.cluster.selector import NAME_FIELD
from autoscaler.ports import ClusterEvent, NodePatch, RawObject

COMPONENT_NAME = "mig-autoscaler"
NOBODY = 65534
DESCRIPTION = "kubernetes.io/description"
# Taints of a node that is closed or in trouble.
OF_KUBERNETES = "node.kubernetes.io/"
# Limit of the API.
MESSAGE_LENGTH = 1024


def node_patch_body(patch: NodePatch) -> RawObject:
    """Return a merge patch over labels, annotations and spec, with its preconditions."""
    metadata: RawObject = {}
    if patch.labels:
        metadata["labels"] = dict(patch.labels)
    if patch.annotations:
        metadata["annotations"] = dict(patch.annotations)
    if patch.resource_version:
        metadata["resourceVersion"] = patch.resource_version
    if patch.uid:
        metadata["uid"] = patch.uid
    body: RawObject = {"metadata": metadata} if metadata else {}
    if patch.unschedulable is not None:
        # The API leaves the field out when it is false.
        body["spec"] = {"unschedulable": patch.unschedulable or None}
    return body


def eviction_body(pod: PodRef) -> RawObject:
    """Return an eviction that holds for this very pod, not for a later one of its name."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }


def placeholder_body(namespace: str, order: PlaceholderOrder) -> RawObject:
    """Return a pod that does nothing but hold a device of one node.

    Should nobody remove it once it holds one, kubelet ends it.
    """
    field = {"key": NAME_FIELD, "operator": "In", "values": [order.node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    container = {
        "name": "placeholder",
        "image": order.image,
        "resources": {"limits": {order.resource: "1"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": order.name,
            "namespace": namespace,
            "labels": {PLACEHOLDER: "true", "app.kubernetes.io/name": "mig-placeholder"},
            "annotations": {DESCRIPTION: f"Has the next free GPU of {order.node} to be re-cut"},
        },
        "spec": {
            "priorityClassName": PRIORITY_CLASS,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": order.deadline_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "affinity": {"nodeAffinity": required},
            "tolerations": _tolerations(order.taints),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }


def _tolerations(taints: Iterable[Taint]) -> list[RawObject]:
    """Return tolerations of what keeps ordinary pods away, not of what closes a node."""
    return [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in taints
        if not taint.key.startswith(OF_KUBERNETES)
    ]


def event_body(event: ClusterEvent, now_s: float) -> RawObject:
    """Return an event; its name differs for each object, time, reason and message."""
    digest = hashlib.sha256(f"{event.reason} {event.message}".encode()).hexdigest()[:8]
    # Events about objects without a namespace live in the namespace ``default``.
    namespace = event.namespace or "default"
    about = {"kind": event.kind, "name": event.name, "uid": event.uid}
    about["apiVersion"] = API_VERSIONS.get(event.kind, "v1")
    if event.namespace:
        about["namespace"] = event.namespace
    moment = format_time(now_s)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{event.name[:200]}.{int(now_s * 1e6):x}.{digest}",
            "namespace": namespace,
        },
        "involvedObject": about,
        "reason": event.reason,
        "message": event.message[:MESSAGE_LENGTH],
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": COMPONENT_NAME},
        "reportingComponent": COMPONENT_NAME,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }


API_VERSIONS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
