"""Nodes as the scheduler sees them: what they have and what is taken."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from autoscaler.ports import RawObject
from autoscaler.simulation.controllers.pods import (
    Needs,
    condition,
    is_extended,
    labels_of,
    name_of,
    parse_amount,
)
from autoscaler.simulation.scheduling.shape import Shape


@dataclass(frozen=True, slots=True)
class Allocatable:
    """What a node may give to pods."""

    cpu_milli: int
    memory_bytes: int
    pods: int
    devices: dict[str, int]


@dataclass(slots=True)
class Room:
    """One node with the pods on it.

    Parameters
    ----------
    pods
        Bound pods by uid.
    nominated
        Pods by uid for which preemption has made room here.
    cpu_milli, memory_bytes, devices
        What the bound pods need; devices by resource name.
    priorities
        How many pods of each priority there are.
    num_repelling
        How many pods have anti-affinity of their own.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[RawObject, ...]
    unschedulable: bool
    allocatable: Allocatable
    pods: dict[str, Shape] = field(default_factory=dict)
    nominated: dict[str, Shape] = field(default_factory=dict)
    cpu_milli: int = 0
    memory_bytes: int = 0
    devices: dict[str, int] = field(default_factory=dict)
    priorities: dict[int, int] = field(default_factory=dict)
    num_repelling: int = 0

    def add(self, uid: str, shape: Shape) -> None:
        """Put a pod on the node; nothing happens when it is there."""
        if uid not in self.pods:
            self.pods[uid] = shape
            self._take(shape, 1)

    def remove(self, uid: str) -> Shape | None:
        """Take a pod off the node; return it if it was there."""
        shape = self.pods.pop(uid, None)
        if shape is not None:
            self._take(shape, -1)
        return shape

    def update(self, node: RawObject) -> bool:
        """Take over what the API server says of the node; say whether it matters here."""
        fresh = room_of(node)
        if (self.labels, self.taints, self.unschedulable, self.allocatable) == (
            fresh.labels,
            fresh.taints,
            fresh.unschedulable,
            fresh.allocatable,
        ):
            return False
        self.labels, self.taints = fresh.labels, fresh.taints
        self.unschedulable, self.allocatable = fresh.unschedulable, fresh.allocatable
        return True

    def without(self, uids: Iterable[str]) -> "Room":
        """Return the node as it would be without some of its pods."""
        gone = set(uids)
        copy = Room(self.name, self.labels, self.taints, self.unschedulable, self.allocatable)
        copy.nominated = self.nominated
        for uid, shape in self.pods.items():
            if uid not in gone:
                copy.add(uid, shape)
        return copy

    def reserved(self, priority: int, uid: str) -> list[Needs]:
        """Return what is kept for nominated pods that this one may not overtake."""
        return [
            shape.needs
            for other, shape in self.nominated.items()
            if other != uid and other not in self.pods and shape.priority >= priority
        ]

    def has_lower(self, priority: int) -> bool:
        """Say whether a pod of lower priority is here."""
        return any(other < priority for other in self.priorities)

    def _take(self, shape: Shape, sign: int) -> None:
        needs = shape.needs
        self.cpu_milli += sign * needs.cpu_milli
        self.memory_bytes += sign * needs.memory_bytes
        self.num_repelling += sign * bool(shape.anti_affinity)
        for resource, number in needs.devices:
            self.devices[resource] = self.devices.get(resource, 0) + sign * number
        number = self.priorities.get(shape.priority, 0) + sign
        if number:
            self.priorities[shape.priority] = number
        else:
            del self.priorities[shape.priority]


def room_of(node: RawObject) -> Room:
    """Return a node without pods, as the API server describes it."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    ready = condition(node, "Ready")
    taints = [*(node["spec"].get("taints") or [])]
    if ready is not None and ready.get("status") != "True":
        # What the node controller would add; nothing new goes to such a node.
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    return Room(
        name=name_of(node),
        labels=labels_of(node),
        taints=tuple(taints),
        unschedulable=bool(node["spec"].get("unschedulable")),
        allocatable=Allocatable(
            cpu_milli=int(parse_amount(str(allocatable.get("cpu", "0"))) * 1000),
            memory_bytes=int(parse_amount(str(allocatable.get("memory", "0")))),
            pods=int(parse_amount(str(allocatable.get("pods", "110")))),
            devices={
                name: int(parse_amount(str(text)))
                for name, text in allocatable.items()
                if is_extended(name)
            },
        ),
    )
