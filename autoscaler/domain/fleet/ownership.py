"""Ownership: whether the GPUs of a node are ours to change at all.

The only safe number of owners is one. Others leave marks: providers that cut GPUs when
a node is made, schedulers that cut them for each pod, drivers that publish them as
claims, and people who share one instance among several pods.
"""

from collections.abc import Iterable, Iterator, Mapping

from autoscaler.domain.cluster.marks import DEPLOY_PREFIX, MIG_CONFIG
from autoscaler.domain.cluster.objects import Node, Pod
from autoscaler.domain.fleet.advertised import manager_state, paused_labels
from autoscaler.domain.fleet.memory import PRODUCT
from autoscaler.domain.mig.resource import is_shared
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Driver, Pool
from autoscaler.domain.reasons import Hold, Reason

CLAIM_DRIVER = "gpu.nvidia.com"
# The group of the objects that InstaSlice keeps for each of its nodes.
INSTASLICE = "inference.redhat.com"
MANAGER_LABEL = f"{DEPLOY_PREFIX}mig-manager"
SHARING_LABEL = "nvidia.com/gpu.sharing-strategy"
REPLICAS_SUFFIX = ".replicas"
MIG_LABELS = "nvidia.com/mig-"

# Beginnings of label, annotation and resource names, and whose marks they are.
PARTITIONER_MARKS = {
    "hami.io/": "HAMi",
    "instaslice.redhat.com/": "InstaSlice",
    "org.instaslice/": "InstaSlice",
    "mig.das.com/": "Dynamic Accelerator Slicer",
    "node-role.kubernetes.io/runai-dynamic-mig": "Run:ai",
    "nos.nebuly.com/": "nos",
    "volcano.sh/node-vgpu": "Volcano vGPU",
}
# Beginnings of the names of pods that partition the GPUs of their node.
PARTITIONER_PODS = {
    "das-daemonset": "Dynamic Accelerator Slicer",
    "hami-device-plugin": "HAMi",
    "instaslice-operator-controller-daemonset": "InstaSlice",
    "volcano-vgpu-device-plugin": "Volcano vGPU",
}
GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
AKS_ACCELERATOR = "kubernetes.azure.com/accelerator"


def owner_holds(node: Node, *, drivers: frozenset[str], pods: Iterable[Pod]) -> Iterator[Hold]:
    """Yield holds of a node that someone else cuts, or that shares its devices.

    Parameters
    ----------
    drivers
        Names of the drivers that publish ResourceSlices of this node.
    pods
        Pods that run on it.
    """
    provider = _provider(node)
    if provider:
        text = f"managed by provider: {provider} cuts its GPUs when it is made"
        yield _hold(Reason.MANAGED_BY_PROVIDER, text, node)
    for owner in _partitioners(node, drivers, pods):
        text = f"two owners: {owner} makes and destroys instances there by itself"
        yield _hold(Reason.TWO_OWNERS, text, node)
    shared = _sharing_signs(node)
    if shared:
        text = f"its devices are shared among pods ({shared}): replicas are no instances"
        yield _hold(Reason.SHARED, text, node)


def scope_holds(node: Node, pool: Pool, strategy: Strategy) -> Iterator[Hold]:
    """Yield holds of nodes that can only be watched.

    Parameters
    ----------
    strategy
        What the node's own label says, else the policy.
    """
    if strategy is not pool.strategy:
        text = f"it runs MIG strategy {strategy}, pool {pool.name} is for {pool.strategy}"
        yield _hold(Reason.OBSERVE_ONLY, text, node)
    elif strategy is Strategy.NONE:
        text = f"MIG strategy {strategy} offers whole GPUs only, so there is nothing to cut"
        yield _hold(Reason.OBSERVE_ONLY, text, node)


