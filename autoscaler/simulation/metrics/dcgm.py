"""The DCGM exporters: activity and memory of every GPU instance, and who holds it.

An exporter lists the instances when it starts and is stopped while they are changed. It
collects less often than it is scraped, and names holders as far as kubelet tells it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from autoscaler.ports import PODS, RawObject
from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.informer import Key, Notice
from autoscaler.simulation.controllers.operands import EXPORTER
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    ACTIVITY,
    PROCESS,
    annotations_of,
    is_ready,
    labels_of,
    name_of,
    namespace_of,
    node_of,
    phase_of,
    uid_of,
)
from autoscaler.simulation.hardware import Hardware, Instance, SimulatedGpu
from autoscaler.simulation.metrics.family import Reading, Shelf
from autoscaler.simulation.prometheus.series import SeriesStore, Target
from autoscaler.simulation.timing import draw_fraction

DRIVER = "580.95.05"
BUSY = 0.9
# What an instance shows as used when nothing runs on it, and what a workload takes.
IDLE_MIB = 12.0
MEMORY_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class ScrapeSettings:
    """How exporters are scraped.

    Parameters
    ----------
    interval_s
        Pause between two scrapes.
    collection_s
        Pause between two collections of the DCGM exporter.
    honor_labels
        Whether the workload's ``pod`` label wins over the exporter's own.
    pod_labels
        Whether the exporter knows the holders of instances at all.
    """

    interval_s: float = 15.0
    collection_s: float = 30.0
    honor_labels: bool = False
    pod_labels: bool = True


@dataclass(slots=True)
class Exporter:
    """One exporter pod and the instances it knows."""

    uid: str
    pod: RawObject
    shelf: Shelf
    target: Target
    instances: list[tuple[SimulatedGpu, Instance | None]] = field(default_factory=list)
    shown: dict[str, tuple[str, bool]] = field(default_factory=dict)


class DcgmExporters:
    """The exporters of all nodes.

    Attributes
    ----------
    version
        Changes whenever an exporter comes, goes, or changes its health.
    """

    def __init__(
        self,
        platform: Platform,
        store: SeriesStore,
        hardware: Hardware,
        devices: NodeDevices,
        settings: ScrapeSettings,
    ) -> None:
        self._platform = platform
        self._store = store
        self._hardware = hardware
        self._devices = devices
        self._settings = settings
        self._pods = platform.informers.of(PODS)
        self._feed = self._pods.subscribe()
        self._exporters: dict[str, Exporter] = {}
        self._keys: dict[str, Key] = {}
        self._silent: frozenset[str] = frozenset()
        self.version = 0

    def step(self) -> None:
        """Follow the exporters' pods, and the pods that come and go on devices."""
        changed: dict[str, None] = {}
        for notice in self._feed.take():
            self._observe(notice, changed)
        silent = frozenset(self._platform.faults.silent_exporters)
        changed |= dict.fromkeys(sorted(silent ^ self._silent))
        self._silent = silent
        for node in changed:
            if node in self._exporters:
                self._show(node)

    @property
    def targets(self) -> dict[str, Target]:
        """What is scraped now, by node."""
        return {node: exporter.target for node, exporter in self._exporters.items()}

    def _observe(self, notice: Notice, changed: dict[str, None]) -> None:
        pod = notice.new or notice.old
        if pod is None or not node_of(pod):
            return
        if labels_of(pod).get("app") == EXPORTER:
            self._follow(pod, exists=notice.new is not None, changed=changed)
            return
        if notice.new is None:
            self._keys.pop(uid_of(pod), None)
        else:
            self._keys[uid_of(pod)] = notice.key
        if _matters(notice):
            changed[node_of(pod)] = None

    def _follow(self, pod: RawObject, *, exists: bool, changed: dict[str, None]) -> None:
        node, uid = node_of(pod), uid_of(pod)
        known = self._exporters.get(node)
        now_s = self._platform.now_s()
        if not exists:
            if known is not None and known.uid == uid:
                known.target.up.set(now_s, None)
                known.shelf.clear(now_s)
                del self._exporters[node]
                self.version += 1
        elif is_ready(pod) and (known is None or known.uid != uid):
            target = self._target(node, pod)
            exporter = Exporter(uid, pod, Shelf(self._store, target), target)
            exporter.instances = list(self._list(node))
            self._exporters[node] = exporter
            self.version += 1
            changed[node] = None

    def _target(self, node: str, pod: RawObject) -> Target:
        interval_s, now_s = self._settings.interval_s, self._platform.now_s()
        labels: dict[str, str] = {"job": EXPORTER, "instance": f"{node}:9400"}
        if not self._settings.honor_labels:
            own = {"pod": name_of(pod), "namespace": namespace_of(pod), "container": EXPORTER}
            labels |= own
        phase_s = round(interval_s * draw_fraction(self._platform.timing.seed, node), 3)
        target = Target(
            tuple(sorted(labels.items())), interval_s, phase_s, self._settings.collection_s
        )
        target.up.set(now_s, now_s)
        return target

    def _list(self, node: str) -> Iterator[tuple[SimulatedGpu, Instance | None]]:
        """Yield instances; a GPU without any is listed itself."""
        for gpu in self._hardware.gpus(node):
            yield from ((gpu, instance) for instance in gpu.instances or (None,))

    def _show(self, node: str) -> None:
        exporter, now_s = self._exporters[node], self._platform.now_s()
        answers = exporter.target.up.last is not None
        if answers is (node in self._silent):
            exporter.target.up.set(now_s, None if answers else now_s)
            self.version += 1
        for gpu, instance in exporter.instances:
            device = instance.uuid if instance else gpu.uuid
            holder = self._holder(node, device)
            state = (uid_of(holder), _is_active(holder)) if holder else ("", False)
            if exporter.shown.get(device) != state:
                exporter.shown[device] = state
                readings = self._readings(gpu, instance, holder)
                exporter.shelf.show(device, readings, now_s)

    def _readings(
        self, gpu: SimulatedGpu, instance: Instance | None, holder: RawObject | None
    ) -> Iterator[Reading]:
        labels = _labels(gpu, instance) | self._holder_labels(holder)
        total_mib = _memory_mib(gpu, instance)
        active, used_mib = 0.0, IDLE_MIB
        if holder is not None and _is_active(holder):
            active = float(annotations_of(holder).get(ACTIVITY, BUSY))
            used_mib = round(total_mib * MEMORY_SHARE)
        yield Reading("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, active)
        yield Reading("DCGM_FI_DEV_FB_USED", labels, used_mib)
        yield Reading("DCGM_FI_DEV_FB_FREE", labels, max(0.0, total_mib - used_mib))

    def _holder(self, node: str, device: str) -> RawObject | None:
        uid = self._devices.of(node).holder_of(device)
        key = self._keys.get(uid or "")
        return self._pods.objects.get(key) if key else None

    def _holder_labels(self, holder: RawObject | None) -> dict[str, str]:
        if holder is None or not self._settings.pod_labels:
            return {}
        prefix = "" if self._settings.honor_labels else "exported_"
        return {
            f"{prefix}namespace": namespace_of(holder),
            f"{prefix}pod": name_of(holder),
            f"{prefix}container": holder["spec"]["containers"][0]["name"],
        }


def _labels(gpu: SimulatedGpu, instance: Instance | None) -> dict[str, str]:
    product = gpu.model.products[0] if gpu.model.products else gpu.model.key
    labels = {
        "gpu": str(gpu.index),
        "UUID": gpu.uuid,
        "pci_bus_id": f"00000000:{0x10 + gpu.index:02X}:00.0",
        "device": f"nvidia{gpu.index}",
        "modelName": product.replace("-", " ", 1),
        "Hostname": gpu.node,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
    }
    if instance is not None:
        labels |= {"GPU_I_PROFILE": instance.profile, "GPU_I_ID": str(instance.id)}
    return labels


def _memory_mib(gpu: SimulatedGpu, instance: Instance | None) -> float:
    profile = gpu.model.profile(instance.profile) if instance else None
    if profile is not None and profile.memory_mib is not None:
        return float(profile.memory_mib)
    share = instance.placement.size / gpu.model.memory_slices if instance else 1.0
    return float(round(gpu.model.memory_gb * 1024 * share))


def _matters(notice: Notice) -> bool:
    """Say whether a change of a pod may change who holds a device, or its activity."""
    old, new = notice.old, notice.new
    if old is None or new is None:
        return True
    return phase_of(old) != phase_of(new) or node_of(old) != node_of(new)


def _is_active(pod: RawObject) -> bool:
    runs = phase_of(pod) == "Running"
    return runs and annotations_of(pod).get(PROCESS, "true") == "true"
