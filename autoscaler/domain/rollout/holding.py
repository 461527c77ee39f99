"""Proof of holders: that it is known, after the cordon, which GPU each pod sits on.

MIG manager takes a GPU's instances away from under a pod, so part of a node may change
only when fresh samples map every device holder, and show just the instances that the
node advertises. Anything less and the whole node must be empty first.
"""

from collections.abc import Iterable

from autoscaler.domain.cluster.inventory import inventory_of
from autoscaler.domain.cluster.objects import InstanceSample, MetricsView, Pod, PodRef
from autoscaler.domain.fleet.seating import Table, seats_of, table_of
from autoscaler.domain.fleet.sightings import Seat, is_of_this_life
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.fleet.visibility import SHOWN_AFTER_S, instance_gap, metrics_gap
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.rollout.steps import HolderProof


def proof_from_s(cordoned_at_s: float) -> float:
    """Return the time from which samples may serve as proof.

    Parameters
    ----------
    cordoned_at_s
        Epoch seconds. After it the exporter must have collected once and been scraped
        twice: two scrapes can show one collection.
    """
    return cordoned_at_s + SHOWN_AFTER_S


def holders_proof(
    node: FleetNode, pods: Iterable[Pod], *, view: MetricsView | None, since_s: float
) -> HolderProof:
    """Return the GPU of every device holder of a node, or why it is not proven.

    Parameters
    ----------
    node
        As assessed from a read after the cordon.
    pods
        Pods bound to it that use its GPUs, from a read after the cordon.
    view
        What Prometheus said; ``None`` when it said nothing.
    since_s
        Epoch seconds; older samples prove nothing (see ``proof_from_s``).

    Returns
    -------
    HolderProof
        Pods that hold whole GPUs are mapped to the first GPU with MIG off: they cannot
        sit on one that is cut.
    """
    lacking = metrics_gap(view)
    if view is None or lacking:
        return HolderProof(gap=lacking)
    table = table_of(node)
    if table is None:
        return HolderProof(gap="the geometry of the node is not known")
    samples = [
        s
        for s in view.instances
        if s.node == node.name and s.sampled_at_s is not None and s.sampled_at_s >= since_s
    ]
    indexes = _indexes(node)
    gap = instance_gap(table, samples, indexes)
    return HolderProof(gap=gap) if gap else _map(table, pods, samples, indexes)


def _indexes(node: FleetNode) -> dict[str, int]:
    inventory = inventory_of(node.node)
    return {} if inventory is None else {g.uuid: g.index for g in inventory.gpus if g.uuid}


def _map(
    table: Table,
    pods: Iterable[Pod],
    samples: list[InstanceSample],
    indexes: dict[str, int],
) -> HolderProof:
    holders = {pod.ref: pod for pod in pods}
    seats: dict[PodRef, list[Seat]] = {}
    for sample in samples:
        index = indexes.get(sample.gpu_uuid, sample.gpu_index)
        owner = holders.get(sample.pod) if sample.pod is not None else None
        if owner is not None and index is not None:
            if is_of_this_life(owner, sample.sampled_at_s):
                seats.setdefault(owner.ref, []).append(Seat(owner.ref, index, sample.profile))
        elif sample.busy:
            return HolderProof(gap=f"GPU {index} is in use and no pod is known there")
    found: dict[PodRef, int] = {}
    for ref, pod in sorted(holders.items()):
        at = _gpu_of(table, pod, seats.get(ref, []))
        if isinstance(at, str):
            return HolderProof(gap=at)
        found[ref] = at
    return HolderProof(gpus=found)


def _gpu_of(table: Table, pod: Pod, seats: list[Seat]) -> int | str:
    """Return the one GPU of a pod, or why there is not just one."""
    needed = table.needs(pod)
    if needed is None:
        return f"pod {pod.ref} uses GPUs without saying how many"
    whole = [gpu.index for gpu in table.gpus if not gpu.mig_enabled]
    if set(needed) == {GPU} and whole:
        return whole[0]
    found = seats_of(table, pod, seats)
    if found is None:
        return f"pod {pod.ref} holds {needed}, fresh samples show {len(seats)} of it"
    indexes = sorted({index for index, _ in found})
    if len(indexes) > 1:
        return f"pod {pod.ref} sits on GPUs {', '.join(map(str, indexes))}"
    return indexes[0]
