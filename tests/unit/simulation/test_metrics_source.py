"""What the simulated Prometheus shows of a cluster, also to the real adapter."""

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

from autoscaler.adapters.prometheus.metrics import PrometheusMetrics
from autoscaler.domain.counts import Counts
from autoscaler.domain.policy.policy import Prometheus
from autoscaler.ports import PODS
from autoscaler.simulation.metrics.dcgm import ScrapeSettings
from autoscaler.simulation.metrics.exposition import parse_exposition
from autoscaler.simulation.prometheus_server import PrometheusServer
from autoscaler.simulation.workload import pod_body
from tests.samples import vector
from tests.worlds import (
    HALVES,
    ONE,
    SEVENS,
    START_S,
    THREE,
    apply_configuration,
    cordon,
    devices,
    make_world,
    task,
)

ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
USED = "DCGM_FI_DEV_FB_USED"


def elements(world, query: str):
    return world.metrics.api.query(query)["result"]


def counts(world, query: str) -> dict[str, str]:
    return vector(world.metrics.api, query, world.clock.now_s())


def fetch(url: str, form: dict[str, str] | None = None):
    data = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(url, data=data, timeout=10) as reply:
        return json.load(reply)


def test_instances_show_who_holds_them():
    """The workload's pod is under exported_pod; an idle instance names only the exporter."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=1000.0)])
    world.run_for(60)
    found = {e["metric"].get("exported_pod"): e for e in elements(world, ACTIVE)}
    assert set(found) == {"job", None}
    busy, idle = found["job"], found[None]
    assert busy["metric"]["exported_namespace"] == "jobs"
    assert busy["metric"]["GPU_I_PROFILE"] == "3g.20gb"
    assert busy["metric"]["Hostname"] == "n1"
    assert busy["metric"]["pod"].startswith("nvidia-dcgm-exporter")
    assert (busy["value"][1], idle["value"][1]) == ("0.9", "0")
    used = {
        e["metric"].get("exported_pod"): float(e["value"][1]) for e in elements(world, USED)
    }
    assert used["job"] > 1000 > used[None]


def test_labels_can_be_honored_or_missing():
    """With honored labels the workload has the plain names; without pods none."""
    world = make_world(HALVES, scrapes=ScrapeSettings(honor_labels=True))
    world.submit([task("job", {THREE: 1}, run_s=1000.0)])
    world.run_for(60)
    assert counts(world, f"count by (pod, namespace) ({ACTIVE})") == {
        "": "1",
        "namespace=jobs,pod=job": "1",
    }
    blind = make_world(HALVES, scrapes=ScrapeSettings(pod_labels=False))
    blind.submit([task("job", {THREE: 1}, run_s=1000.0)])
    blind.run_for(60)
    assert counts(blind, f"count by (exported_pod) ({ACTIVE})") == {"": "2"}


def test_exporter_is_silent_while_instances_change():
    """Its series end when it is stopped and come back with the new instances."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    assert counts(world, f"count({ACTIVE})") == {"": "2"}
    world.run_for(30)
    assert counts(world, f"count({ACTIVE})") == {}
    world.run_for(200)
    assert counts(world, f"count by (GPU_I_PROFILE) ({ACTIVE})") == {
        "GPU_I_PROFILE=1g.5gb": "7"
    }


def test_collection_is_older_than_the_scrape():
    """A job that has just started is not seen before the next collection."""
    world = make_world(HALVES)
    seen_after_s = None
    world.submit([task("job", {THREE: 1}, run_s=1000.0)])
    for second in range(90):
        world.run_for(1)
        if counts(world, f"{ACTIVE} > 0"):
            seen_after_s = second + 1
            break
    assert seen_after_s is not None
    assert 1 < seen_after_s <= 45


def test_pending_pods_are_counted_by_the_default_query():
    """Unbound pods count, bound and gated-by-nothing others do not; idle shows as zero."""
    world = make_world(HALVES)
    cordon(world)
    world.submit([task(f"job-{i}", {THREE: 1}) for i in range(3)])
    world.submit([task("small", {ONE: 2})])
    world.run_for(60)
    query = (
        'sum by (resource) (kube_pod_container_resource_requests{node=""} and on '
        '(namespace, pod, uid) kube_pod_status_phase{phase="Pending"} == 1)'
    )
    found = counts(world, query)
    assert found["resource=nvidia_com_mig_3g_20gb"] == "3"
    assert found["resource=nvidia_com_mig_1g_5gb"] == "2"
    unschedulable = 'count(kube_pod_status_unschedulable{namespace="jobs"})'
    assert counts(world, unschedulable) == {"": "4"}
    queue = 'scheduler_pending_pods{queue="unschedulable"}'
    assert list(counts(world, queue).values()) == ["4"]
    cordon(world, closed=False)
    world.run_for(60)
    assert counts(world, query)["resource=nvidia_com_mig_3g_20gb"] == "1"


def test_node_series_follow_the_node():
    """Allocatable, capacity and cordon, with the resource names as they are written."""
    world = make_world(HALVES)
    cordon(world)
    world.run_for(30)
    labels = {"node": "n1", "resource": "nvidia_com_mig_3g_20gb"}
    (amount,) = elements(
        world, f'kube_node_status_allocatable{{resource="{labels["resource"]}"}}'
    )
    assert amount["metric"].items() >= labels.items()
    assert amount["value"][1] == "2"
    assert list(counts(world, "kube_node_spec_unschedulable").values()) == ["1"]


