"""The past of a pool from range queries, on the simulated Prometheus over HTTP."""

from contextlib import contextmanager

import numpy as np
import pytest

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.prometheus.history import (
    MOST_POINTS,
    PrometheusPast,
    increases,
    resource_of,
)
from autoscaler.adapters.prometheus.ranges import Series
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.planning.past.demand_history import Grid, Service, Source
from autoscaler.simulation.prometheus.api import Outage, PrometheusApi
from autoscaler.simulation.prometheus.series import SeriesStore, Target
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.samples import STEP_S
from tests.scripted_server import Reply, ScriptedServer

GRID = Grid(0.0, STEP_S, 4)
ONE = "nvidia.com/mig-1g.5gb"
KEY = ("a100", ONE)
REQUESTED = "mig_autoscaler_requested_instances"
SUCCESS = "mig_autoscaler_cycle_last_success_timestamp_seconds"
SERVICE = "mig_autoscaler_service_duration_seconds"
LABELS = {"pool": "a100", "profile": "1g.5gb"}


class Replica:
    """A replica of the product that Prometheus scrapes every minute."""

    def __init__(self, store: SeriesStore, instance: str = "a:8080") -> None:
        self.store = store
        self.target = Target((("instance", instance),), STEP_S)
        self.target.up.set(0.0, 0.0)
        self.looks(0.0, 60.0, 120.0, 180.0)

    def looks(self, *times_s: float) -> None:
        """Note when its cycles came to an end."""
        for at_s in times_s:
            self.store.set(self.target, SUCCESS, {}, at_s, at_s)

    def shows(self, name: str, *values: float | None, **labels: str) -> None:
        """Give a series one value a minute; None where it is absent."""
        key = None
        for index, value in enumerate(values):
            if value is not None:
                key = self.store.set(
                    self.target, name, {**LABELS, **labels}, index * STEP_S, value
                )
            elif key is not None:
                self.store.end(name, key, index * STEP_S)


@contextmanager
def past_of(store, outage=None):
    """Yield the adapter on a server with these series."""
    api = PrometheusApi(store, lambda: 0.0)
    api.outage = outage or Outage()
    with PrometheusServer(api) as server:
        yield PrometheusPast(Prometheus(url=server.url, timeout_s=5.0), SystemClock())


def test_wanted_is_what_waits_and_what_runs():
    """Both phases of a profile, and what was held of it."""
    store = SeriesStore()
    replica = Replica(store)
    replica.shows(REQUESTED, 1, 2, 0, 0, phase="pending")
    replica.shows(REQUESTED, 3, 3, 5, 4, phase="running")
    with past_of(store) as past:
        found = past.demand("a100", GRID, ())
    assert found.wanted[KEY].tolist() == [4, 5, 5, 4]
    assert found.held[KEY].tolist() == [3, 3, 5, 4]
    assert (found.sources, found.notices) == ((Source.OWN_METRICS,), ())


def test_what_was_not_exported_is_not_zero():
    """A series that began late is not known before."""
    store = SeriesStore()
    replica = Replica(store)
    replica.shows(REQUESTED, None, None, 0, 0, phase="pending")
    replica.shows(REQUESTED, None, None, 2, 2, phase="running")
    with past_of(store) as past:
        found = past.demand("a100", GRID, ())
    assert np.isnan(found.wanted[KEY]).tolist() == [True, True, False, False]
    assert found.notices == ("our own metrics know 2m of the past of pool a100",)


def test_a_replica_that_no_longer_looks_is_not_believed():
    """It shows what it saw when it still led, for as long as it lives."""
    store = SeriesStore()
    old, new = Replica(store, "a:8080"), Replica(store, "b:8080")
    grid = Grid(0.0, STEP_S, 9)
    for replica, running in ((old, 9), (new, 2)):
        replica.shows(REQUESTED, 0, phase="pending")
        replica.shows(REQUESTED, running, phase="running")
    new.looks(*(index * STEP_S for index in range(9)))
    with past_of(store) as past:
        found = past.demand("a100", grid, ())
    assert found.wanted[KEY].tolist() == [9] * 8 + [2]


def test_service_times_are_the_rise_of_their_counters():
    """Three requests of 100 s each since the start."""
    store = SeriesStore()
    replica = Replica(store)
    replica.shows(f"{SERVICE}_sum", 500, 500, 600, 800)
    replica.shows(f"{SERVICE}_count", 7, 7, 8, 10)
    with past_of(store) as past:
        found = past.demand("a100", GRID, ())
    assert found.services == {KEY: Service(3, 300)}


