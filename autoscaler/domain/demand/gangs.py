"""Gangs: pods that start whole or not at all.

A gang counts with as many pods as it still needs. One that cannot become complete,
because members are held back or do not exist yet, is no demand: room for three of four
helps nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Observation, Pod, PodRef
from autoscaler.domain.reasons import PodNote, Reason


@dataclass(frozen=True, slots=True)
class Gangs:
    """The gangs of one moment.

    Parameters
    ----------
    needed
        Pods that must be served together, by gang (``namespace/name``).
    incomplete
        Pods of gangs that cannot start, with the reason.
    """

    needed: Mapping[str, int] = field(default_factory=dict)
    incomplete: tuple[PodNote, ...] = ()


def gang_of(pod: Pod) -> str:
    """Return the gang of a pod as ``namespace/name``, empty without one."""
    return "" if pod.gang is None else f"{pod.namespace}/{pod.gang.name}"


def complete_gangs(observation: Observation, waiting: Iterable[Pod]) -> Gangs:
    """Return how many pods each gang still needs.

    Parameters
    ----------
    waiting
        Pods that count as demand so far.

    Returns
    -------
    Gangs
        Gangs whose running pods are enough already need nothing: their other pods count
        one by one. Where nobody says how many are needed, all that wait are.
    """
    members: dict[str, list[PodRef]] = {}
    for pod in waiting:
        if pod.gang is not None:
            members.setdefault(gang_of(pod), []).append(pod.ref)
    if not members:
        return Gangs()
    there: dict[str, int] = {}
    least = {f"{g.namespace}/{g.name}": g.min_member for g in observation.pod_groups}
    said: dict[str, int] = {}
    for pod in observation.pods:
        name = gang_of(pod)
        if name not in members or pod.gang is None:
            continue
        said[name] = max(said.get(name, 0), pod.gang.min_member)
        if needs_no_gpu_now(pod):
            there[name] = there.get(name, 0) + 1
    needed: dict[str, int] = {}
    incomplete: list[PodNote] = []
    for name, pods in sorted(members.items()):
        total = least.get(name) or said[name] or there.get(name, 0) + len(pods)
        lacking = total - there.get(name, 0)
        if lacking > len(pods):
            text = (
                f"gang {name} needs {total} pods: {total - lacking} run or need no GPU and"
                f" only {len(pods)} of the {lacking} others count as demand"
            )
            incomplete += [PodNote(pod, Reason.GANG_INCOMPLETE, text) for pod in pods]
        elif lacking > 0:
            needed[name] = lacking
    return Gangs(needed, tuple(incomplete))


def needs_no_gpu_now(pod: Pod) -> bool:
    """Say whether a member runs, or waits for no GPU, as launchers do.

    What else it waits for is not ours to judge; that it is held back is.
    """
    if pod.is_finished or pod.deletion_s is not None:
        return False
    is_free = not (pod.gates or pod.claims or pod.faults)
    return pod.node is not None or (is_free and not effective_request(pod))
