"""The configuration file of the MIG manager as each node sees it.

It is a ConfigMap mounted as a folder: kubelet refreshes it at its own pace, so a name
written just now is missing on some nodes for a minute or more.
"""

from dataclasses import dataclass
from math import ceil

from autoscaler.domain.mig.configuration import Entries, parse_configurations
from autoscaler.ports import CONFIG_MAPS
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.timing import draw_fraction

FILE = "config.yaml"


@dataclass(frozen=True, slots=True)
class Version:
    """One content of the ConfigMap and when it was written."""

    written_s: float
    text: str


class ConfigMount:
    """The mounted file of every node.

    Parameters
    ----------
    config_map
        Name of the ConfigMap in the operator's namespace.
    """

    def __init__(self, platform: Platform, config_map: str) -> None:
        self._platform = platform
        self._key = (platform.namespace, config_map)
        self._feed = platform.informers.of(CONFIG_MAPS).subscribe()
        self._versions = [Version(0.0, "")]
        self._seen: dict[str, Version] = {}

    def observe(self) -> None:
        """Take in new contents of the ConfigMap."""
        for notice in self._feed.take():
            if notice.key == self._key and notice.new is not None:
                text = (notice.new.get("data") or {}).get(FILE, "")
                if text != self._versions[-1].text:
                    self._versions.append(Version(self._platform.now_s(), text))

    def mount(self, node: str) -> None:
        """Mount the present content: what happens when a pod starts."""
        self._seen[node] = self._versions[-1]

    def configurations(self, node: str) -> dict[str, Entries]:
        """Return the configurations in the file of a node.

        Raises
        ------
        ConfigError
            When the file is not what mig-parted reads.
        """
        version = self._visible(node)
        return parse_configurations(version.text) if version.text else {}

    def visible_at_s(self, node: str, written_s: float) -> float:
        """Return when a node's file shows what was written at a time."""
        seed = self._platform.timing.seed
        period_s = max(self._platform.timing.config_tick.draw(seed, "tick", node), 0.001)
        phase_s = period_s * draw_fraction(seed, "phase", node)
        ticks = ceil((written_s - phase_s) / period_s)
        return round(phase_s + ticks * period_s, 3)

    def _visible(self, node: str) -> Version:
        seen = self._seen.get(node, self._versions[0])
        if node in self._platform.faults.frozen_mounts:
            return seen
        now_s = self._platform.now_s()
        for version in reversed(self._versions):
            if version.written_s <= seen.written_s:
                break
            if self.visible_at_s(node, version.written_s) <= now_s:
                self._seen[node] = version
                return version
        return seen
