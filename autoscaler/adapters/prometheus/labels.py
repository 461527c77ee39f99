"""What the labels of a DCGM series say: which instance, on which node, for which pod.

Label names are in lower case here, whatever the pipeline made of them.
"""

from collections.abc import Iterable, Mapping

from autoscaler.domain.cluster.objects import PodRef

# The first that is there: what service discovery says of the target, then what the
# exporter says of itself, then the target's address.
NODE_LABELS = ("node", "kubernetes_node", "hostname")
EXPORTER = "dcgm-exporter"

Labels = Mapping[str, str]
InstanceKey = tuple[str, str]


def instance_key(labels: Labels) -> InstanceKey | None:
    """Return the board's UUID and the instance's id; ``None`` for a whole GPU."""
    uuid, instance = labels.get("uuid", ""), labels.get("gpu_i_id", "")
    return (uuid, instance) if uuid and instance else None


def node_of(labels: Labels) -> str:
    """Return the node's name, empty when no label says it."""
    for name in NODE_LABELS:
        if labels.get(name):
            return labels[name]
    host, _, port = labels.get("instance", "").rpartition(":")
    return host if port.isdecimal() else labels.get("instance", "")


def gpu_index_of(labels: Labels) -> int | None:
    """Return DCGM's number of the board."""
    value = labels.get("gpu", "")
    return int(value) if value.isdecimal() else None


def exporters_in(all_labels: Iterable[Labels]) -> frozenset[tuple[str, str]]:
    """Return the pods that are exporters: namespace and name.

    Where any series has ``exported_pod``, the scrape's own labels won, and ``pod`` is
    the exporter on every series of that target.
    """
    return frozenset(
        (labels.get("namespace", ""), labels["pod"])
        for labels in all_labels
        if labels.get("pod") and ("exported_pod" in labels or EXPORTER in labels["pod"])
    )


def pod_of(labels: Labels, exporters: frozenset[tuple[str, str]]) -> PodRef | None:
    """Return the workload pod, ``None`` when the labels name none."""
    if "exported_pod" in labels:
        namespace = labels.get("exported_namespace", "")
        name, uid = labels["exported_pod"], labels.get("exported_pod_uid", "")
    else:
        namespace, name = labels.get("namespace", ""), labels.get("pod", "")
        uid = labels.get("pod_uid", "")
        if (namespace, name) in exporters:
            return None
    return PodRef(namespace, name, uid or labels.get("pod_uid", "")) if name else None
