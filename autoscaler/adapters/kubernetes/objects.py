"""The smaller kinds: raw API objects become slim values.

These values have no place for faults, so what cannot be read is told to ``notices``
and the careful reading taken: a budget that allows nothing, a quota that is not there.
"""

from collections.abc import Iterable, Mapping

from autoscaler.adapters.kubernetes.quantities import whole_number
from autoscaler.adapters.kubernetes.reading import (
    GPU_PREFIX,
    amounts_at,
    integer_at,
    mapping_at,
    sequence_at,
    text_at,
    texts_at,
)
from autoscaler.adapters.kubernetes.selectors import label_selector_from
from autoscaler.domain.cluster.mig_manager import COMPONENT, MANAGER, is_manager
from autoscaler.domain.cluster.objects import (
    ClaimDriver,
    ConfigMap,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    Quota,
)

# Where NVIDIA's operator looks when the ClusterPolicy names no ConfigMap.
DEFAULT_CONFIG_MAP = "default-mig-parted-config"
OPERATOR_KINDS = frozenset({"ClusterPolicy", "NVIDIADriver", "GPUCluster"})


def budget_from(raw: Mapping[str, object], notices: list[str]) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget; one that cannot be read allows no disruption."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    status = mapping_at(raw, "status", faults)
    seen = integer_at(status, "observedGeneration", faults, "status.")
    written = integer_at(metadata, "generation", faults, "metadata.")
    allowed = integer_at(status, "disruptionsAllowed", faults, "status.")
    budget = PodDisruptionBudget(
        namespace=text_at(metadata, "namespace") or "default",
        name=text_at(metadata, "name"),
        selector=label_selector_from(spec, "selector", faults, "spec."),
        disruptions_allowed=0 if faults else max(0, allowed),
        current_healthy=integer_at(status, "currentHealthy", faults, "status."),
        desired_healthy=integer_at(status, "desiredHealthy", faults, "status."),
        expected_pods=integer_at(status, "expectedPods", faults, "status."),
        always_allow_unhealthy=spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
        observed=not faults and bool(status) and seen >= written,
    )
    _tell(notices, "PodDisruptionBudget", metadata, faults)
    return budget


def config_map_from(raw: Mapping[str, object], notices: list[str]) -> ConfigMap:
    """Return a ConfigMap."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    labels = texts_at(metadata, "labels", faults, "metadata.")
    config_map = ConfigMap(
        namespace=text_at(metadata, "namespace") or "default",
        name=text_at(metadata, "name"),
        resource_version=text_at(metadata, "resourceVersion"),
        data=texts_at(raw, "data", faults),
        labels=labels,
        annotations=texts_at(metadata, "annotations", faults, "metadata."),
        operator_owned=_is_of_operator(metadata, labels, faults),
    )
    _tell(notices, "ConfigMap", metadata, faults)
    return config_map


def _is_of_operator(
    metadata: Mapping[str, object], labels: Mapping[str, str], faults: list[str]
) -> bool:
    owners = sequence_at(metadata, "ownerReferences", faults, "metadata.")
    return (
        labels.get(COMPONENT) == MANAGER
        or any(text_at(owner, "kind") in OPERATOR_KINDS for owner in owners)
        or text_at(metadata, "name") == DEFAULT_CONFIG_MAP
    )


def pod_group_from(raw: Mapping[str, object], notices: list[str]) -> PodGroup:
    """Return a PodGroup of any batch system."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    group = PodGroup(
        namespace=text_at(metadata, "namespace") or "default",
        name=text_at(metadata, "name"),
        min_member=max(0, integer_at(spec, "minMember", faults, "spec.")),
    )
    _tell(notices, "PodGroup", metadata, faults)
    return group


def quota_from(raw: Mapping[str, object], notices: list[str]) -> Quota:
    """Return what a ResourceQuota says of GPU resources, by resource name."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    status = mapping_at(raw, "status", faults)
    hard = _requests(mapping_at(spec, "hard", faults, "spec."))
    used = _requests(mapping_at(status, "used", faults, "status."))
    limits = amounts_at(hard, whole_number, faults, "spec.hard")
    quota = Quota(
        namespace=text_at(metadata, "namespace") or "default",
        name=text_at(metadata, "name"),
        hard=limits,
        used=amounts_at(used, whole_number, faults, "status.used"),
        forbidden=tuple(sorted(name for name in hard if _is_zero(hard[name]))),
    )
    _tell(notices, "ResourceQuota", metadata, faults)
    return quota


def _is_zero(value: object) -> bool:
    try:
        return whole_number(value) == 0
    except ValueError:
        return False


def _requests(amounts: Mapping[str, object]) -> Mapping[str, object]:
    # Extended resources are limited by their requests only.
    return {
        key.removeprefix("requests."): value
        for key, value in amounts.items()
        if key.startswith("requests." + GPU_PREFIX)
    }


def claim_driver_from(raw: Mapping[str, object]) -> ClaimDriver:
    """Return who publishes devices where; no node means not one node's own.

    The first versions of the API have both beside the metadata.
    """
    spec = mapping_at(raw, "spec", [])
    return ClaimDriver(
        text_at(spec, "nodeName") or text_at(raw, "nodeName"),
        text_at(spec, "driver") or text_at(raw, "driverName"),
    )


def priority_class_from(raw: Mapping[str, object], notices: list[str]) -> tuple[str, int]:
    """Return name and value of a PriorityClass."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    value = integer_at(raw, "value", faults)
    _tell(notices, "PriorityClass", metadata, faults)
    return text_at(metadata, "name"), value


def mig_config_map_of(raw: Mapping[str, object]) -> str:
    """Return the ConfigMap that a ClusterPolicy makes MIG manager read."""
    manager = mapping_at(mapping_at(raw, "spec", []), "migManager", [])
    return text_at(mapping_at(manager, "config", []), "name") or DEFAULT_CONFIG_MAP


def manager_nodes_of(pods: Iterable[Pod]) -> frozenset[str]:
    """Return the nodes on which a pod of MIG manager is ready."""
    return frozenset(pod.node for pod in pods if pod.node and pod.ready and is_manager(pod))


def _tell(
    notices: list[str], kind: str, metadata: Mapping[str, object], faults: list[str]
) -> None:
    name = "/".join(filter(None, (text_at(metadata, "namespace"), text_at(metadata, "name"))))
    notices.extend(f"{kind} {name}: {sentence}" for sentence in faults)
