"""NVIDIA's device plugin: reads the devices when it starts, and never again.

So instances that come later are not advertised until its pod is replaced, and while
there is no pod the node offers nothing.
"""

from collections.abc import Mapping, Sequence

from autoscaler.domain.mig.strategy import Strategy
from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.operands import DEVICE_PLUGIN
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import is_ready, labels_of, node_of, uid_of
from autoscaler.simulation.controllers.timers import Timers
from autoscaler.simulation.hardware import Hardware, SimulatedGpu

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"


class CannotAdvertise(Exception):
    """The plugin refuses to start on what it finds."""


class DevicePlugin:
    """The device plugins of all nodes."""

    def __init__(
        self,
        platform: Platform,
        hardware: Hardware,
        devices: NodeDevices,
        strategies: Mapping[str, Strategy],
    ) -> None:
        self._platform = platform
        self._hardware = hardware
        self._devices = devices
        self._strategies = strategies
        self._feed = platform.informers.of(PODS).subscribe()
        self._serving: dict[str, str] = {}
        self._timers: Timers[tuple[str, str]] = Timers()

    def step(self) -> float | None:
        """Start and stop with the plugin's pods."""
        for notice in self._feed.take():
            pod = notice.new or notice.old
            if pod is not None and labels_of(pod).get("app") == DEVICE_PLUGIN:
                self._follow(pod, exists=notice.new is not None)
        for node, uid in self._timers.pop_due(self._platform.now_s()):
            self._start(node, uid)
        return self._timers.next_s()

    def _follow(self, pod: RawObject, *, exists: bool) -> None:
        node, uid = node_of(pod), uid_of(pod)
        if not exists:
            self._timers.cancel((node, uid))
            if self._serving.get(node) == uid:
                del self._serving[node]
                self._devices.of(node).stop(self._platform.now_s())
                self._devices.touch(node)
        elif is_ready(pod) and self._serving.get(node) != uid:
            self._start(node, uid)

    def _start(self, node: str, uid: str) -> None:
        faults = self._platform.faults
        try:
            if node in faults.no_plugin:
                raise CannotAdvertise("the plugin fails")
            resources = list_devices(
                self._hardware.gpus(node),
                self._strategies.get(node, Strategy.MIXED),
                fold_media=node in faults.fold_media,
            )
        except CannotAdvertise:
            self._timers.set((node, uid), self._platform.now_s() + self._retry_s())
            return
        manager = self._devices.of(node)
        self._serving[node] = uid
        manager.register(resources)
        for gpu in self._hardware.gpus(node):
            if (node, gpu.index) in faults.unhealthy_gpus:
                for device in gpu.devices:
                    manager.mark_unhealthy(device)
        self._devices.touch(node)

    def _retry_s(self) -> float:
        return self._platform.timing.plugin_retry_s


def list_devices(
    gpus: Sequence[SimulatedGpu], strategy: Strategy, *, fold_media: bool = False
) -> dict[str, list[str]]:
    """Return device ids by resource name, as the plugin advertises them.

    Raises
    ------
    CannotAdvertise
        Under strategy single, when the GPUs are not all alike.
    """
    if strategy is Strategy.NONE:
        return {GPU: [gpu.uuid for gpu in gpus]} if gpus else {}
    if strategy is Strategy.SINGLE:
        _check_uniform(gpus)
    devices: dict[str, list[str]] = {}
    for gpu in gpus:
        if not gpu.mig_enabled:
            devices.setdefault(GPU, []).append(gpu.uuid)
        for instance in gpu.instances:
            profile = instance.profile.replace("+", ".")
            profile = profile.removesuffix(".me") if fold_media else profile
            name = GPU if strategy is Strategy.SINGLE else MIG + profile
            devices.setdefault(name, []).append(instance.uuid)
    return devices


def _check_uniform(gpus: Sequence[SimulatedGpu]) -> None:
    if not any(gpu.mig_enabled for gpu in gpus):
        return
    profiles = {profile for gpu in gpus for profile in gpu.counts}
    if not all(gpu.mig_enabled and gpu.instances for gpu in gpus) or len(profiles) != 1:
        raise CannotAdvertise("strategy single needs instances of one profile on all GPUs")