def manager_holds(
    node: Node, pool: Pool, *, managed: frozenset[str] | None, confirms: bool
) -> Iterator[Hold]:
    """Yield the hold of a node where nobody would obey a label, or where two would act.

    Parameters
    ----------
    managed
        Nodes with a Ready MIG manager pod; ``None`` when not known.
    confirms
        Whether the node advertises what its label promises: somebody obeyed it.
    """
    if pool.driver is not Driver.MIG_MANAGER:
        yield from _rivals(node, pool, managed)
        return
    deployed = node.labels.get(MANAGER_LABEL)
    config = node.labels.get(MIG_CONFIG)
    if managed is not None and node.name not in managed:
        text = "no MIG manager is ready there: a label would change nothing"
    elif deployed == "false":
        text = f"{MANAGER_LABEL}=false keeps MIG manager away"
    elif config and not (deployed or manager_state(node) or paused_labels(node) or confirms):
        text = f"no MIG manager answers: its label asks for {config} and it has no state"
    else:
        return
    yield _hold(Reason.NO_MIG_MANAGER, text, node)


def agent_holds(node: Node, pool: Pool, *, has_report: bool) -> Iterator[Hold]:
    """Yield the hold of a node whose agent has not shown its GPUs.

    Parameters
    ----------
    has_report
        Whether there is an inventory on the node, readable or not.
    """
    if pool.driver is Driver.AGENT and not has_report:
        text = "no node agent has reported its GPUs, so nobody would change them"
        yield _hold(Reason.NO_AGENT, text, node)


def _rivals(node: Node, pool: Pool, managed: frozenset[str] | None) -> Iterator[Hold]:
    """Yield the hold of a node of the agent where MIG manager would undo its work."""
    if managed is not None and node.name in managed:
        text = (
            f"two owners: pool {pool.name} uses the node agent and MIG manager is ready"
            f" there too; {MANAGER_LABEL}=false keeps it away"
        )
        yield _hold(Reason.TWO_OWNERS, text, node)


def _provider(node: Node) -> str:
    if GKE_PARTITION in node.labels:
        return f"GKE ({GKE_PARTITION}={node.labels[GKE_PARTITION]})"
    # Its own GPU nodes look alike, cut or not; NVIDIA's operator would have left a
    # configuration label.
    by_operator = MIG_CONFIG in node.labels or MANAGER_LABEL in node.labels
    return "AKS" if AKS_ACCELERATOR in node.labels and not by_operator else ""


def _partitioners(node: Node, drivers: frozenset[str], pods: Iterable[Pod]) -> list[str]:
    marks = (*node.labels, *node.annotations, *node.allocatable, *node.capacity)
    names = (pod.name for pod in pods)
    found = {*_owners(marks, PARTITIONER_MARKS), *_owners(names, PARTITIONER_PODS)}
    if CLAIM_DRIVER in drivers:
        found.add(f"the claim driver {CLAIM_DRIVER}")
    if INSTASLICE in drivers:
        found.add("InstaSlice")
    return sorted(found)


def _owners(marks: Iterable[str], known: Mapping[str, str]) -> set[str]:
    beginnings = tuple(known)
    return {
        known[beginning]
        for mark in marks
        if mark.startswith(beginnings)
        for beginning in beginnings
        if mark.startswith(beginning)
    }


def _sharing_signs(node: Node) -> str:
    names = sorted(name for name in (*node.allocatable, *node.capacity) if is_shared(name))
    if names:
        return f"{names[0]}: {node.allocatable[names[0]]}"
    if node.labels.get(PRODUCT, "").endswith("-SHARED"):
        return node.labels[PRODUCT]
    if node.labels.get(SHARING_LABEL, "none") not in {"", "none"}:
        return f"{SHARING_LABEL}={node.labels[SHARING_LABEL]}"
    # The count of full GPUs is also called replicas; those of instances are shares.
    shares = [
        f"{label}={value}"
        for label, value in sorted(node.labels.items())
        if label.startswith(MIG_LABELS) and label.endswith(REPLICAS_SUFFIX)
        if value not in {"", "0", "1"}
    ]
    return shares[0] if shares else ""


def _hold(reason: Reason, text: str, node: Node) -> Hold:
    return Hold(reason, f"node {node.name}: {text}", node.name)
