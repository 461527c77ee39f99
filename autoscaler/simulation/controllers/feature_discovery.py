"""GPU feature discovery: labels that say what GPUs a node has.

Its labels live as long as its pod: while a change of the instances runs, they vanish.
"""

from collections.abc import Mapping, Sequence

from autoscaler.domain.mig.strategy import Strategy
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.operands import FEATURE_DISCOVERY
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import is_ready, labels_of, node_of, uid_of
from autoscaler.simulation.controllers.timers import Timers
from autoscaler.simulation.hardware import Hardware, SimulatedGpu

COMPUTE = {
    "ampere": ("8", "0"),
    "hopper": ("9", "0"),
    "blackwell": ("10", "0"),
}


class FeatureDiscovery:
    """Feature discovery on all nodes."""

    def __init__(
        self, platform: Platform, hardware: Hardware, strategies: Mapping[str, Strategy]
    ) -> None:
        self._platform = platform
        self._hardware = hardware
        self._strategies = strategies
        self._nodes = platform.informers.of(NODES)
        self._feed = platform.informers.of(PODS).subscribe()
        self._serving: dict[str, str] = {}
        self._wanted: dict[str, dict[str, str]] = {}
        self._timers: Timers[str] = Timers()

    def step(self) -> float | None:
        """Follow the pods; write labels that are due."""
        for notice in self._feed.take():
            pod = notice.new or notice.old
            if pod is not None and labels_of(pod).get("app") == FEATURE_DISCOVERY:
                self._follow(pod, exists=notice.new is not None)
        for node in self._timers.pop_due(self._platform.now_s()):
            self._publish(node)
        return self._timers.next_s()

    def _follow(self, pod: RawObject, *, exists: bool) -> None:
        node, uid = node_of(pod), uid_of(pod)
        if not exists:
            if self._serving.get(node) == uid:
                del self._serving[node]
                self._schedule(node, {})
        elif is_ready(pod) and self._serving.get(node) != uid:
            self._serving[node] = uid
            if node not in self._platform.faults.no_discovery:
                strategy = self._strategies.get(node, Strategy.MIXED)
                self._schedule(node, features(self._hardware.gpus(node), strategy))

    def _schedule(self, node: str, labels: dict[str, str]) -> None:
        self._wanted[node] = labels
        span = self._platform.timing.features
        self._timers.set(node, self._platform.after(span, node, self._platform.now_s()))

    def _publish(self, node: str) -> None:
        self._nodes.poll()
        item = self._nodes.objects.get(("", node))
        if item is None:
            return
        wanted = self._wanted.pop(node, {})
        present = {name: value for name, value in labels_of(item).items() if _is_ours(name)}
        changes: dict[str, str | None] = {
            n: v for n, v in wanted.items() if present.get(n) != v
        }
        changes |= {name: None for name in present if name not in wanted}
        if changes:
            self._platform.try_patch(NODES, item, {"metadata": {"labels": changes}})


def features(gpus: Sequence[SimulatedGpu], strategy: Strategy) -> dict[str, str]:
    """Return the labels of a node with these GPUs, all of one model."""
    if not gpus:
        return {}
    model = gpus[0].model
    product = model.products[0] if model.products else model.key
    major, minor = COMPUTE.get(model.architecture, ("12", "0"))
    labels = {
        "nvidia.com/gpu.count": str(len(gpus)),
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.memory": str(model.memory_gb * 1024),
        "nvidia.com/gpu.family": model.architecture,
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/gpu.replicas": str(sum(not gpu.mig_enabled for gpu in gpus)),
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": "true",
    }
    if strategy is Strategy.NONE:
        return labels | {"nvidia.com/gpu.replicas": str(len(gpus))}
    labels["nvidia.com/mig.strategy"] = str(strategy)
    if strategy is Strategy.MIXED:
        return labels | _instances(gpus, product)
    return labels | _single(gpus, product)


def _instances(gpus: Sequence[SimulatedGpu], product: str) -> dict[str, str]:
    counts: dict[str, int] = {}
    for gpu in gpus:
        for name, number in gpu.counts.items():
            counts[name] = counts.get(name, 0) + number
    labels: dict[str, str] = {}
    for name in sorted(counts):
        text = name.replace("+", ".")
        prefix = f"nvidia.com/mig-{text}"
        labels |= {
            f"{prefix}.count": str(counts[name]),
            # Shares of each instance, not instances: one where nothing is shared.
            f"{prefix}.replicas": "1",
            f"{prefix}.sharing-strategy": "none",
            f"{prefix}.product": f"{product}-MIG-{text}",
        }
        profile = gpus[0].model.profile(name)
        if profile is not None:
            labels[f"{prefix}.slices.gi"] = str(profile.compute_slices)
            labels[f"{prefix}.slices.ci"] = str(profile.compute_slices)
            labels[f"{prefix}.memory"] = str(profile.memory_mib or 0)
            labels[f"{prefix}.multiprocessors"] = str(profile.sm_count or 0)
    return labels


def _single(gpus: Sequence[SimulatedGpu], product: str) -> dict[str, str]:
    if not any(gpu.mig_enabled for gpu in gpus):
        return {}
    profiles = {profile for gpu in gpus for profile in gpu.counts}
    is_uniform = len(profiles) == 1 and all(g.mig_enabled and g.instances for g in gpus)
    number = sum(len(gpu.instances) for gpu in gpus) if is_uniform else 0
    suffix = next(iter(profiles)).replace("+", ".") if is_uniform else "INVALID"
    return {
        "nvidia.com/gpu.product": f"{product}-MIG-{suffix}",
        "nvidia.com/gpu.count": str(number),
        "nvidia.com/gpu.replicas": str(number),
    }


def _is_ours(label: str) -> bool:
    """Say whether feature discovery owns a label of a node."""
    if label in {"nvidia.com/mig.capable", "nvidia.com/mig.strategy"}:
        return True
    if label.startswith("nvidia.com/mig-"):
        return True
    owned = ("count", "product", "memory", "family", "compute.", "replicas", "sharing", "mode")
    return label.startswith(tuple(f"nvidia.com/gpu.{name}" for name in owned))
