"""Kubelet's device manager: which devices a node offers and which pod holds which.

It knows what device plugins registered, not what the hardware has: that is why a node
can offer what is gone, and pods can hold devices that no longer exist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.simulation.timing import draw_fraction


class DevicesUnavailable(Exception):
    """A pod asks for devices that the node does not have; kubelet's words."""


@dataclass(slots=True)
class Endpoint:
    """One resource of one device plugin."""

    devices: tuple[str, ...] = ()
    unhealthy: set[str] = field(default_factory=set)
    stopped_at_s: float | None = None
    is_forgotten: bool = False

    @property
    def usable(self) -> tuple[str, ...]:
        """Devices that may be given out."""
        if self.stopped_at_s is not None:
            return ()
        return tuple(d for d in self.devices if d not in self.unhealthy)


class DeviceManager:
    """The device manager of one node.

    Parameters
    ----------
    seed
        Kubelet takes any free device; which one is drawn from this.
    grace_s
        How long the capacity of a plugin that stopped is kept.
    """

    def __init__(self, seed: int, grace_s: float) -> None:
        self._seed = seed
        self._grace_s = grace_s
        self._endpoints: dict[str, Endpoint] = {}
        self._held: dict[str, dict[str, tuple[str, ...]]] = {}
        self._holder: dict[str, str] = {}

    def register(self, devices: Mapping[str, Sequence[str]]) -> None:
        """Take the device list of a plugin that has just started."""
        for resource, uuids in devices.items():
            self._endpoints[resource] = Endpoint(tuple(uuids))

    def stop(self, now_s: float) -> None:
        """Note that the plugin is gone: nothing is allocatable, the capacity stays."""
        for endpoint in self._endpoints.values():
            if endpoint.stopped_at_s is None:
                endpoint.stopped_at_s = now_s

    def mark_unhealthy(self, device: str) -> None:
        """Take a device out of service until its plugin starts again."""
        for endpoint in self._endpoints.values():
            if device in endpoint.devices:
                endpoint.unhealthy.add(device)

    def forget_due(self, now_s: float) -> bool:
        """Drop the capacity of plugins gone for too long; say whether there was one."""
        due_s = self.next_due_s()
        if due_s is None or due_s > now_s:
            return False
        for endpoint in self._endpoints.values():
            stopped_at_s = endpoint.stopped_at_s
            if stopped_at_s is not None and stopped_at_s + self._grace_s <= now_s:
                endpoint.is_forgotten = True
        return True

    def next_due_s(self) -> float | None:
        """Return when the capacity of a stopped plugin is to be dropped."""
        stops_s = [
            e.stopped_at_s + self._grace_s
            for e in self._endpoints.values()
            if e.stopped_at_s is not None and not e.is_forgotten
        ]
        return min(stops_s, default=None)

    def amounts(self) -> dict[str, tuple[int, int]]:
        """Return capacity and allocatable of every resource that ever was there.

        A resource that is gone stays with zeros: kubelet never takes it off the node.
        """
        return {
            name: (0 if e.is_forgotten else len(e.devices), len(e.usable))
            for name, e in sorted(self._endpoints.items())
        }

    def allocate(self, pod_uid: str, wanted: Sequence[tuple[str, int]]) -> None:
        """Give a pod all devices it asks for, or none."""
        given: dict[str, tuple[str, ...]] = {}
        for resource, number in wanted:
            given[resource] = self._choose(pod_uid, resource, number)
        if not given:
            return
        self._held[pod_uid] = given
        for devices in given.values():
            self._holder.update(dict.fromkeys(devices, pod_uid))

    def free(self, pod_uid: str) -> None:
        """Take a pod's devices back."""
        for devices in self._held.pop(pod_uid, {}).values():
            for device in devices:
                self._holder.pop(device, None)

    def devices_of(self, pod_uid: str) -> tuple[str, ...]:
        """Return all devices a pod holds, by resource name."""
        held = self._held.get(pod_uid, {})
        return tuple(device for resource in sorted(held) for device in held[resource])

    def holder_of(self, device: str) -> str | None:
        """Return the uid of the pod that holds a device."""
        return self._holder.get(device)

    def _choose(self, pod_uid: str, resource: str, number: int) -> tuple[str, ...]:
        endpoint = self._endpoints.get(resource)
        if endpoint is None or endpoint.is_forgotten:
            raise DevicesUnavailable(
                f"Allocate failed due to can't allocate unregistered device {resource}, "
                "which is unexpected"
            )
        free = [device for device in endpoint.usable if device not in self._holder]
        if len(free) < number:
            raise DevicesUnavailable(
                "Allocate failed due to requested number of devices unavailable for "
                f"{resource}. Requested: {number}, Available: {len(free)}, which is unexpected"
            )
        free.sort(key=lambda device: draw_fraction(self._seed, pod_uid, device))
        return tuple(free[:number])


class NodeDevices:
    """The device managers of all nodes, and which of them have news for the node status."""

    def __init__(self, seed: int, grace_s: float) -> None:
        self._seed = seed
        self._grace_s = grace_s
        self._managers: dict[str, DeviceManager] = {}
        self._dirty: set[str] = set()

    def of(self, node: str) -> DeviceManager:
        """Return the device manager of a node."""
        manager = self._managers.get(node)
        if manager is None:
            manager = self._managers[node] = DeviceManager(self._seed, self._grace_s)
        return manager

    def touch(self, node: str) -> None:
        """Note that the amounts of a node may have changed."""
        self._dirty.add(node)

    def take_dirty(self) -> list[str]:
        """Return the nodes noted since the last time, in name order."""
        dirty = sorted(self._dirty)
        self._dirty.clear()
        return dirty
