"""Gangs: pods that start whole or not at all, as each batch system marks them.

Volcano, KAI and the scheduler plugins keep the number of members in a PodGroup
object; Koordinator, Kueue and the older coscheduling plugin in the pods themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.adapters.kubernetes.quantities import whole_number
from autoscaler.adapters.kubernetes.reading import amount_of
from autoscaler.domain.cluster.objects import Gang, Pod, PodGroup


@dataclass(frozen=True, slots=True)
class Mark:
    """A label or annotation that names a pod's group, and one that says how many."""

    name: str
    number: str = ""


MARKS = (
    Mark("scheduling.k8s.io/group-name"),
    Mark("scheduling.volcano.sh/group-name"),
    Mark("pod-group-name"),
    Mark("scheduling.x-k8s.io/pod-group"),
    Mark(
        "pod-group.scheduling.sigs.k8s.io/name",
        "pod-group.scheduling.sigs.k8s.io/min-available",
    ),
    Mark("pod-group.scheduling.sigs.k8s.io"),
    Mark(
        "gang.scheduling.koordinator.sh/name",
        "gang.scheduling.koordinator.sh/min-available",
    ),
    Mark("kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"),
)


def gang_from(
    labels: Mapping[str, str], annotations: Mapping[str, str], faults: list[str]
) -> Gang | None:
    """Return the gang that a pod's marks name; 0 members where only a PodGroup says."""
    for mark in MARKS:
        name = annotations.get(mark.name) or labels.get(mark.name)
        if name:
            number = annotations.get(mark.number) or labels.get(mark.number) or "0"
            return Gang(name, amount_of(number, whole_number, faults, mark.number) or 0)
    return None


def with_members(pods: Iterable[Pod], groups: Iterable[PodGroup]) -> tuple[Pod, ...]:
    """Return the pods with the numbers of their PodGroups; no group leaves 0, unknown."""
    members = {(group.namespace, group.name): group.min_member for group in groups}
    return tuple(_with_number(pod, members) for pod in pods)


def _with_number(pod: Pod, members: Mapping[tuple[str, str], int]) -> Pod:
    if pod.gang is None:
        return pod
    number = members.get((pod.namespace, pod.gang.name))
    return pod if number is None else replace(pod, gang=Gang(pod.gang.name, number))
