"""The default queries on a real Prometheus: the same view as from the file it scrapes."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.prometheus.files import read_metrics
from autoscaler.adapters.prometheus.metrics import PrometheusMetrics
from autoscaler.domain.cluster.objects import InstanceSample, MetricsView
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.policy.policy import Prometheus
from tests.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.prometheus

BOARD = 'gpu="0",UUID="GPU-1",modelName="NVIDIA A100-SXM4-40GB",Hostname="gpu-a1"'
TEXT = f"""\
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{BOARD},GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",\
namespace="team-x",pod="infer-0"}} 0.83
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{BOARD},GPU_I_PROFILE="1g.5gb",GPU_I_ID="8"}} 0
# TYPE DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO gauge
DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO{{{BOARD},GPU_I_PROFILE="2g.10gb",GPU_I_ID="3"}} 0
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{{{BOARD},GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",\
namespace="team-x",pod="infer-0"}} 3000
DCGM_FI_DEV_FB_USED{{{BOARD},GPU_I_PROFILE="1g.5gb",GPU_I_ID="8"}} 12
DCGM_FI_DEV_FB_USED{{{BOARD},GPU_I_PROFILE="2g.10gb",GPU_I_ID="3"}} 4000
# TYPE kube_pod_container_resource_requests gauge
kube_pod_container_resource_requests{{namespace="x",pod="a",uid="u-a",container="main",\
node="",resource="nvidia_com_mig_1g_5gb",unit="integer"}} 2
kube_pod_container_resource_requests{{namespace="x",pod="b",uid="u-b",container="main",\
node="",resource="nvidia_com_mig_1g_5gb",unit="integer"}} 1
kube_pod_container_resource_requests{{namespace="x",pod="done",uid="u-d",container="main",\
node="",resource="nvidia_com_mig_1g_5gb",unit="integer"}} 1
kube_pod_container_resource_requests{{namespace="x",pod="bound",uid="u-r",container="main",\
node="gpu-a1",resource="nvidia_com_mig_1g_5gb",unit="integer"}} 1
# TYPE kube_pod_status_phase gauge
kube_pod_status_phase{{namespace="x",pod="a",uid="u-a",phase="Pending"}} 1
kube_pod_status_phase{{namespace="x",pod="a",uid="u-a",phase="Running"}} 0
kube_pod_status_phase{{namespace="x",pod="b",uid="u-b",phase="Pending"}} 1
kube_pod_status_phase{{namespace="x",pod="done",uid="u-d",phase="Pending"}} 0
kube_pod_status_phase{{namespace="x",pod="done",uid="u-d",phase="Failed"}} 1
kube_pod_status_phase{{namespace="x",pod="bound",uid="u-r",phase="Pending"}} 1
# TYPE kube_node_status_allocatable gauge
kube_node_status_allocatable{{node="gpu-a1",resource="nvidia_com_mig_1g_5gb",unit="integer"}} 2
kube_node_status_allocatable{{node="gpu-a1",resource="nvidia_com_mig_2g_10gb",unit="integer"}} 1
"""
SCRAPES = """\
global: {{scrape_interval: 250ms}}
scrape_configs:
- job_name: all
  honor_labels: {honor}
  static_configs:
  - {{targets: ["{target}"], labels: {{namespace: gpu-operator, pod: dcgm-exporter-z9}}}}
"""


@pytest.fixture
def exporter() -> Iterator[ScriptedServer]:
    """A server whose only page is the text."""
    headers = {"Content-Type": "text/plain; version=0.0.4"}
    with ScriptedServer(Reply(TEXT, headers=headers)) as server:
        yield server


@pytest.fixture(params=["true", "false"])
def prometheus(
    request: pytest.FixtureRequest, tmp_path: Path, exporter: ScriptedServer
) -> Iterator[str]:
    """The address of a Prometheus that scrapes it, with the labels' own names or not."""
    config = tmp_path / "prometheus.yml"
    target = exporter.url.removeprefix("http://")
    config.write_text(SCRAPES.format(honor=request.param, target=target))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(("prometheus", *arguments), stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def complete_view(url: str) -> MetricsView:
    """Return the view once all has been scraped; in the end whatever there is."""
    clock = SystemClock()
    for tries in count():
        try:
            urlopen(f"{url}/-/ready", timeout=1).close()
            view = PrometheusMetrics(Prometheus(url=url), clock).observe()
            if (view.pending is not None and len(view.instances) == 3) or tries > 100:
                # The first scrape may have come between two queries of this pass.
                return PrometheusMetrics(Prometheus(url=url), clock).observe()
        except (URLError, ConnectionError, Unavailable):
            if tries > 100:
                raise
        clock.sleep(0.1)
    raise AssertionError("not reached")


def test_the_queries_say_what_the_file_says(tmp_path: Path, prometheus: str) -> None:
    """Busy, provably idle and unknown; pending without finished and bound pods."""
    view = complete_view(prometheus)
    path = tmp_path / "metrics.txt"
    path.write_text(TEXT)
    expected = read_metrics(str(path), view.observed_at_s)
    assert [timeless(s) for s in view.instances] == [timeless(s) for s in expected.instances]
    assert [(s.instance_id, s.busy) for s in view.instances] == [
        ("3", None),
        ("7", True),
        ("8", False),
    ]
    assert view.pending == expected.pending == Counts({"nvidia.com/mig-1g.5gb": 3})
    ages_s = [view.observed_at_s - (sample.sampled_at_s or 0.0) for sample in view.instances]
    assert all(-5.0 < age_s < 60.0 for age_s in ages_s)
    assert not view.partial


def timeless(sample: InstanceSample) -> InstanceSample:
    """Return a sample without its time."""
    return replace(sample, sampled_at_s=None)
