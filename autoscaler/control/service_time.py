"""How long pods hold devices, learned from seeing them start and end.

The start comes from the API, so a restart of ours costs no measurement but those of
pods that end while nobody looks. A pod that was told to go before it had finished
says nothing about how long its work takes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import parse_resource


@dataclass(frozen=True, slots=True)
class Stay:
    """A pod that holds devices.

    Parameters
    ----------
    pool, profiles
        Where it runs and what it holds.
    started_s
        Epoch seconds.
    was_told_to_go
        Whether it was terminating when last seen.
    """

    pool: str
    profiles: tuple[str, ...]
    started_s: float
    was_told_to_go: bool


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """Seconds from a pod's start to its end."""

    pool: str
    profile: str
    seconds: float


def stays_of(nodes: Iterable[FleetNode]) -> dict[str, Stay]:
    """Return the device holders that have started, by uid."""
    return {
        pod.uid: Stay(
            node.pool, profiles_of(pod, node), pod.started_s, pod.deletion_s is not None
        )
        for node in nodes
        for pod in node.holders
        if pod.uid and pod.started_s is not None
    }


def profiles_of(pod: Pod, node: FleetNode) -> tuple[str, ...]:
    """Return the profiles a pod holds; a whole GPU is named after its profile."""
    if node.model is None:
        return ()
    whole = node.model.whole_gpu.name
    names = {parse_resource(node.model, r) or whole for r in effective_request(pod)}
    return tuple(sorted(names))


def ended(
    before: Mapping[str, Stay], now: Mapping[str, Stay], now_s: float
) -> tuple[ServiceTime, ...]:
    """Return the service times of pods that ended between two observations."""
    return tuple(
        ServiceTime(stay.pool, profile, max(0.0, now_s - stay.started_s))
        for uid, stay in sorted(before.items())
        if uid not in now and not stay.was_told_to_go
        for profile in stay.profiles
    )
