"""Kinds that not every cluster serves, and the versions to try, newest first."""

from autoscaler.ports import Kind

CLUSTER_POLICIES = Kind(
    "nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", namespaced=False
)
RESOURCE_SLICES = tuple(
    Kind("resource.k8s.io", version, "ResourceSlice", "resourceslices", namespaced=False)
    for version in ("v1", "v1beta2", "v1beta1")
)
# Volcano, the scheduler plugins, KAI: different kinds under one name.
POD_GROUPS = (
    Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
    Kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    Kind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
)