@pytest.mark.parametrize(
    ("points", "rise"),
    [
        ([(0, 5), (60, 7), (120, 1), (180, 2)], 4),
        ([(0, 5), (180, 9)], 4),
        ([(180, 9), (0, 5), (60, 6)], 4),
        ([(0, 5)], 0),
        ([], 0),
    ],
    ids=["reset", "hole", "out of order", "single", "none"],
)
def test_counters_may_restart_and_have_holes(points, rise):
    """After a restart they count from zero again."""
    assert increases([Series({"profile": "1g.5gb"}, tuple(points))], GRID) == {ONE: rise}


def test_counters_may_be_larger_than_any_number_of_instances():
    """They are sums of seconds over all that ever ran."""
    store = SeriesStore()
    replica = Replica(store)
    replica.shows(REQUESTED, 1, 1, 1, 1, phase="running")
    replica.shows(REQUESTED, 0, 0, 0, 0, phase="pending")
    replica.shows(f"{SERVICE}_sum", 1e9, 1e9, 1e9 + 3600, 1e9 + 7200)
    replica.shows(f"{SERVICE}_count", 1e6, 1e6, 1e6 + 1, 1e6 + 2)
    with past_of(store) as past:
        found = past.demand("a100", GRID, ())
    assert found.services[KEY] == Service(2, 7200)


def test_kube_state_metrics_fill_what_came_before():
    """Of resources that no other pool has, and by that name."""
    store = SeriesStore()
    replica = Replica(store)
    replica.shows(REQUESTED, None, None, 0, 0, phase="pending")
    replica.shows(REQUESTED, None, None, 2, 2, phase="running")
    state = Target((("job", "kube-state-metrics"),), STEP_S)
    state.up.set(0.0, 0.0)
    pod = {"namespace": "x", "pod": "p", "uid": "u"}
    amounts = {**pod, "container": "c", "resource": "nvidia_com_mig_1g_5gb", "node": "n"}
    store.set(state, "kube_pod_container_resource_requests", amounts, 0.0, 3)
    phase = {**pod, "phase": "Running"}
    store.set(state, "kube_pod_status_phase", phase, 0.0, 1)
    with past_of(store) as past:
        found = past.demand("a100", GRID, (ONE,))
        alone = past.demand("a100", GRID, ())
    assert found.wanted[KEY].tolist() == [3, 3, 2, 2]
    assert found.held[KEY].tolist() == [3, 3, 2, 2]
    assert found.sources == (Source.OWN_METRICS, Source.KUBE_STATE_METRICS)
    assert np.isnan(alone.wanted[KEY][0])


def test_warnings_are_told():
    """A back end that gives half of the data says so."""
    with past_of(SeriesStore(), Outage(warnings=("a store is away",))) as past:
        found = past.demand("a100", GRID, ())
    assert "Prometheus warns that data is partial: a store is away" in found.notices
    assert found.wanted == {}


def test_without_any_answer_it_is_unavailable():
    """Nobody is told that there was no demand."""
    with past_of(SeriesStore(), Outage(status=503)) as past, pytest.raises(Unavailable):
        past.demand("a100", GRID, (ONE,))


def answer(seen):
    """Answer every question with one point at its start."""
    start = float(seen.query["start"])
    series = {"metric": {"profile": "1g.5gb", "phase": "x"}, "values": [[start, "NaN"], "odd"]}
    return Reply({"status": "success", "data": {"resultType": "matrix", "result": [series]}})


def test_long_pasts_are_asked_for_in_pieces():
    """No piece has more points than Prometheus gives, and none is asked for twice."""
    grid = Grid(0.0, 60.0, 2 * MOST_POINTS + 5)
    with ScriptedServer(choose=answer) as server:
        past = PrometheusPast(Prometheus(url=server.url, timeout_s=5.0), SystemClock())
        found = past.demand("a100", grid, ())
        asked = [
            tuple(float(seen.query[key]) for key in ("start", "end", "step"))
            for seen in server.seen
            if REQUESTED in seen.query["query"]
        ]
    ends = [(MOST_POINTS - 1) * 60.0, (2 * MOST_POINTS - 1) * 60.0, grid.end_s - 60.0]
    assert asked == [
        (0.0, ends[0], 60.0), (ends[0] + 60, ends[1], 60.0), (ends[1] + 60, ends[2], 60.0)
    ]  # fmt: skip
    assert "query requested: 2 points are not numbers (NaN, Inf)" in found.notices


def test_answers_of_another_type_are_refused():
    """A range query has a matrix for an answer."""
    vector = {"status": "success", "data": {"resultType": "vector", "result": []}}
    with ScriptedServer(Reply(vector)) as server:
        past = PrometheusPast(Prometheus(url=server.url, timeout_s=5.0), SystemClock())
        with pytest.raises(Unavailable, match="the result is a vector"):
            past.demand("a100", GRID, ())


def test_a_label_may_be_a_profile_or_a_resource():
    """Nodes of no known model show resources by their own name."""
    assert resource_of("1g.5gb") == ONE
    assert resource_of("nvidia.com/gpu") == "nvidia.com/gpu"
