"""Fingerprints: short hashes that tell whether anything that matters has changed.

Times, messages and amounts of utilisation are left out: the same decision inputs give
the same hash, whenever they are read.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from autoscaler.domain.cluster.marks import MIG_CONFIG
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.resource import is_gpu_resource
from autoscaler.domain.reasons import PodNote

HASH_DIGITS = 16


def observed_hash(node: FleetNode, gpu_indexes: Iterable[int]) -> str:
    """Return a hash of what a change of some GPUs of a node rests on.

    Parameters
    ----------
    gpu_indexes
        GPUs that would change, in any order.

    Returns
    -------
    str
        Over the node's GPU resources, its configuration label, and the instances and
        holders of these GPUs.
    """
    wanted = set(gpu_indexes)
    content = {
        "allocatable": _gpu_amounts(node.node.allocatable),
        "config": node.node.labels.get(MIG_CONFIG),
        "gpus": [_gpu(gpu) for gpu in node.gpus if gpu.index in wanted],
    }
    return _hash(content)


def digest(snapshot: Snapshot, demand: Demand, *others: str) -> str:
    """Return a hash of all that a plan rests on.

    Parameters
    ----------
    others
        Further inputs of the decision, such as the hash of the policy.
    """
    content = {
        "nodes": [_node(node) for node in snapshot.nodes],
        "outsiders": [_node(node) for node in snapshot.outsiders],
        "holds": sorted((hold.node or "", hold.reason.value) for hold in snapshot.holds),
        "pools": dict(snapshot.pools_total),
        "groups": [_group(group) for group in demand.groups],
        "running": {pool: dict(counts) for pool, counts in sorted(demand.running.items())},
        "queued": dict(demand.queued),
        "ignored": _notes(demand.ignored),
        "impossible": _notes(demand.impossible),
        "fits": _notes(demand.fits_today),
        "announced": [[a.source, a.resource, a.number] for a in demand.announced],
        "leaving": [
            [str(h.pod), h.may_be_evicted, h.ends, h.gone_in_s is not None, *h.budgets]
            for h in demand.holders
        ],
        "room": dict(demand.room),
        "others": others,
    }
    return _hash(content)


def _node(node: FleetNode) -> dict[str, object]:
    journal = node.journal
    return {
        "name": node.name,
        "uid": node.node.uid,
        "pool": node.pool,
        "model": None if node.model is None else node.model.key,
        "driver": [node.driver.value, node.strategy.value],
        "allocatable": _gpu_amounts(node.node.allocatable),
        "config": node.node.labels.get(MIG_CONFIG),
        "closed": node.node.unschedulable,
        "gpus": [_gpu(gpu) for gpu in node.gpus],
        "supply": dict(node.supply),
        "allocated": dict(node.allocated),
        "holders": [[str(pod.ref), pod.uid] for pod in node.holders],
        "holds": sorted(hold.reason.value for hold in node.holds),
        "placeholders": [[str(p.pod), p.is_bound, p.is_going] for p in node.placeholders],
        "reserved": node.reserved,
        "unseen": bool(node.unseen),
        "journal": None if journal is None else [journal.id, journal.state.value],
        "coming": None if node.target_supply is None else dict(node.target_supply),
    }


def _gpu(gpu: Gpu) -> list[object]:
    return [
        gpu.index,
        gpu.mig_enabled,
        dict(gpu.counts),
        "" if gpu.geometry is None else str(gpu.geometry),
        dict(gpu.held),
        [[str(pod), pod.uid] for pod in gpu.holders],
        gpu.proven,
    ]


def _group(group: DemandGroup) -> list[object]:
    return [
        dict(group.bundle),
        sorted(group.eligible),
        group.weight,
        [[str(pod), pod.uid] for pod in group.pods],
        group.gang,
        group.gang_min,
        group.one_per_node,
        group.unit,
    ]


def _notes(notes: Iterable[PodNote]) -> list[tuple[str, str]]:
    return sorted((str(note.pod), note.reason.value) for note in notes)


def _gpu_amounts(amounts: Counts) -> Mapping[str, int]:
    return {name: number for name, number in amounts.items() if is_gpu_resource(name)}


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
