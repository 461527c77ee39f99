"""A real ``kubectl`` against the simulated API server: what operators type."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autoscaler.ports import DISRUPTION_BUDGETS, EVENTS, NODES, PODS
from autoscaler.simulation.api_server import ApiServer, write_kubeconfig
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request, Verb
from autoscaler.simulation.apiserver.resources import DAEMON_SETS
from tests.api import NS, Api, named
from tests.builders import raw_budget, raw_node, raw_pod

pytestmark = pytest.mark.kubectl

Kubectl = Callable[..., str]
TIMEOUT_S = 60


@pytest.fixture
def api() -> Api:
    """Return a cluster of two nodes, two pods of a ReplicaSet and a DaemonSet's pod."""
    api = Api()
    for name in ("gpu-1", "gpu-2"):
        api.client.create(NODES, None, raw_node(name, nodeInfo={"kubeletVersion": "v1.32.4"}))
    daemon_set = api.client.create(DAEMON_SETS, NS, named("agent"))
    for name, owner in (("a", None), ("b", None), ("agent-1", daemon_set)):
        kind, uid = ("DaemonSet", owner["metadata"]["uid"]) if owner else ("ReplicaSet", "rs-1")
        body = raw_pod(name, terminationGracePeriodSeconds=0)
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": "agent", "uid": uid}
        body["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
        api.client.create(PODS, NS, body)
        api.client.post(PODS, NS, name, "binding", {"target": {"name": "gpu-1"}})
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "conditions": [ready], "podIP": "10.0.0.9"}
        api.client.patch(PODS, NS, name, {"status": status}, "status")
    return api


