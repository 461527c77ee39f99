"""Kinds that not every cluster serves, and the versions to try, newest first."""

from autoscaler.ports import Kind

CLUSTER_POLICIES = Kind(
    "nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", namespaced=False
)
RESOURCE_SLICES = tuple(
    Kind("resource.k8s.io", version, "ResourceSlice", "resourceslices", namespaced=False)
    for version in ("v1", "v1beta2", "v1beta1")
)
CRON_JOBS = Kind("batch", "v1", "CronJob", "cronjobs")
KUEUE = "kueue.x-k8s.io"
KUEUE_VERSIONS = ("v1beta2", "v1beta1")
# Volcano, the scheduler plugins, KAI: different kinds under one name.
POD_GROUPS = (
    Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
    Kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    Kind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
)


def kueue_kinds(version: str) -> tuple[Kind, Kind, Kind]:
    """Return workloads, local queues and cluster queues of a version of Kueue's API."""
    return (
        Kind(KUEUE, version, "Workload", "workloads"),
        Kind(KUEUE, version, "LocalQueue", "localqueues"),
        Kind(KUEUE, version, "ClusterQueue", "clusterqueues", namespaced=False),
    )
