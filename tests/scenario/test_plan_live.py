"""A dry run on a live cluster with a live Prometheus, both over HTTP."""

import time

import pytest

from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.commands import Shell, write_policy
from tests.worlds import HALVES, ONE, THREE, make_world, task

REST = ("rollout: {warmUp: 0s}",)


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture(scope="module")
def world():
    """One node of two halved GPUs: one half in use, seven small jobs waiting.

    Its time is that of this machine, because samples have an age.
    """
    start_s = time.time() - 400.0
    own = make_world(HALVES, HALVES, start_s=start_s)
    own.submit([task("runs", {THREE: 1}, run_s=90_000.0, arrival_s=start_s)])
    small = [
        task(f"small-{i}", {ONE: 1}, run_s=900.0, arrival_s=start_s + 60.0) for i in range(7)
    ]
    own.submit(small)
    own.run_until(time.time())
    return own


def test_metrics_prove_which_gpu_is_idle(shell, world, tmp_path):
    """Without them neither GPU may be cut, because the pod may sit on either."""
    kubeconfig = tmp_path / "kubeconfig"
    with ApiServer(world.store) as server, PrometheusServer(world.metrics.api) as prometheus:
        write_kubeconfig(kubeconfig, server.url)
        blind = write_policy(tmp_path, *REST, name="blind.yaml")
        line = f'prometheus: {{url: "{prometheus.url}"}}'
        seeing = write_policy(tmp_path, *REST, line, name="seeing.yaml")

        def plan(policy):
            arguments = ("--policy", policy, "--kubeconfig", str(kubeconfig), "-o", "json")
            return shell.run("plan", *arguments).json

        without, found = plan(blind), plan(seeing)
    assert without["changes"] == []
    assert {note["reason"] for note in without["unserved"]} == {"GpusBusy"}
    assert any("no Prometheus" in notice for notice in without["notices"])
    (change,) = found["changes"]
    assert [gpu["after"] for gpu in change["gpus"]] == [{"1g.5gb": 7}]
    assert len(change["serves"]) == 7


def test_a_prometheus_that_is_away_narrows_the_plan(shell, world, tmp_path):
    """The dry run says so and plans on the API server alone."""
    kubeconfig = tmp_path / "kubeconfig"
    policy = write_policy(
        tmp_path, *REST, 'prometheus: {url: "http://127.0.0.1:9", timeout: 1s}'
    )
    with ApiServer(world.store) as server:
        write_kubeconfig(kubeconfig, server.url)
        result = shell.run(
            "plan", "--policy", policy, "--kubeconfig", str(kubeconfig), "-o", "json"
        )
    assert result.code == 0
    assert result.json["changes"] == []
    assert any("no metrics: Prometheus" in notice for notice in result.json["notices"])
