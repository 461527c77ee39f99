"""Bodies of what we write: patches, evictions, events."""

import hashlib

from autoscaler.adapters.kubernetes.reading import format_time
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.ports import ClusterEvent, NodePatch, RawObject

COMPONENT_NAME = "mig-autoscaler"
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
