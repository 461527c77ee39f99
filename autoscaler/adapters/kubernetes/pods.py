"""Pods: raw API objects become slim values.

Lists hold thousands of them, so each raw object is walked once and texts that
repeat are kept once.
"""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern

from autoscaler.adapters.kubernetes.containers import containers_from
from autoscaler.adapters.kubernetes.gangs import gang_from
from autoscaler.adapters.kubernetes.reading import (
    integer_at,
    mapping_at,
    owner_of,
    sequence_at,
    text_at,
    texts_at,
    time_at,
)
from autoscaler.adapters.kubernetes.selectors import label_selector_from, terms_from
from autoscaler.domain.cluster.objects import Pod, SelectorTerm, Toleration
from autoscaler.domain.cluster.selector import selects

# Pods carry many annotations of other programs; only these are ever asked for.
KEPT_ANNOTATIONS = (
    "mig-autoscaler.io/",
    "karpenter.sh/",
    "cluster-autoscaler.kubernetes.io/",
    "scheduling.k8s.io/",
    "scheduling.volcano.sh/",
    "gang.scheduling.koordinator.sh/",
    "kueue.x-k8s.io/",
    "pod-group-name",
    "kubernetes.io/config.mirror",
)
DEVICE_PATH = "/dev/nvidia"
# The device plugin's marks for "this container gets this device" as a mount.
DEVICE_MOUNT = "/var/run/nvidia-container-devices"
DEVICE_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
NO_DEVICES = frozenset({"", "none", "void"})
HOST_NAME = "kubernetes.io/hostname"
# What the API server writes where nothing is said.
DEFAULT_GRACE_S = 30.0
LONGEST_GRACE_S = 1 << 40


def pod_from(raw: Mapping[str, object]) -> Pod:
    """Return a pod; what cannot be read of it is named in its faults."""
    faults: list[str] = []
    metadata = mapping_at(raw, "metadata", faults)
    spec = mapping_at(raw, "spec", faults)
    status = mapping_at(raw, "status", faults)
    labels = texts_at(metadata, "labels", faults, "metadata.")
    annotations = _annotations(metadata, faults)
    namespace = intern(text_at(metadata, "namespace") or "default")
    scheduled, ready = _conditions(status, faults)
    affinity, anti_affinity_self = _affinity(spec, namespace, labels, faults)
    return Pod(
        namespace=namespace,
        name=text_at(metadata, "name"),
        uid=text_at(metadata, "uid"),
        node=intern(text_at(spec, "nodeName")) or None,
        phase=intern(text_at(status, "phase") or "Pending"),
        reason=intern(text_at(status, "reason")),
        unschedulable=_is_unschedulable(scheduled),
        unschedulable_message=text_at(scheduled, "message"),
        created_s=time_at(metadata, "creationTimestamp", faults, "metadata.") or 0.0,
        started_s=time_at(status, "startTime", faults, "status."),
        deletion_s=time_at(metadata, "deletionTimestamp", faults, "metadata."),
        priority=integer_at(spec, "priority", faults, "spec."),
        priority_class=intern(text_at(spec, "priorityClassName")),
        scheduler=intern(text_at(spec, "schedulerName") or "default-scheduler"),
        labels=labels,
        annotations=annotations,
        owner=owner_of(metadata, faults),
        containers=containers_from(spec, faults),
        node_selector=texts_at(spec, "nodeSelector", faults, "spec."),
        affinity=affinity,
        anti_affinity_self=anti_affinity_self,
        tolerations=_tolerations(spec, faults),
        gates=_gates(spec, faults),
        nominated_node=intern(text_at(status, "nominatedNodeName")),
        gang=gang_from(labels, annotations, faults),
        claims=bool(sequence_at(spec, "resourceClaims", faults, "spec.")),
        gpu_runtime=_uses_gpu_runtime(spec, faults),
        host_network=spec.get("hostNetwork") is True,
        ready=ready,
        waiting=_waiting(status, faults),
        grace_s=_grace_s(spec, faults),
        restarts=(text_at(spec, "restartPolicy") or "Always") == "Always",
        active_deadline_s=_active_deadline_s(spec, faults),
        faults=tuple(dict.fromkeys(faults)),
    )


def _grace_s(spec: Mapping[str, object], faults: list[str]) -> float:
    if spec.get("terminationGracePeriodSeconds") is None:
        return DEFAULT_GRACE_S
    seconds = integer_at(spec, "terminationGracePeriodSeconds", faults, "spec.")
    return float(min(max(seconds, 0), LONGEST_GRACE_S))


def _active_deadline_s(spec: Mapping[str, object], faults: list[str]) -> float | None:
    if spec.get("activeDeadlineSeconds") is None:
        return None
    return float(max(0, integer_at(spec, "activeDeadlineSeconds", faults, "spec.")))


