"""Forecasts of a live cluster from a live Prometheus, both over HTTP."""

from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from autoscaler.cli.moment import moment_text
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.prometheus.api import Outage, PrometheusApi
from autoscaler.simulation.prometheus.series import SeriesStore, Target
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.commands import Shell, write_policy
from tests.worlds import SEVENS, START_S, make_world

REQUESTED = "mig_autoscaler_requested_instances"
SUCCESS = "mig_autoscaler_cycle_last_success_timestamp_seconds"
SERVICE = "mig_autoscaler_service_duration_seconds"
HOUR_S, DAY_S = 3600.0, 86400.0
SMALL, HALF = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
# Noon of a Wednesday, later than anything that the world holds.
NOON_S = (START_S // DAY_S + 1) * DAY_S + DAY_S / 2


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def office_hours(at_s, base):
    """Return more by day than by night, and a little more every third hour."""
    hour = datetime.fromtimestamp(at_s, UTC).hour
    return base + (6 if 8 <= hour < 18 else 0) + (int(at_s // HOUR_S) % 3 == 0)


def restless(at_s, base):
    """Return one of a few numbers, in no order that a clock would know."""
    return base + (int(at_s // HOUR_S) * 7919 % 11) // 2


def past_of(days, shape=office_hours):
    """Return what a replica of the product has exported for so many days until noon."""
    store = SeriesStore()
    target = Target((("instance", "a:8080"),), 60.0)
    start_s = NOON_S - days * DAY_S
    target.up.set(start_s, start_s)
    for number in range(int(days * DAY_S // 240) + 1):
        at_s = start_s + number * 240.0
        store.set(target, SUCCESS, {}, at_s, at_s)
    for profile, base in (("1g.5gb", 2), ("3g.20gb", 1)):
        labels = {"pool": "a100", "profile": profile}
        for number in range(int(days * 24) + 1):
            at_s = start_s + number * HOUR_S
            store.set(
                target, REQUESTED, {**labels, "phase": "running"}, at_s, shape(at_s, base)
            )
            store.set(target, REQUESTED, {**labels, "phase": "pending"}, at_s, 0.0)
            store.set(target, f"{SERVICE}_count", labels, at_s, 4.0 * number)
            store.set(target, f"{SERVICE}_sum", labels, at_s, 4.0 * number * 1800.0)
    return PrometheusApi(store, lambda: NOON_S)


@contextmanager
def cluster(tmp_path, api):
    """Yield the options of a command on a cluster of two GPUs with this Prometheus."""
    world = make_world(SEVENS, SEVENS)
    kubeconfig = tmp_path / "kubeconfig"
    with ApiServer(world.store) as server, PrometheusServer(api) as prometheus:
        write_kubeconfig(kubeconfig, server.url)
        policy = write_policy(
            tmp_path,
            f'prometheus: {{url: "{prometheus.url}", timeout: 10s}}',
            "demand: {forecast: {history: 4d, minHistory: 1d}}",
            "planning: {past: {history: 4d, minHistory: 1d}}",
        )
        yield ("--policy", policy, "--kubeconfig", str(kubeconfig), "--at", moment_text(NOON_S))


def forecast(shell, tmp_path, api, *options):
    """Return the forecast of the only pool."""
    with cluster(tmp_path, api) as where:
        result = shell.run("forecast", *where, *options, "-o", "json")
    assert result.code == 0
    (pool,) = result.json["pools"]
    return pool


def of(pool, resource):
    """Return what is expected of one resource."""
    return next(own for own in pool["profiles"] if own["resource"] == resource)


def test_metrics_of_days_give_quantiles_and_a_home_mix(shell, tmp_path):
    """From queries of ranges over HTTP; the next hours of the day are seen coming."""
    pool = forecast(shell, tmp_path, past_of(4), "--horizon", "2h")
    small = of(pool, SMALL)
    assert pool["madeAt"] == moment_text(NOON_S)
    assert pool["knownSeconds"] == pytest.approx(4 * DAY_S, rel=0.01)
    assert pool["homeMix"]["sources"] == ["mig-autoscaler"]
    assert small["now"] == office_hours(NOON_S, 2)
    assert 8 <= small["p10"] <= small["p50"] <= small["p90"] <= 9
    assert small["meanServiceSeconds"] == 1800.0
    assert pool["usedByPlans"] or pool["reason"]


def test_the_evening_is_expected_to_be_quieter(shell, tmp_path):
    """As far as the horizon reaches, and it reaches into the night."""
    far = of(forecast(shell, tmp_path, past_of(4), "--horizon", "12h"), SMALL)
    assert far["p10"] <= 3
    assert far["p90"] >= 8


def test_with_little_history_the_range_widens(shell, tmp_path):
    """Of demand that goes up and down with no rhythm."""
    widths = []
    for days in (4.0, 1.2):
        own = of(forecast(shell, tmp_path, past_of(days, restless)), HALF)
        widths.append(own["p90"] - own["p10"])
    assert widths[1] >= widths[0] > 0


def test_below_the_least_history_there_is_none(shell, tmp_path):
    """It says how much is missing, and plans go by what waits."""
    silent = forecast(shell, tmp_path, past_of(0.5, restless))
    assert of(silent, HALF)["p50"] is None
    assert not silent["usedByPlans"]
    assert "1d are needed" in silent["reason"]


def test_a_prometheus_that_fails_is_told_and_nothing_is_expected(shell, tmp_path):
    """No number stands for what is not known."""
    api = past_of(1)
    api.outage = Outage(status=503)
    pool = forecast(shell, tmp_path, api)
    assert pool["profiles"] == []
    assert not pool["usedByPlans"]
    assert "not known" in pool["reason"]


def test_a_plan_goes_by_what_is_likely(shell, tmp_path):
    """Free GPUs are cut for what the coming hours will ask for, though nobody waits."""
    with cluster(tmp_path, past_of(2, lambda _, base: base * 2.0)) as where:
        plan = shell.run("plan", *where, "-o", "json").json
    assert set(plan["terms"]["avoided"]) == {"likely"}
    assert set(plan["terms"]["avoided"]["likely"]) >= {HALF}
