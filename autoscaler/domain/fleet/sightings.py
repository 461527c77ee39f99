"""Sightings: where inventory and metrics show pods and activity on a node.

Labels of metrics are older than the API read and know names only, so each is checked
against the pods that are there now before it says anything.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.cluster.objects import InstanceSample, Pod, PodRef

SHOWN_HOSTS = 3


@dataclass(frozen=True, slots=True, order=True)
class Seat:
    """One instance that a pod was seen on: the GPU's index, and its profile."""

    pod: PodRef
    index: int
    profile: str


@dataclass(frozen=True, slots=True)
class Sightings:
    """What inventory and metrics show of a node.

    Parameters
    ----------
    seats
        Pods on instances.
    labelled
        Pods that metrics name, so that their activity is known as theirs.
    active
        Index of the GPU and profile of instances in use without a known owner; the
        index is ``None`` where the board is not known.
    """

    seats: tuple[Seat, ...] = ()
    labelled: frozenset[PodRef] = frozenset()
    active: tuple[tuple[int | None, str], ...] = ()


def sightings_of(
    pods: Mapping[PodRef, Pod],
    samples: Iterable[InstanceSample],
    *,
    index_of: Mapping[str, int],
    read_at_s: float,
) -> Sightings:
    """Return what metrics show of a node's pods and instances.

    Parameters
    ----------
    pods
        Pods that use the node's GPUs, by name.
    samples
        Of this node.
    index_of
        Index of each board by UUID, where an inventory tells; else the exporter's own
        number of the board counts.
    read_at_s
        Epoch seconds of the API read. A label newer than that may name a pod the read
        does not show yet; an older one that does is of a pod that has ended.
    """
    seats, active = [], []
    labelled = set()
    for sample in sorted(samples, key=lambda s: (s.gpu_uuid, s.instance_id, s.profile)):
        index = index_of.get(sample.gpu_uuid, sample.gpu_index)
        owner = pods.get(sample.pod) if sample.pod is not None else None
        at_s = sample.sampled_at_s
        if owner is not None and index is not None and is_of_this_life(owner, at_s):
            seats.append(Seat(owner.ref, index, sample.profile))
            labelled.add(owner.ref)
            continue
        is_new = sample.pod is not None and at_s is not None and at_s > read_at_s
        if sample.busy or (is_new and owner is None):
            active.append((index, sample.profile))
    return Sightings(tuple(seats), frozenset(labelled), tuple(active))


def unknown_hosts(samples: Iterable[InstanceSample], nodes: Iterable[str]) -> str:
    """Return a sentence on samples that are of no node, empty when there are none.

    Exporters and scrapes name hosts in many ways; what does not match tells nothing, and
    without a word a person would look for the fault elsewhere.
    """
    known = frozenset(nodes)
    strange = [sample.node for sample in samples if sample.node not in known]
    if not strange:
        return ""
    names = sorted(set(strange))
    shown = ", ".join(name or "none" for name in names[:SHOWN_HOSTS])
    more = f" and {len(names) - SHOWN_HOSTS} more" if len(names) > SHOWN_HOSTS else ""
    return (
        f"metrics show {len(strange)} instances on hosts that are no nodes"
        f" ({shown}{more}): nothing is known from them"
    )


def is_of_this_life(pod: Pod, sampled_at_s: float | None) -> bool:
    """Say whether a sample was taken while this very pod was there.

    A StatefulSet makes pods anew under the same name, maybe on another GPU.
    """
    began_s = pod.created_s if pod.started_s is None else pod.started_s
    return sampled_at_s is not None and sampled_at_s >= began_s