def _annotations(metadata: Mapping[str, object], faults: list[str]) -> Mapping[str, str]:
    found = mapping_at(metadata, "annotations", faults, "metadata.")
    kept = {key: found[key] for key in found if key.startswith(KEPT_ANNOTATIONS)}
    return texts_at({"annotations": kept}, "annotations", faults, "metadata.") if kept else {}


def _conditions(
    status: Mapping[str, object], faults: list[str]
) -> tuple[Mapping[str, object], bool]:
    """Return the condition ``PodScheduled`` and whether ``Ready`` holds."""
    scheduled: Mapping[str, object] = {}
    ready = False
    for condition in sequence_at(status, "conditions", faults, "status."):
        kind = condition.get("type")
        if kind == "PodScheduled":
            scheduled = condition
        elif kind == "Ready":
            ready = condition.get("status") == "True"
    return scheduled, ready


def _is_unschedulable(scheduled: Mapping[str, object]) -> bool:
    # The condition is false for gated pods too; the reason tells.
    return scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"


def _tolerations(spec: Mapping[str, object], faults: list[str]) -> tuple[Toleration, ...]:
    return tuple(
        _toleration(
            text_at(item, "key"),
            text_at(item, "operator") or "Equal",
            text_at(item, "value"),
            text_at(item, "effect"),
        )
        for item in sequence_at(spec, "tolerations", faults, "spec.")
    )


def _gates(spec: Mapping[str, object], faults: list[str]) -> tuple[str, ...]:
    gates = sequence_at(spec, "schedulingGates", faults, "spec.")
    return tuple(intern(text_at(gate, "name")) for gate in gates)


def _affinity(
    spec: Mapping[str, object], namespace: str, labels: Mapping[str, str], faults: list[str]
) -> tuple[tuple[SelectorTerm, ...], bool]:
    """Return the required node terms, and whether it keeps its own kind off its node."""
    affinity = mapping_at(spec, "affinity", faults, "spec.")
    if not affinity:
        return (), False
    anti = mapping_at(affinity, "podAntiAffinity", faults, "spec.affinity.")
    path = "spec.affinity.podAntiAffinity."
    required = sequence_at(anti, "requiredDuringSchedulingIgnoredDuringExecution", faults, path)
    repels_itself = any(
        text_at(term, "topologyKey") == HOST_NAME
        and _covers_namespace(term, namespace)
        and selects(label_selector_from(term, "labelSelector", faults, path), labels)
        for term in required
    )
    return terms_from(affinity, faults), repels_itself


def _covers_namespace(term: Mapping[str, object], namespace: str) -> bool:
    named = term.get("namespaces") or []
    if term.get("namespaceSelector") is not None:
        # Labels of namespaces are not read. Taking the term as covering its own
        # namespace can only spread pods wider than needed.
        return True
    return not named or (isinstance(named, list) and namespace in named)


@lru_cache(maxsize=4096)
def _toleration(key: str, operator: str, value: str, effect: str) -> Toleration:
    return Toleration(key, operator, value, effect)


def _uses_gpu_runtime(spec: Mapping[str, object], faults: list[str]) -> bool:
    """Say whether it can reach a GPU without asking for one."""
    if text_at(spec, "runtimeClassName").startswith("nvidia"):
        return True
    for volume in sequence_at(spec, "volumes", faults, "spec."):
        if volume.get("hostPath") is not None:
            path = text_at(mapping_at(volume, "hostPath", faults, "spec.volumes."), "path")
            if path.startswith((DEVICE_PATH, DEVICE_MOUNT)):
                return True
    # What is wrong with the containers themselves has been said where they are read.
    containers = sequence_at(spec, "containers", [])
    return any(_asks_for_devices(container, faults) for container in containers)


def _asks_for_devices(container: Mapping[str, object], faults: list[str]) -> bool:
    """Say whether a container names devices by a mount, or to NVIDIA's runtime by name.

    Where that runtime is the default one, the variable is enough.
    """
    mounts = sequence_at(container, "volumeMounts", faults, "spec.containers.")
    if any(
        text_at(mount, "mountPath").startswith((DEVICE_PATH, DEVICE_MOUNT)) for mount in mounts
    ):
        return True
    return any(
        text_at(variable, "name") == DEVICE_VARIABLE
        and text_at(variable, "value") not in NO_DEVICES
        for variable in sequence_at(container, "env", [])
    )


def _waiting(status: Mapping[str, object], faults: list[str]) -> tuple[str, ...]:
    reasons = set()
    for key in ("initContainerStatuses", "containerStatuses"):
        for container in sequence_at(status, key, faults, "status."):
            state = mapping_at(container, "state", faults, f"status.{key}.")
            waiting = state.get("waiting")
            if isinstance(waiting, dict) and text_at(waiting, "reason"):
                reasons.add(intern(text_at(waiting, "reason")))
    return tuple(sorted(reasons))
