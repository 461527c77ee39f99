"""Jobs out of the history of requests, on the simulated Prometheus over HTTP."""

import numpy as np
import pytest

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.prometheus.history import PrometheusPast
from autoscaler.domain.errors import ConfigError, Unavailable
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.planning.past.demand_history import DemandHistory, Grid
from autoscaler.simulation.prometheus.api import Outage, PrometheusApi
from autoscaler.simulation.prometheus.series import SeriesStore, Target
from autoscaler.simulation.prometheus_server import PrometheusServer
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.sources.recorded import STEP_S, Reach, Recorded, recorded
from tests.studies import MODEL, ONE, THREE, TWO, WHOLE

REQUESTS = "kube_pod_container_resource_requests"
PHASE = "kube_pod_status_phase"
ALLOCATABLE = "kube_node_status_allocatable"
HALF, GPU = "nvidia_com_mig_3g_20gb", "nvidia_com_gpu"
MINUTE_S = 60.0


class Cluster:
    """A cluster as kube-state-metrics shows it to a Prometheus."""

    def __init__(self, until_s):
        self.store = SeriesStore()
        self.target = Target((("instance", "ksm:8080"),), STEP_S)
        self.target.up.set(0.0, 1.0)
        self.until_s = until_s
        for resource in (HALF, GPU):
            labels = {"node": "n1", "resource": resource}
            self.show(ALLOCATABLE, labels, (0.0, until_s))

    def show(self, name, labels, span_s, value=1.0):
        """Show a series for some time."""
        key = self.store.set(self.target, name, labels, span_s[0], value)
        if span_s[1] < self.until_s:
            self.store.end(name, key, span_s[1])

    def pod(self, name, resource, times_s, number=1.0):
        """Show a pod that is pending, runs and ends at three times."""
        pod = {"namespace": "x", "pod": name, "uid": f"u-{name}"}
        asked_s, bound_s, end_s = times_s
        wanted = {**pod, "container": "main", "resource": resource, "unit": "integer"}
        if bound_s > asked_s:
            self.show(REQUESTS, {**wanted, "node": ""}, (asked_s, bound_s), number)
            self.show(PHASE, {**pod, "phase": "Pending"}, (asked_s, bound_s))
        self.show(REQUESTS, {**wanted, "node": "n1"}, (bound_s, end_s), number)
        self.show(PHASE, {**pod, "phase": "Running"}, (bound_s, end_s))

    def jobs(self, outage=None, **changes):
        """Return what is read out of it."""
        api = PrometheusApi(self.store, lambda: self.until_s)
        api.outage = outage or Outage()
        reach = Reach(self.until_s, self.until_s, **changes)
        with PrometheusServer(api) as server:
            settings = Prometheus(url=server.url, timeout_s=5.0)
            past = PrometheusPast(settings, SystemClock())
            return recorded(past, "here", MODEL, reach)


def test_requests_become_jobs_with_their_arrival_and_their_run_time():
    """A job that waited ten minutes still ran for an hour; a GPU is the whole one."""
    cluster = Cluster(6 * 3600.0)
    cluster.pod("a", HALF, (600.0, 1200.0, 4800.0))
    cluster.pod("b", GPU, (3600.0, 3600.0, 7200.0))
    found = [(r.arrival_s, r.run_s, r.profile) for r in cluster.jobs().rows]
    assert found == [
        (pytest.approx(600.0, abs=MINUTE_S), pytest.approx(3600.0, abs=MINUTE_S), THREE),
        (pytest.approx(3600.0, abs=MINUTE_S), pytest.approx(3600.0, abs=MINUTE_S), WHOLE),
    ]


def test_days_are_those_of_the_calendar():
    """So that the weekday of each is known: the first point is a midnight of UTC."""
    cluster = Cluster(3 * DAY_S + 6 * 3600.0)
    cluster.pod("a", HALF, (3 * DAY_S, 3 * DAY_S, 3 * DAY_S + 3600.0))
    assert cluster.jobs().read(MODEL).zero_s == 0.0


def test_a_request_for_several_instances_is_as_many_jobs():
    """As the jobs of any trace are."""
    cluster = Cluster(6 * 3600.0)
    cluster.pod("a", HALF, (600.0, 600.0, 1200.0), number=3.0)
    assert [row.profile for row in cluster.jobs().rows] == [THREE] * 3


def test_what_is_read_makes_a_trace_whose_days_begin_at_midnight():
    """Of UTC; a run of a trace begins with a day."""
    assert Reach(10 * DAY_S + 3000.0, 2 * DAY_S).grid() == Grid(
        8 * DAY_S, STEP_S, round((2 * DAY_S + 3000.0) / STEP_S)
    )


class Known:
    """A past that is told, in place of one that is asked for."""

    def __init__(self, wanted, notices=()):
        self.wanted, self.notices = wanted, notices
        self.asked = []

    def demand(self, pool, grid, alone):
        """Return it on any grid."""
        self.asked.append(pool)
        wanted = {(pool, name): own for name, own in self.wanted.items()}
        return DemandHistory(grid, wanted, notices=self.notices)


def test_variants_are_served_by_the_smallest_profile_that_has_all_of_them():
    """Twice the memory of a slice is that of a 2g; others' profiles are not ours."""
    samples = np.array([0.0, 1.0, 1.0, 0.0])
    names = ("mig-1g.10gb", "mig-1g.5gb.me", "mig-4g.24gb")
    past = Known({f"nvidia.com/{name}": samples.copy() for name in names})
    rows = recorded(past, "here", MODEL, Reach(4 * STEP_S, 4 * STEP_S)).rows
    assert sorted(row.profile for row in rows) == [ONE, TWO]
    # From the second point on, until the fourth.
    assert {(row.arrival_s, row.run_s) for row in rows} == {(STEP_S, 2 * STEP_S)}


def test_what_is_not_known_is_said():
    """The half of the time that Prometheus had nothing of; and that nobody asked at all."""
    gap = np.array([np.nan, np.nan, 1.0, 0.0])
    found = recorded(Known({"nvidia.com/gpu": gap}), "here", MODEL, Reach(240.0, 240.0))
    assert found.notices == (
        "2m of the last 4m are known; the rest counts as if nobody had asked",
    )
    with pytest.raises(ConfigError, match="here: no request for a GPU is known in the last 6h"):
        Cluster(6 * 3600.0).jobs()


def test_our_own_metrics_of_a_pool_are_asked_for_by_its_name():
    """And what they say of themselves is passed on."""
    samples = np.array([1.0, 1.0, 0.0, 0.0])
    past = Known({"nvidia.com/gpu": samples}, ("half of it is missing",))
    found = recorded(past, "here", MODEL, Reach(240.0, 240.0, pool="a100"))
    assert past.asked == ["a100"]
    assert [row.profile for row in found.rows] == [WHOLE]
    assert found.notices == ("half of it is missing",)


def test_a_prometheus_that_does_not_answer_is_no_empty_past():
    """Nothing is made up."""
    with pytest.raises(Unavailable):
        Cluster(3600.0).jobs(Outage(status=503))


def test_recorded_jobs_are_a_value():
    """The same jobs have the same fingerprint, whenever they were read."""
    cluster = Cluster(6 * 3600.0)
    cluster.pod("a", HALF, (600.0, 600.0, 1200.0))
    first, second = cluster.jobs(), cluster.jobs()
    assert first == second
    assert first.fingerprint() == second.fingerprint() != Recorded("here", ()).fingerprint()
    assert first.seeded(5) == first
    assert first.read(MODEL).rows == first.rows
