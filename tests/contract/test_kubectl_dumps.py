"""What kubectl writes is what the API says: a dump and a live pass agree."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaler.adapters.dump import read_dumps
from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.domain.cluster.objects import Observation
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import Store, StoreClient
from tests.builders import api_node, api_pod

pytestmark = pytest.mark.kubectl

NOW_S = 1_900_000_000.0
TEXT = "- text: with a dash\n  items:\nno: 'quotes' \"too\"\n"


@pytest.fixture
def store() -> Store:
    """A cluster with objects of each kind that a dump should have."""
    clock = VirtualClock(NOW_S)
    store = Store(clock.now_s)
    labels = {"answer": "no", "version": "1.10", "number": "012", "nvidia.com/gpu.count": "8"}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "pdb", "namespace": "default", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2},
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mig-autoscaler-config", "namespace": "gpu-operator"},
        "data": {"config.yaml": f"version: v1\nmig-configs:\n{TEXT}"},
    }
    pods = [
        api_pod("a", metadata={"annotations": {"mig-autoscaler.io/lost-work": TEXT}}),
        api_pod("b", spec={"nodeName": "node-a", "priority": 5, "tolerations": []}),
    ]
    store.load([api_node("node-a", labels=labels), api_node("node-b"), *pods])
    store.load([budget, config_map])
    return store


@pytest.fixture
def kubeconfig(store: Store, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig that leads to the cluster."""
    with ApiServer(store) as server:
        path = tmp_path / "kubeconfig"
        write_kubeconfig(path, server.url)
        yield path


def comparable(found: Observation) -> Observation:
    """Return an observation less what files cannot know."""
    return replace(
        found,
        offline=True,
        manager_nodes=None,
        priority_classes={},
        nodes=tuple(replace(node, config_writer="") for node in found.nodes),
    )


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("together", [True, False])
def test_a_dump_is_what_a_live_pass_sees(
    store: Store, kubeconfig: Path, form: str, together: bool
) -> None:
    """In JSON and YAML, in one file and in one a kind."""
    kinds = ["nodes", "pods", "pdb", "configmaps"]
    paths = []
    for what in [",".join(kinds)] if together else kinds:
        path = kubeconfig.with_name(f"{what}.{form}")
        command = ("kubectl", f"--kubeconfig={kubeconfig}", "get", what, "-A", "-o", form)
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        path.write_bytes(done.stdout)
        paths.append(str(path))
    dumped = read_dumps(paths, NOW_S)
    live = KubernetesCluster(StoreClient(store), VirtualClock(NOW_S)).observe()
    assert comparable(dumped) == comparable(live)
    assert dumped.nodes[0].labels["answer"] == "no"
    assert dumped.pods[0].annotations["mig-autoscaler.io/lost-work"] == TEXT