@pytest.fixture
def kubectl(api: Api, tmp_path: Path) -> Iterator[Kubectl]:
    """Return a function that runs kubectl; what it wrote, errors included, is returned."""
    with ApiServer(api.store) as server:
        write_kubeconfig(tmp_path / "config", server.url)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "KUBECONFIG": str(tmp_path / "config"),
        }

        def run(*arguments: str, fails: bool = False, stdin: str = "") -> str:
            done = subprocess.run(
                ["kubectl", *arguments],
                env=environment,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            output = done.stdout + done.stderr
            assert (done.returncode != 0) is fails, output
            return output

        yield run


def rows(output: str) -> list[list[str]]:
    """Return the cells of a table; more than one blank separates them."""
    return [line.split() for line in output.strip().splitlines()]


def test_get_nodes(kubectl: Kubectl) -> None:
    """With status, roles, age and version; wide has more."""
    header, first, _ = rows(kubectl("get", "nodes"))
    assert header == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert first == ["gpu-1", "Ready", "<none>", "0s", "v1.32.4"]
    assert "INTERNAL-IP" in kubectl("get", "no", "-o", "wide")
    assert kubectl("get", "nodes", "-o", "name").split() == ["node/gpu-1", "node/gpu-2"]


def test_get_pods(kubectl: Kubectl) -> None:
    """In all namespaces, wide, selected, sorted, as JSON."""
    header, first, *_ = rows(kubectl("get", "pods", "-A", "-o", "wide"))
    assert header[:5] == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS"]
    assert first[:4] == [NS, "a", "0/1", "Running"]
    assert "gpu-1" in first
    by_node = ("get", "pods", "--field-selector", "spec.nodeName=gpu-2")
    assert "No resources found" in kubectl(*by_node)
    listed = json.loads(kubectl("get", "pods", "-l", "app=train", "-o", "json"))
    assert [p["metadata"]["name"] for p in listed["items"]] == ["a", "agent-1", "b"]
    assert "field label not supported" in kubectl(
        "get", "pods", "--field-selector", "spec.color=red", fails=True
    )


def test_describe_node(api: Api, kubectl: Kubectl) -> None:
    """Allocated devices and the events of the node."""
    body = {
        "metadata": {"name": "gpu-1.1"},
        "involvedObject": {"kind": "Node", "name": "gpu-1", "uid": "gpu-1"},
        "reason": "RolloutStarted",
        "message": "cutting two GPUs",
        "type": "Normal",
        "lastTimestamp": "2023-11-14T22:13:20Z",
    }
    api.client.create(EVENTS, NS, body)
    described = kubectl("describe", "node", "gpu-1")
    allocated = next(line for line in described.splitlines() if line.startswith("  nvidia.com"))
    assert allocated.split() == ["nvidia.com/mig-1g.5gb:", "7"]
    assert ["nvidia.com/mig-1g.5gb", "3", "3"] in rows(described)
    assert "cutting two GPUs" in described
    assert "RolloutStarted" in kubectl("get", "events")


def test_label_annotate_taint(api: Api, kubectl: Kubectl) -> None:
    """Set, overwrite, remove; a bad value is refused."""
    kubectl("label", "node", "gpu-1", "nvidia.com/mig.config=all-1g.5gb")
    assert "already has a value" in kubectl(
        "label", "node", "gpu-1", "nvidia.com/mig.config=all-3g.20gb", fails=True
    )
    kubectl("label", "node", "gpu-1", "nvidia.com/mig.config=all-3g.20gb", "--overwrite")
    kubectl("annotate", "node", "gpu-1", "mig-autoscaler.io/hold=true")
    kubectl("taint", "node", "gpu-1", "maintenance=yes:NoSchedule")
    node = api.client.get(NODES, None, "gpu-1")
    assert node["metadata"]["labels"]["nvidia.com/mig.config"] == "all-3g.20gb"
    assert node["metadata"]["annotations"]["mig-autoscaler.io/hold"] == "true"
    assert node["spec"]["taints"][0]["key"] == "maintenance"
    kubectl("annotate", "node", "gpu-1", "mig-autoscaler.io/hold-")
    kubectl("taint", "node", "gpu-1", "maintenance-")
    node = api.client.get(NODES, None, "gpu-1")
    assert "annotations" not in node["metadata"]
    assert "taints" not in node["spec"]
    writers = [e["manager"] for e in node["metadata"]["managedFields"]]
    assert "kubectl-label" in writers


def test_cordon_and_uncordon(kubectl: Kubectl) -> None:
    """The state shows in the table."""
    kubectl("cordon", "gpu-1")
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", "gpu-1")
    assert "already cordoned" in kubectl("cordon", "gpu-1")
    kubectl("uncordon", "gpu-1")
    assert "SchedulingDisabled" not in kubectl("get", "node", "gpu-1")


def test_drain_evicts_all_but_daemons(api: Api, kubectl: Kubectl) -> None:
    """Through the eviction API."""
    drained = kubectl("drain", "gpu-1", "--ignore-daemonsets", "--delete-emptydir-data")
    assert "node/gpu-1 drained" in drained
    assert api.names(PODS) == ["agent-1"]
    evictions = api.store.requests.entries(lambda e: e.subresource == "eviction")
    assert sorted(e.name for e in evictions) == ["a", "b"]


def test_drain_stops_at_a_budget(api: Api, kubectl: Kubectl) -> None:
    """It tries again until its time is over; both pods stay."""
    api.client.create(DISRUPTION_BUDGETS, NS, raw_budget())
    status = raw_budget(allowed=0)["status"]
    api.client.patch(DISRUPTION_BUDGETS, NS, "train", {"status": status}, "status")
    output = kubectl("drain", "gpu-1", "--ignore-daemonsets", "--timeout=1s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget" in output
    assert api.names(PODS) == ["a", "agent-1", "b"]


def test_get_with_watch(api: Api, kubectl: Kubectl) -> None:
    """Prints what is there and then each change, with an age that goes on."""

    def act(request: Request) -> None:
        api.clock.now_s += 50
        api.client.delete(PODS, NS, "b")

    # Called once the watch is open and before anything of it is sent.
    rule = Rule(Point.BEFORE_REPLY, Fault(call=act), lambda r: r.verb is Verb.WATCH)
    api.store.faults.add(rule)
    output = kubectl("get", "pods", "--watch", "--output-watch-events", "--request-timeout=2s")
    seen = [(row[0], row[1], row[5]) for row in rows(output)[1:] if len(row) > 5]
    assert seen[:3] == [("ADDED", name, "0s") for name in ("a", "agent-1", "b")]
    assert seen[3] == ("DELETED", "b", "50s")


def test_apply_twice_changes_nothing(api: Api, kubectl: Kubectl) -> None:
    """Client-side apply: created, unchanged, configured; the server keeps its defaults."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"k": "1"},
    }
    pod = raw_pod("applied")
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [config, pod]})
    assert kubectl("apply", "-f", "-", stdin=manifest).count("created") == 2
    assert kubectl("apply", "-f", "-", stdin=manifest).count("unchanged") == 2
    changed = manifest.replace('"k": "1"', '"k": "2"')
    assert "configmap/c configured" in kubectl("apply", "-f", "-", stdin=changed)
    assert "dry run" in kubectl("apply", "--dry-run=server", "-f", "-", stdin=manifest)
    assert kubectl("get", "cm", "c", "-o", "jsonpath={.data.k}") == "2"
    assert "applied" in api.names(PODS)


def test_create_and_delete(api: Api, kubectl: Kubectl) -> None:
    """What kubectl builds itself comes in protobuf."""
    kubectl("create", "namespace", "team")
    kubectl("create", "configmap", "c", "--from-literal=k=v", "-n", "team")
    assert "already exists" in kubectl("create", "namespace", "team", fails=True)
    kubectl("create", "quota", "q", "--hard=requests.nvidia.com/mig-1g.5gb=4", "-n", "team")
    assert "mig-1g.5gb: 0/4" in kubectl("get", "quota", "-n", "team")
    kubectl("create", "pdb", "p", "--selector=app=train", "--min-available=50%")
    assert "50%" in kubectl("get", "pdb")
    kubectl("delete", "pod", "a")
    kubectl("delete", "namespace", "team")
    assert "not found" in kubectl("get", "namespace", "team", fails=True)
    assert api.names(PODS) == ["agent-1", "b"]


def test_questions(kubectl: Kubectl) -> None:
    """Rights, kinds, versions, waiting."""
    assert "yes" in kubectl("auth", "can-i", "patch", "nodes")
    assert "podgroups" in kubectl("api-resources")
    assert "Server Version: v1." in kubectl("version")
    assert "condition met" in kubectl(
        "wait", "--for=condition=Ready", "node/gpu-1", "--timeout=5s"
    )
    assert "not found" in kubectl("get", "node", "none", fails=True)


def test_reading_writes_nothing(api: Api, kubectl: Kubectl) -> None:
    """The log tells reads from writes."""
    kubectl("get", "nodes")
    kubectl("describe", "pod", "a")
    kubectl("label", "node", "gpu-1", "a=b", "--dry-run=server")
    requests = api.store.requests.entries(lambda e: e.user_agent.startswith("kubectl"))
    assert requests
    assert not [entry for entry in requests if entry.mutating]
