"""The part of kubelet that writes the node status: what a node advertises.

It writes some seconds after the device list changed, at kubelet's pace, so readers see
the old amounts for a while.
"""

from autoscaler.ports import NODES, RawObject
from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.timers import Timers, earliest


class NodeStatus:
    """Writes allocatable and capacity of devices, and the readiness of nodes."""

    def __init__(self, platform: Platform, devices: NodeDevices) -> None:
        self._platform = platform
        self._devices = devices
        self._nodes = platform.informers.of(NODES)
        self._reports: Timers[str] = Timers()
        self._graces: Timers[str] = Timers()
        self._silent: set[str] = set()

    def step(self) -> float | None:
        """Write what is due."""
        now_s = self._platform.now_s()
        for node in self._graces.pop_due(now_s):
            if self._devices.of(node).forget_due(now_s):
                self._devices.touch(node)
        for node in self._devices.take_dirty():
            self._schedule(node)
        for node in self._reports.pop_due(now_s):
            self._report(node)
        self._report_readiness()
        return earliest(self._reports.next_s(), self._graces.next_s())

    def _schedule(self, node: str) -> None:
        due_s = self._devices.of(node).next_due_s()
        if due_s is not None:
            self._graces.set(node, due_s)
        else:
            self._graces.cancel(node)
        if node not in self._reports:
            span = self._platform.timing.node_status
            self._reports.set(node, self._platform.after(span, node, self._platform.now_s()))

    def _report(self, node: str) -> None:
        if node in self._platform.faults.not_ready:
            self._devices.touch(node)
            return
        item = self._node(node)
        if item is None:
            return
        amounts = self._devices.of(node).amounts()
        status: RawObject = item.get("status") or {}
        capacity = {name: str(number) for name, (number, _) in amounts.items()}
        allocatable = {name: str(number) for name, (_, number) in amounts.items()}
        if _differs(status.get("capacity"), capacity) or _differs(
            status.get("allocatable"), allocatable
        ):
            body = {"status": {"capacity": capacity, "allocatable": allocatable}}
            self._platform.try_patch(NODES, item, body, "status")

    def _report_readiness(self) -> None:
        """Turn nodes whose kubelet is silent to unknown, and back."""
        silent = set(self._platform.faults.not_ready)
        for node in sorted(silent ^ self._silent):
            item = self._node(node)
            if item is None:
                continue
            ready = "Unknown" if node in silent else "True"
            reason = "NodeStatusUnknown" if node in silent else "KubeletReady"
            condition = {
                "type": "Ready",
                "status": ready,
                "reason": reason,
                "lastTransitionTime": self._platform.stamp(),
            }
            conditions = (item.get("status") or {}).get("conditions") or []
            kept = [c for c in conditions if c.get("type") != "Ready"]
            body = {"status": {"conditions": [*kept, condition]}}
            self._platform.try_patch(NODES, item, body, "status")
        self._silent = silent

    def _node(self, name: str) -> RawObject | None:
        self._nodes.poll()
        return self._nodes.objects.get(("", name))


def _differs(present: RawObject | None, wanted: dict[str, str]) -> bool:
    return any((present or {}).get(name) != number for name, number in wanted.items())
