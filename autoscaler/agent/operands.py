"""The operator's pods that read the GPUs' instances only when they start.

Whoever changes instances must have them replaced, else nothing new is advertised,
labelled or measured. Only the device plugin is waited for: without it nobody gets a
device, without the others nobody loses one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.cluster.objects import Pod

APP = "app"
NAME = "app.kubernetes.io/name"
# As the operator's DaemonSets, and as the plugin's own chart, label their pods.
PLUGINS = frozenset({"nvidia-device-plugin-daemonset", "nvidia-device-plugin"})
READERS = PLUGINS | {"gpu-feature-discovery", "nvidia-dcgm-exporter", "dcgm-exporter"}


@dataclass(frozen=True, slots=True)
class Operands:
    """The pods on a node that read its instances at their start."""

    pods: tuple[Pod, ...]

    @property
    def uids(self) -> tuple[str, ...]:
        """Uids of all, sorted."""
        return tuple(sorted(pod.uid for pod in self.pods))

    def old(self, replaced: Iterable[str]) -> tuple[Pod, ...]:
        """Return those that are to be replaced, the device plugin first."""
        wanted = set(replaced)
        found = (pod for pod in self.pods if pod.uid in wanted)
        return tuple(sorted(found, key=lambda pod: (not is_plugin(pod), pod.ref)))

    def has_new_plugin(self, replaced: Iterable[str]) -> bool:
        """Say whether a device plugin serves that started after the change, and no other."""
        wanted = set(replaced)
        plugins = [pod for pod in self.pods if is_plugin(pod)]
        return any(p.ready for p in plugins) and not any(p.uid in wanted for p in plugins)


def operands_among(pods: Iterable[Pod]) -> Operands:
    """Return the operands among the pods of a node."""
    return Operands(tuple(pod for pod in pods if not pod.is_finished and _names(pod) & READERS))


def is_plugin(pod: Pod) -> bool:
    """Say whether a pod is the device plugin."""
    return bool(_names(pod) & PLUGINS)


def _names(pod: Pod) -> set[str]:
    # A user's pod may carry any label, so only what a DaemonSet made counts.
    if pod.owner is None or pod.owner.kind != "DaemonSet":
        return set()
    return {pod.labels.get(APP, ""), pod.labels.get(NAME, "")}
