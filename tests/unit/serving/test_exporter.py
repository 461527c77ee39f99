"""Metrics as Prometheus reads them."""

import shutil
import subprocess

import pytest

from autoscaler.control.metric_catalog import CATALOG, Kind, Metric, counter, gauge
from autoscaler.control.telemetry import Sample, Telemetry, initial_telemetry
from autoscaler.serving.exporter import Exporter
from autoscaler.serving.process_metrics import (
    PROCESS_METRICS,
    crashed,
    missed,
    process_start,
    reloaded,
)

JOBS = counter("jobs", "Jobs.", "result")
HEAT = gauge("heat_celsius", "Heat.", "place")
LEVEL = gauge("level_ratio", "Level.")
WAIT = Metric("wait_seconds", Kind.HISTOGRAM, "Wait.", buckets=(1.0, 5.0))


def lines(exporter):
    """Return the values of an exporter by series."""
    text = exporter.exposition().decode()
    pairs = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def test_what_has_no_labels_is_there_from_the_first_scrape():
    """At zero; and every metric is declared."""
    exporter = Exporter((JOBS, LEVEL, WAIT))
    found = lines(exporter)
    assert found["mig_autoscaler_level_ratio"] == 0.0
    assert found["mig_autoscaler_wait_seconds_count"] == 0.0
    assert "# TYPE mig_autoscaler_jobs_total counter" in exporter.exposition().decode()


def test_gauges_are_replaced_and_counters_grow():
    """A place that is gone leaves no series; a metric not mentioned keeps what it had."""
    exporter = Exporter((JOBS, HEAT, LEVEL))
    exporter.take(
        Telemetry(
            gauges=(Sample(HEAT, 20.0, ("a",)), Sample(HEAT, 21.0, ("b",)), Sample(LEVEL, 0.5)),
            increments=(Sample(JOBS, 2.0, ("good",)), Sample(JOBS, 0.0, ("bad",))),
        )
    )
    exporter.take(
        Telemetry((Sample(HEAT, 25.0, ("b",)),), (Sample(JOBS, 1.0, ("good",)),)),
    )
    assert lines(exporter) == {
        'mig_autoscaler_heat_celsius{place="b"}': 25.0,
        "mig_autoscaler_level_ratio": 0.5,
        'mig_autoscaler_jobs_total{result="good"}': 3.0,
        'mig_autoscaler_jobs_total{result="bad"}': 0.0,
    }


def test_histograms_count_at_and_below_each_bound():
    """A value on a bound belongs to it."""
    exporter = Exporter((WAIT,))
    values = (0.5, 1.0, 3.0, 60.0)
    exporter.take(Telemetry(observations=tuple(Sample(WAIT, value) for value in values)))
    assert lines(exporter) == {
        'mig_autoscaler_wait_seconds_bucket{le="1.0"}': 2.0,
        'mig_autoscaler_wait_seconds_bucket{le="5.0"}': 3.0,
        'mig_autoscaler_wait_seconds_bucket{le="+Inf"}': 4.0,
        "mig_autoscaler_wait_seconds_sum": 64.5,
        "mig_autoscaler_wait_seconds_count": 4.0,
    }


def test_label_values_are_escaped():
    """Names of pools come from people."""
    exporter = Exporter((HEAT,))
    exporter.take(Telemetry((Sample(HEAT, 1.0, ('a"b\\\n',)),)))
    assert list(lines(exporter)) == ['mig_autoscaler_heat_celsius{place="a\\"b\\\\\\n"}']


def full_exporter():
    """Return all metrics after a start, a crash, a miss and two reloads."""
    exporter = Exporter((*CATALOG, *PROCESS_METRICS))
    news = (crashed(), missed(), reloaded(5.0, is_good=True), reloaded(6.0, is_good=False))
    for telemetry in (initial_telemetry(), process_start(4.0), *news):
        exporter.take(telemetry)
    return exporter


def test_the_process_tells_of_itself():
    """Crashes, misses, reloads, and which version it is."""
    found = lines(full_exporter())
    assert found["mig_autoscaler_loop_exceptions_total"] == 1.0
    assert found["mig_autoscaler_cycles_missed_total"] == 1.0
    assert found["mig_autoscaler_policy_invalid"] == 1.0
    assert found["mig_autoscaler_policy_last_success_timestamp_seconds"] == 5.0
    assert found['mig_autoscaler_policy_reloads_total{result="good"}'] == 1.0
    assert [name for name in found if name.startswith("mig_autoscaler_build_info{")] != []


def test_names_are_there_once_and_documented():
    """Two metrics of one name would hide each other."""
    every = (*CATALOG, *PROCESS_METRICS)
    assert len({metric.full_name for metric in every}) == len(every)
    assert [metric.name for metric in every if not metric.help.endswith(".")] == []


@pytest.mark.prometheus
def test_promtool_finds_nothing_to_say():
    """Names, units, types and help are as Prometheus recommends."""
    promtool = shutil.which("promtool")
    assert promtool is not None
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=full_exporter().exposition(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
