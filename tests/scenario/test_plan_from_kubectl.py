"""What a real kubectl prints leads to the plan that the cluster itself leads to."""

import os
import subprocess

import pytest
import yaml

from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from tests.commands import Shell, write_policy
from tests.worlds import HALVES, ONE, START_S, THREE, make_world, task

pytestmark = pytest.mark.kubectl

KINDS = "nodes,pods,pdb,configmaps,resourcequotas,priorityclasses"
AT = "2023-11-14T22:20:00Z"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture(scope="module")
def world():
    """Two nodes of two halved GPUs; a job runs on one, small jobs wait."""
    own = make_world(HALVES, HALVES, nodes=("n1", "n2"))
    own.submit([task("runs", {THREE: 1}, run_s=9000.0)])
    own.submit([task(f"small-{i}", {ONE: 1}, arrival_s=START_S + 5.0) for i in range(9)])
    own.run_for(60)
    return own


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_dump_and_the_cluster_agree(shell, world, tmp_path, form):
    """Changes, unserved pods, holds and demand, whichever way the cluster is read."""
    kubeconfig, dump = tmp_path / "config", tmp_path / "dump"
    policy = write_policy(tmp_path, "rollout: {warmUp: 0s}")
    options = ("--policy", policy, "--at", AT, "-o", "json")
    with ApiServer(world.store) as server:
        write_kubeconfig(kubeconfig, server.url)
        done = subprocess.run(
            ["kubectl", "get", KINDS, "-A", "-o", form],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "KUBECONFIG": str(kubeconfig),
            },
            capture_output=True,
            check=True,
        )
        live = shell.run("plan", "--kubeconfig", str(kubeconfig), *options)
    dump.write_bytes(done.stdout)
    offline = shell.run("plan", "--from", str(dump), *options)
    assert (live.code, offline.code) == (0, 0)
    assert len(yaml.safe_load(done.stdout)["items"]) > 10
    assert len(live.json["changes"]) == 1
    for key in ("changes", "unserved", "holds", "demand", "policy", "observedAt"):
        assert offline.json[key] == live.json[key], key
