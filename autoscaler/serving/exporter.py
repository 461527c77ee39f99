"""Metrics in the form that Prometheus reads.

The values are kept here and handed to the client library at each scrape, so that
there is no state of the process, and a pool that is gone leaves no series behind.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family

from autoscaler.control.metric_catalog import Kind, Metric
from autoscaler.control.telemetry import Sample, Telemetry

Labels = tuple[str, ...]


@dataclass(slots=True)
class Distribution:
    """What a histogram has seen: how many in each bucket, the last one without bound."""

    numbers: list[int]
    total: float = 0.0

    def add(self, value: float, bounds: tuple[float, ...]) -> None:
        """Count one value."""
        place = next((i for i, bound in enumerate(bounds) if value <= bound), len(bounds))
        self.numbers[place] += 1
        self.total += value

    def buckets(self, bounds: tuple[float, ...]) -> list[tuple[str, float]]:
        """Return the buckets as Prometheus counts them: each with all below it."""
        found, below = [], 0
        for bound, number in zip((*map(str, bounds), "+Inf"), self.numbers, strict=True):
            below += number
            found.append((bound, float(below)))
        return found


@dataclass(slots=True)
class Series:
    """All series of one metric, by label values."""

    values: dict[Labels, float] = field(default_factory=dict)
    distributions: dict[Labels, Distribution] = field(default_factory=dict)


class Exporter:
    """Holds the values of some metrics; written by the loop, read by scrapes."""

    def __init__(self, catalog: Iterable[Metric]) -> None:
        self._series = {metric: Series() for metric in catalog}
        for metric, own in self._series.items():
            if metric.labels:
                continue
            # What has no labels is there from the first scrape on.
            if metric.kind is Kind.HISTOGRAM:
                own.distributions[()] = _empty(metric)
            else:
                own.values[()] = 0.0
        self._lock = threading.Lock()
        self._registry = CollectorRegistry(auto_describe=False)
        # It has ``collect``, which is all that is asked of a collector.
        self._registry.register(self)

    def take(self, telemetry: Telemetry) -> None:
        """Bring the values up to date."""
        with self._lock:
            for metric in {sample.metric for sample in telemetry.gauges}:
                self._series[metric].values.clear()
            for sample in telemetry.gauges:
                self._series[sample.metric].values[sample.labels] = sample.value
            for sample in telemetry.increments:
                self._add(sample)
            for sample in telemetry.observations:
                known = self._series[sample.metric].distributions
                found = known.setdefault(sample.labels, _empty(sample.metric))
                found.add(sample.value, sample.metric.buckets)

    def _add(self, sample: Sample) -> None:
        values = self._series[sample.metric].values
        values[sample.labels] = values.get(sample.labels, 0.0) + sample.value

    def exposition(self) -> bytes:
        """Return all metrics as text."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterator[Family]:
        """Yield all metrics; called by the client library."""
        with self._lock:
            families = [_family(metric, own) for metric, own in self._series.items()]
        yield from families


def _empty(metric: Metric) -> Distribution:
    return Distribution([0] * (len(metric.buckets) + 1))


def _family(metric: Metric, own: Series) -> Family:
    name = metric.full_name
    if metric.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(name, metric.help, labels=metric.labels)
        for labels, seen in sorted(own.distributions.items()):
            histogram.add_metric(labels, seen.buckets(metric.buckets), seen.total)
        return histogram
    family = _flat_family(metric, name)
    for labels, value in sorted(own.values.items()):
        family.add_metric(labels, value)
    return family


def _flat_family(metric: Metric, name: str) -> CounterMetricFamily | GaugeMetricFamily:
    if metric.kind is Kind.COUNTER:
        return CounterMetricFamily(name, metric.help, labels=metric.labels)
    return GaugeMetricFamily(name, metric.help, labels=metric.labels)
