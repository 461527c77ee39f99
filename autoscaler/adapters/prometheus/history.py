"""The past of a pool from Prometheus: range queries become a ``DemandHistory``.

Our own metrics come first: they say which pool and which profile. What they do not reach
back to is filled from kube-state-metrics, as far as its counts can only be this pool's.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from autoscaler.adapters.prometheus.answers import QueryFailed
from autoscaler.adapters.prometheus.client import PrometheusClient, Question
from autoscaler.adapters.prometheus.queries import OF_OTHERS
from autoscaler.adapters.prometheus.ranges import Point, Series
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.mig.resource import prometheus_name, resource_name
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.domain.policy.quantity import format_duration
from autoscaler.planning.past.demand_history import (
    DemandHistory,
    FloatArray,
    Grid,
    Key,
    Service,
    Source,
    on_grid,
)
from autoscaler.ports import Clock

# Prometheus refuses more points than 11,000 a series; the ends count too.
MOST_POINTS = 10_000
# A replica that has stopped leading keeps showing what it saw last.
STALE_S = 300
FRESH = (
    "and on (instance) (time() -"
    f" mig_autoscaler_cycle_last_success_timestamp_seconds < {STALE_S})"
)
REQUESTED = (
    'max by (profile, phase) (mig_autoscaler_requested_instances{{pool="{pool}"}} {fresh})'
)
SERVICE = 'mig_autoscaler_service_duration_seconds_{part}{{pool="{pool}"}}'
# A second kube-state-metrics must not double the sums. The last part gives a 0 for all
# that nodes offer, which tells "nobody asks" from silence.
PODS = (
    "sum by (resource) ("
    "max by (namespace, pod, uid, container, exported_container, resource) "
    '(kube_pod_container_resource_requests{{resource=~"nvidia_com_.+"{matchers}}}) '
    "and on (namespace, pod, uid) "
    'kube_pod_status_phase{{phase=~"Pending|Running"}} == 1'
    ") or max by (resource) "
    '(kube_node_status_allocatable{{resource=~"nvidia_com_.+"}}) * 0'
)
OTHERS = f", {OF_OTHERS}"
BOUND = f'{OTHERS}, node!=""'


class PrometheusPast:
    """``PastDemand`` from a Prometheus; all queries of a call end within two time-outs."""

    def __init__(self, settings: Prometheus, clock: Clock) -> None:
        self._client = PrometheusClient(settings, clock)
        self._timeout_s = settings.timeout_s
        self._clock = clock

    def demand(self, pool: str, grid: Grid, alone: Collection[str]) -> DemandHistory:
        """Return the past of one pool; what is not known of it is NaN, and said."""
        deadline_s = self._clock.monotonic_s() + 2 * self._timeout_s
        inquiry = Inquiry(self._client, grid, deadline_s)
        name = pool.replace("\\", "\\\\").replace('"', '\\"')
        requested = inquiry.ask("requested", REQUESTED.format(pool=name, fresh=FRESH))
        own = _own_history(pool, grid, requested, inquiry.services(pool, name))
        known = own.known(pool)
        if not known.all() and alone:
            own = own.filled_with(self._of_pods(pool, grid, inquiry, alone))
        if not inquiry.answers:
            raise Unavailable("; ".join(inquiry.notices))
        notices = [*inquiry.notices]
        if grid.number and not known.all():
            had = format_duration(round(float(known.sum()) * grid.step_s))
            notices.append(f"our own metrics know {had} of the past of pool {pool}")
        return DemandHistory(
            grid, own.wanted, own.held, own.services, {}, own.sources, tuple(notices)
        )

    def _of_pods(
        self, pool: str, grid: Grid, inquiry: "Inquiry", alone: Collection[str]
    ) -> DemandHistory:
        """Return what kube-state-metrics knows of resources that only this pool offers."""
        names = {prometheus_name(resource): resource for resource in sorted(alone)}
        wanted = inquiry.ask("pods", PODS.format(matchers=OTHERS))
        held = inquiry.ask("bound pods", PODS.format(matchers=BOUND))
        parts = [
            {
                (pool, names[s.labels["resource"]]): on_grid(s.points, grid)[0]
                for s in found
                if s.labels.get("resource") in names
            }
            for found in (wanted, held)
        ]
        sources = (Source.KUBE_STATE_METRICS,) if parts[0] else ()
        return DemandHistory(grid, parts[0], parts[1], sources=sources)


@dataclass(slots=True)
class Inquiry:
    """Range queries over one grid, asked piece by piece.

    Parameters
    ----------
    answers
        How many pieces were answered.
    is_over
        Whether nothing more is asked, because nobody answers.
    notices
        Why pieces are missing, each once.
    """

    client: PrometheusClient
    grid: Grid
    deadline_s: float
    answers: int = 0
    is_over: bool = False
    notices: list[str] = field(default_factory=list)

    def ask(self, name: str, text: str) -> tuple[Series, ...]:
        """Return the series of a query; pieces without an answer are missing from them."""
        points: dict[frozenset[tuple[str, str]], list[Point]] = {}
        for first in range(0, self.grid.number, MOST_POINTS):
            last = min(first + MOST_POINTS, self.grid.number) - 1
            start_s, end_s = (self.grid.start_s + n * self.grid.step_s for n in (first, last))
            if self.is_over:
                break
            span = (start_s, end_s, self.grid.step_s)
            try:
                answer = self.client.ask_range(Question(name, text, span), self.deadline_s)
            except (QueryFailed, Unavailable) as error:
                self._tell(f"the past is not known as a whole: {error}")
                self.is_over = isinstance(error, Unavailable)
                continue
            self.answers += 1
            for series in answer.series:
                key = frozenset(series.labels.items())
                points.setdefault(key, []).extend(series.points)
            for warning in answer.warnings:
                self._tell(f"Prometheus warns that data is partial: {warning}")
            if answer.odd:
                self._tell(f"query {name}: {answer.odd} points are not numbers (NaN, Inf)")
        return tuple(
            Series(dict(key), tuple(own))
            for key, own in sorted(points.items(), key=lambda item: sorted(item[0]))
        )

    def services(self, pool: str, name: str) -> dict[Key, Service]:
        """Return how many requests ended and how long they ran, from the counters."""
        sums = self.ask("service time sums", SERVICE.format(part="sum", pool=name))
        numbers = self.ask("service time counts", SERVICE.format(part="count", pool=name))
        total_s, number = (increases(found, self.grid) for found in (sums, numbers))
        return {
            (pool, resource): Service(number[resource], total_s[resource])
            for resource in sorted(number)
            if number[resource] > 0 and resource in total_s
        }

    def _tell(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)


def increases(found: Iterable[Series], grid: Grid) -> Mapping[str, float]:
    """Return by how much counters rose, by resource, all replicas together.

    A counter that falls has started anew from zero; holes are bridged.
    """
    total: dict[str, float] = {}
    for series in found:
        samples, _ = on_grid(series.points, grid)
        known = samples[~np.isnan(samples)]
        steps = np.diff(known)
        rise = float(np.where(steps < 0, known[1:], steps).sum())
        resource = resource_of(series.labels.get("profile", ""))
        total[resource] = total.get(resource, 0.0) + rise
    return total


def resource_of(profile: str) -> str:
    """Return the resource that a label of ours stands for: a profile, or its own name."""
    return profile if "/" in profile else resource_name(profile)


def _own_history(
    pool: str, grid: Grid, requested: Iterable[Series], services: Mapping[Key, Service]
) -> DemandHistory:
    phases: dict[str, dict[Key, FloatArray]] = {"pending": {}, "running": {}}
    for series in requested:
        own = phases.get(series.labels.get("phase", ""))
        if own is not None:
            key = (pool, resource_of(series.labels.get("profile", "")))
            own[key], _ = on_grid(series.points, grid)
    pending, held = phases["pending"], phases["running"]
    wanted = {key: held[key] + pending[key] for key in held if key in pending}
    sources = (Source.OWN_METRICS,) if wanted else ()
    return DemandHistory(grid, wanted, held, services, sources=sources)
