"""Explanations of a live cluster, over HTTP, with a live Prometheus and without."""

import time
from contextlib import contextmanager

import pytest

from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.commands import Shell, write_policy
from tests.loops import world_with_namespace
from tests.worlds import HALVES, ONE, SEVENS, THREE, WHOLE, task

FOUR = "nvidia.com/mig-4g.20gb"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture(scope="module")
def world():
    """One node of a halved GPU, half of it in use, and a GPU of small ones; two pods wait.

    Its time is that of this machine, because samples have an age.
    """
    start_s = time.time() - 400.0
    own = world_with_namespace(HALVES, SEVENS, start_s=start_s)
    own.submit([task("runs", {THREE: 1}, run_s=None, arrival_s=start_s)])
    own.submit([task("large", {FOUR: 1}, run_s=None, arrival_s=start_s + 60.0)])
    own.submit([task("huge", {WHOLE: 2}, run_s=None, arrival_s=start_s + 60.0)])
    own.run_until(time.time())
    return own


@contextmanager
def told(shell, world, tmp_path, *lines, metrics=True):
    """Yield a function that explains a subject and returns its text on one line."""
    kubeconfig = tmp_path / "kubeconfig"
    with ApiServer(world.store) as server, PrometheusServer(world.metrics.api) as prometheus:
        write_kubeconfig(kubeconfig, server.url)
        line = f'prometheus: {{url: "{prometheus.url}"}}' if metrics else ""
        policy = write_policy(tmp_path, "rollout: {warmUp: 0s}", line, *lines)

        def explain(subject):
            where = ("--policy", policy, "--kubeconfig", str(kubeconfig))
            result = shell.run("explain", subject, *where)
            assert result.code == 0
            return " ".join(result.out.split())

        yield explain


def test_each_subject_is_told_what_people_ask(shell, world, tmp_path):
    """When, for whom, at which price, what forbids it, and what the fleet lacks."""
    window = 'disruption: {windows: [{days: [mon], start: "03:00", end: "03:01"}]}'
    with told(shell, world, tmp_path, window) as explain:
        pod, node = explain("pod/jobs/large"), explain("node/n1")
        fleet = explain("fleet")
    assert "n1 is to be re-cut for it, but not yet" in pod
    assert "OutsideWindow" in pod
    assert "03:00 UTC" in pod
    assert "GPU 1 change 7x1g.5gb ->" in node
    assert f"for pending pods, {FOUR}: " in node
    assert f"{FOUR} in pool" in fleet
    assert "without the ban on evictions (disruption.eviction)" in fleet
    assert "fewest GPUs" in fleet
    assert "one more node" in fleet


def test_without_metrics_the_node_is_told_what_is_missing(shell, world, tmp_path):
    """Its idle GPU is known as such, and yet only the empty node could be changed."""
    with told(shell, world, tmp_path, metrics=False) as explain:
        node = explain("node/n1")
    assert "MetricsMissing: there are no metrics" in node
    assert "metrics there are no metrics: only an empty node may be changed" in node
    assert ONE.rpartition("/")[2] in node
