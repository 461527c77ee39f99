"""The simulated Prometheus of an embedded cluster: what it scrapes and how it is asked."""

from collections.abc import Callable
from dataclasses import dataclass

from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.timers import earliest
from autoscaler.simulation.hardware import Hardware
from autoscaler.simulation.metrics.dcgm import DcgmExporters, ScrapeSettings
from autoscaler.simulation.metrics.exposition import ExpositionScraper
from autoscaler.simulation.metrics.family import Reading, Shelf
from autoscaler.simulation.metrics.kube_state import KubeStateMetrics
from autoscaler.simulation.prometheus.api import PrometheusApi
from autoscaler.simulation.prometheus.series import SeriesStore, Target


@dataclass(slots=True)
class Health:
    """The ``up`` series of a target: it has to stay when the target does not answer."""

    target: Target
    shelf: Shelf


class MetricsSource:
    """Scrapes the cluster; ``api`` answers queries about it, in process or over HTTP."""

    def __init__(
        self,
        platform: Platform,
        hardware: Hardware,
        devices: NodeDevices,
        settings: ScrapeSettings | None = None,
    ) -> None:
        settings = settings or ScrapeSettings()
        self._platform = platform
        self._store = SeriesStore()
        self._cluster = KubeStateMetrics(platform, self._store, settings.interval_s)
        self._exporters = DcgmExporters(platform, self._store, hardware, devices, settings)
        self._scrapers: list[ExpositionScraper] = []
        self._health: dict[str, Health] = {}
        self._signature: object = None
        self.api = PrometheusApi(self._store, platform.now_s, self._cluster.flush)

    def scrape(self, exposition: Callable[[], str], job: str, interval_s: float = 30.0) -> None:
        """Scrape one more program, e.g. the autoscaler itself."""
        scraper = ExpositionScraper(
            self._platform, self._store, exposition, job=job, interval_s=interval_s
        )
        self._scrapers.append(scraper)

    def step(self) -> float | None:
        """Take in what changed in the cluster, and scrape what is due."""
        with self.api.lock:
            return self._step()

    def _step(self) -> float | None:
        self._cluster.step()
        self._exporters.step()
        due_s = [scraper.step() for scraper in self._scrapers]
        gaps = frozenset(self._platform.faults.scrape_gaps)
        ups = tuple(scraper.target.up.last is not None for scraper in self._scrapers)
        signature = (self._exporters.version, gaps, ups)
        if signature != self._signature:
            self._signature = signature
            self._watch_health(gaps)
        return earliest(*due_s)

    def _watch_health(self, gaps: frozenset[str]) -> None:
        """Keep ``up`` and the gaps of each target."""
        now_s = self._platform.now_s()
        targets = {f"node/{n}": t for n, t in self._exporters.targets.items()}
        targets |= self._cluster.targets
        targets |= {str(scraper.target.labels): scraper.target for scraper in self._scrapers}
        for name in [name for name in self._health if name not in targets]:
            self._health.pop(name).shelf.show("up", (), now_s)
        for name, target in targets.items():
            missed = 1.0 if dict(target.labels)["job"] in gaps else None
            health = self._health.get(name)
            if health is None or health.target.labels != target.labels:
                if health is not None:
                    health.shelf.show("up", (), now_s)
                health = self._health[name] = self._begin(target)
            value = float(target.up.last is not None)
            health.shelf.show("up", [Reading("up", {}, value)], now_s)
            if target.missed.last != missed:
                target.missed.set(now_s, missed)
                health.target.missed.set(now_s, missed)

    def _begin(self, target: Target) -> Health:
        twin = Target(target.labels, target.interval_s, target.phase_s)
        twin.up.set(self._platform.now_s(), self._platform.now_s())
        return Health(twin, Shelf(self._store, twin))
