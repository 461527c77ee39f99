"""Jobs out of the history that a real Prometheus keeps, through the command."""

import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from autoscaler.adapters.clock import SystemClock
from tests.commands import Shell

pytestmark = pytest.mark.prometheus

DAYS = 2
DAY_S, HOUR_S, STEP_S = 86_400, 3600, 60
RESOURCE = "nvidia_com_mig_3g_20gb"
# Each job waits for half an hour and runs for two; one every four hours, so none overlap.
WAIT_S, RUN_S, EVERY_S = 1800, 7200, 4 * HOUR_S
# What Prometheus looks back for a series that has ended without a word.
LOOKBACK_S = 300


def midnight() -> int:
    """Return the start of the history: a midnight of UTC, so many whole days ago."""
    return (int(time.time()) // DAY_S - DAYS) * DAY_S


def open_metrics(start_s: int) -> str:
    """Return samples of kube-state-metrics for all days, a minute apart."""
    requests, phases, nodes = [], [], []
    for at_s in range(start_s, start_s + DAYS * DAY_S, STEP_S):
        nodes.append(
            f'kube_node_status_allocatable{{node="n1",resource="{RESOURCE}"}} 2 {at_s}'
        )
    for number in range(DAYS * DAY_S // EVERY_S):
        pod = f'namespace="x",pod="p{number}",uid="u{number}"'
        asked_s = start_s + number * EVERY_S
        for at_s in range(asked_s, asked_s + WAIT_S + RUN_S, STEP_S):
            is_bound = at_s >= asked_s + WAIT_S
            node, phase = ("n1", "Running") if is_bound else ("", "Pending")
            labels = f'{pod},container="main",node="{node}",resource="{RESOURCE}"'
            requests.append(f"kube_pod_container_resource_requests{{{labels}}} 1 {at_s}")
            phases.append(f'kube_pod_status_phase{{{pod},phase="{phase}"}} 1 {at_s}')
    families = {
        "kube_pod_container_resource_requests": requests,
        "kube_pod_status_phase": phases,
        "kube_node_status_allocatable": nodes,
    }
    parts = [f"# TYPE {name} gauge\n" + "\n".join(own) for name, own in families.items()]
    return "\n".join(parts) + "\n# EOF\n"


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus that has had all of it for days."""
    source, data = tmp_path / "past.txt", tmp_path / "data"
    source.write_text(open_metrics(midnight()))
    subprocess.run(
        ("promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)),
        check=True,
        capture_output=True,
    )
    config = tmp_path / "prometheus.yml"
    config.write_text("global: {}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(("prometheus", *arguments), stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/-/ready")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def wait_for(url: str) -> None:
    """Return once a server answers."""
    clock = SystemClock()
    for tries in count():
        try:
            urlopen(url, timeout=1).close()
            return
        except (URLError, ConnectionError):
            if tries > 200:
                raise
        clock.sleep(0.1)


SCENARIO = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: Scenario
metadata: {{name: past}}
fleet: {{gpus: 1, loads: [0.22]}}
workload: {{prometheus: {{url: "{url}", history: {days}d}}}}
days: {{past: [0, 1], present: [1, 2]}}
baselines: [static-past, unpartitioned]
"""


def test_days_of_requests_become_a_study(
    prometheus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each request is a job; on one GPU with room for two of them none waits."""
    today = datetime.now(UTC).date()
    scenario = tmp_path / "past.yaml"
    scenario.write_text(SCENARIO.format(url=prometheus, days=DAYS))
    shell = Shell(capsys)
    by_file = shell.run("simulate", str(scenario), "-o", "json")
    found = shell.run(
        *("simulate", "--from-prometheus", prometheus, "--history", f"{DAYS}d"),
        *("--past-days", "0:1", "--days", "1:2", "--gpus", "1", "--load", "0.22"),
        *("--policies", "static-past,unpartitioned", "-o", "json"),
    )
    if datetime.now(UTC).date() != today:
        pytest.skip("a day began in the middle of it")
    assert (found.code, found.err) == (0, "")
    assert by_file.json == found.json
    static, unpartitioned = found.json["runs"]
    # Six in a day fill 3/7 of a GPU for half of the time and five minutes more each.
    assert static["jobs"] == unpartitioned["jobs"] == 6
    mean_s = static["meanCompletion"]
    assert RUN_S - STEP_S <= mean_s <= RUN_S + LOOKBACK_S + STEP_S
    assert static["meanWait"] == 0.0
    assert unpartitioned["column"] == "requests"
