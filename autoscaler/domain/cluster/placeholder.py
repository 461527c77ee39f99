"""Placeholders: pods of ours that take a whole GPU from others as soon as it is free.

A scheduler gives what becomes free to the next pod that asks for it, before any plan can
look. A pod of a higher priority that preempts nobody and waits for one node is the next:
so a GPU that shall be cut anew once its pod has ended is not lost to another pod, and
nothing else on the node is closed meanwhile.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.cluster.marks import PLACEHOLDER
from autoscaler.domain.cluster.objects import Pod, PodRef, Taint
from autoscaler.domain.cluster.selector import NAME_FIELD
from autoscaler.domain.counts import Counts, sum_of

PRIORITY_CLASS = "mig-autoscaler-placeholder"

NAME_PREFIX = "mig-placeholder-"


@dataclass(frozen=True, slots=True, order=True)
class Placeholder:
    """A placeholder pod.

    Parameters
    ----------
    node
        Name of the one node it may be bound to; empty where it names none.
    pod
        The pod.
    holds
        What it asks for, by resource name.
    is_bound
        Whether it keeps what it asks for; else it waits for it.
    is_going
        Whether it is deleted already.
    is_over
        Whether it has ended and keeps nothing any more.
    """

    node: str
    pod: PodRef
    holds: Counts = Counts()
    is_bound: bool = False
    is_going: bool = False
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class PlaceholderOrder:
    """A placeholder pod to be made.

    Parameters
    ----------
    name
        Name of the pod.
    node
        The one node that it may be bound to.
    resource
        What it asks for one of.
    image
        What it runs, which does nothing.
    deadline_s
        Seconds after which kubelet ends it once it is bound, should nobody remove it.
    taints
        Of the node; it tolerates those that keep ordinary pods away.
    """

    name: str
    node: str
    resource: str
    image: str
    deadline_s: int
    taints: tuple[Taint, ...] = ()


def is_placeholder(pod: Pod, namespace: str = "") -> bool:
    """Say whether a pod is a placeholder of ours.

    Parameters
    ----------
    namespace
        Where ours are; empty where that is not known. The mark alone is anyone's to set.
    """
    return PLACEHOLDER in pod.labels and namespace in {"", pod.namespace}


def without_placeholders(
    pods: Iterable[Pod], namespace: str = ""
) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Return the placeholders among pods by name, and the other pods in their order."""
    ours: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        (ours if is_placeholder(pod, namespace) else others).append(pod)
    return tuple(sorted(ours, key=lambda pod: pod.ref)), tuple(others)


def placeholder_of(pod: Pod) -> Placeholder:
    """Return what a placeholder keeps, and where."""
    wanted = (
        value
        for term in pod.affinity
        for field in term.fields
        if field.key == NAME_FIELD
        for value in field.values
    )
    return Placeholder(
        node=pod.node or next(wanted, ""),
        pod=pod.ref,
        holds=sum_of(container.requests for container in pod.containers),
        is_bound=pod.node is not None,
        is_going=pod.deletion_s is not None,
        is_over=pod.is_finished,
    )


def placeholder_name(node_uid: str, resource: str, number: int) -> str:
    """Return the name of the placeholder with a number; the same for the same purpose."""
    digest = hashlib.sha256(f"{node_uid} {resource}".encode()).hexdigest()[:10]
    return f"{NAME_PREFIX}{digest}-{number}"