def test_health_of_targets():
    """A silent exporter is down; a job that is not scraped keeps its old samples."""
    world = make_world(HALVES)
    world.run_for(30)
    up = 'sum by (job) (up{job="nvidia-dcgm-exporter"})'
    assert counts(world, up) == {"job=nvidia-dcgm-exporter": "1"}
    world.faults.silent_exporters.add("n1")
    world.run_for(30)
    assert counts(world, up) == {"job=nvidia-dcgm-exporter": "0"}
    assert counts(world, f"count({ACTIVE})") == {}
    world.faults.silent_exporters.clear()
    world.run_for(30)
    assert counts(world, f"count({ACTIVE})") == {"": "2"}
    world.faults.scrape_gaps.add("nvidia-dcgm-exporter")
    world.run_for(200)
    assert counts(world, f"count({ACTIVE})") == {"": "2"}
    ages = f"time() - max(timestamp({ACTIVE}))"
    assert 200 <= float(counts(world, ages)[""]) <= 220
    world.run_for(150)
    assert counts(world, f"count({ACTIVE})") == {}


def test_own_metrics_are_scraped():
    """A text exposition becomes series; a program that is away is down."""
    world = make_world(HALVES)
    text = '# HELP x y\nmine{pool="a\\"b",phase="pending"} 3\nsince 1e3\n'
    answers = [text]

    def exposition() -> str:
        if not answers:
            raise ConnectionRefusedError
        return answers[0]

    world.metrics.scrape(exposition, "autoscaler", interval_s=30.0)
    world.run_for(60)
    (element,) = elements(world, "mine")
    assert element["metric"]["pool"] == 'a"b'
    assert element["value"][1] == "3"
    assert list(counts(world, "since").values()) == ["1000"]
    answers.clear()
    world.run_for(30)
    assert elements(world, "mine") == []
    assert list(counts(world, 'up{job="autoscaler"}').values()) == ["0"]
    with pytest.raises(ValueError, match="not a sample"):
        list(parse_exposition("what is this"))


def test_real_adapter_reads_the_facade():
    """Instances, holders, activity and pending counts arrive as values."""
    world = make_world(HALVES, HALVES)
    world.submit([task("job", {THREE: 1}, run_s=1000.0), task("wait", {ONE: 1})])
    world.run_for(90)
    with PrometheusServer(world.metrics.api) as server:
        metrics = PrometheusMetrics(
            Prometheus(url=server.url), world.clock, lambda: [*devices(world), ONE]
        )
        view = metrics.observe()
    assert not view.partial
    assert view.pending == Counts({ONE: 1})
    assert len(view.instances) == 4
    holders = [str(s.pod) for s in view.instances if s.pod is not None]
    assert holders == ["jobs/job"]
    assert sorted(str(s.busy) for s in view.instances) == ["False", "False", "False", "True"]
    assert all(
        s.sampled_at_s is not None and START_S + 60 < s.sampled_at_s <= START_S + 90
        for s in view.instances
    )


def test_facade_speaks_the_api():
    """GET and POST, instant and range, labels, series, errors with their status."""
    world = make_world(HALVES)
    world.run_for(60)
    with PrometheusServer(world.metrics.api) as server:
        base = f"{server.url}/api/v1"
        assert fetch(f"{base}/query", {"query": "1 + 1"})["data"]["result"][1] == "2"
        by_get = fetch(f"{base}/query?query=vector(1)&time={START_S}")
        assert by_get["data"]["result"][0]["value"] == [START_S, "1"]
        query = urllib.parse.quote(f"sum({ACTIVE})")
        ranged = fetch(
            f"{base}/query_range?query={query}&start={START_S}&end={START_S + 60}&step=30s"
        )
        assert ranged["data"]["resultType"] == "matrix"
        assert [at for at, _ in ranged["data"]["result"][0]["values"]] == [
            START_S,
            START_S + 30,
            START_S + 60,
        ]
        assert "GPU_I_ID" in fetch(f"{base}/labels")["data"]
        assert fetch(f"{base}/label/GPU_I_PROFILE/values")["data"] == ["3g.20gb"]
        assert len(fetch(f"{base}/series", {"match[]": ACTIVE})["data"]) == 2
        assert fetch(f"{base}/status/buildinfo")["data"]["version"]
        for path, code, kind in (
            ("query?query=topk(1,up)", 400, "bad_data"),
            ("query", 400, "bad_data"),
            ("query_range?query=up&start=0&end=20000&step=1", 400, "bad_data"),
            ("query?query=up*on()up", 422, "execution"),
            ("nothing", 404, "not_found"),
        ):
            with pytest.raises(urllib.error.HTTPError) as caught:
                fetch(f"{base}/{path}")
            assert caught.value.code == code
            assert json.load(caught.value)["errorType"] == kind
            caught.value.close()


def test_facade_can_be_out_of_service_or_partial():
    """Scripted: a status for every answer, or warnings beside it."""
    world = make_world(HALVES)
    api = world.metrics.api
    api.outage.warnings = ("a store is away",)
    reply = api.answer("/api/v1/query", {"query": ["1"]})
    assert (reply.status, reply.body["warnings"]) == (200, ["a store is away"])
    api.outage.status = 503
    assert api.answer("/api/v1/query", {"query": ["1"]}).status == 503


def test_deleted_pods_leave_no_series():
    """kube-state-metrics shows what exists."""
    world = make_world(HALVES)
    body = pod_body(task("job", {THREE: 1}, run_s=None))
    world.platform.client.create(PODS, "jobs", body)
    world.run_for(30)
    query = 'count(kube_pod_info{namespace="jobs"})'
    assert counts(world, query) == {"": "1"}
    world.platform.client.delete(PODS, "jobs", "job")
    world.run_for(30)
    assert counts(world, query) == {}
