"""Dumps of kubectl: any mix of files, and everything that can be wrong with them."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.adapters.dump import read_dumps
from autoscaler.domain.cluster.objects import ClaimDriver, Gang, Observation
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from tests.builders import api_node, api_pod

NOW_S = 1_900_000_000.0
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file and returns its path; objects become JSON."""

    def write_one(content: object, name: str = "dump.json") -> str:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(
                content if isinstance(content, str) else json.dumps(content, indent=4)
            )
        return str(path)

    return write_one


def listed(*items: dict[str, Any], kind: str = "List") -> dict[str, Any]:
    """Return a list as kubectl writes it, its kind after its items."""
    return {"apiVersion": "v1", "items": list(items), "kind": kind, "metadata": {}}


def read(*paths: str) -> Observation:
    """Return what files hold."""
    return read_dumps(paths, NOW_S)


def names(found: Observation) -> tuple[list[str], list[str]]:
    """Return the names of nodes and pods."""
    return [node.name for node in found.nodes], [pod.name for pod in found.pods]


def test_a_mix_of_files_is_one_observation(write: Write) -> None:
    """A list, a single object, YAML documents; sorted, at the given time."""
    paths = [
        write(listed(api_node("b"), api_node("a"), api_pod("z")), "list.json"),
        write(api_pod("y"), "pod.json"),
        write(yaml.safe_dump_all([api_node("c"), listed(api_pod("x"))]), "more.yaml"),
    ]
    found = read(*paths)
    assert names(found) == (["a", "b", "c"], ["x", "y", "z"])
    assert (found.observed_at_s, found.offline, found.notices) == (NOW_S, True, ())
    assert found == read(*reversed(paths))


def test_standard_input_is_a_dash(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a pipe from kubectl."""
    content = json.dumps(listed(api_node())).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert names(read("-")) == (["node-a"], [])


def test_items_take_the_kind_of_their_list(write: Write) -> None:
    """Raw lists of the API do not repeat it, wherever the list states its own."""
    node, pod = api_node(), api_pod()
    for raw in (node, pod):
        del raw["kind"], raw["apiVersion"]
    first = {"kind": "NodeList", "apiVersion": "v1", "items": [node]}
    last = {"items": [pod], "apiVersion": "v1", "kind": "PodList"}
    paths = write(first, "n.json"), write(last, "p.json")
    assert names(read(*paths)) == (["node-a"], ["pod-a"])


def test_dumps_may_follow_each_other_in_a_file(write: Write) -> None:
    """Appended to one another, slurped into an array, or as an array of objects."""
    nodes, pods = listed(api_node()), listed(api_pod())
    appended = json.dumps(nodes) + "\n" + json.dumps(pods, indent=2)
    for content in (appended, [nodes, pods], [api_node(), api_pod()]):
        assert names(read(write(content))) == (["node-a"], ["pod-a"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_shells_are_read(write: Write, encoding: str) -> None:
    """PowerShell writes UTF-16 when it redirects."""
    text = json.dumps(listed(api_node(labels={"note": "é"})), ensure_ascii=False)
    assert read(write(text.encode(encoding))).nodes[0].labels["note"] == "é"


def test_yaml_without_quotes_stays_text(write: Write) -> None:
    """By YAML 1.1 these would be false, ten, a date and a number."""
    text = """
kind: Node
metadata:
  name: a
  creationTimestamp: 2030-01-10T08:00:00Z
  labels: {answer: no, version: 012x, time: 22:00, on: off, empty: }
status:
  allocatable: {nvidia.com/mig-1g.5gb: 7}
"""
    node = read(write(text, "n.yaml")).nodes[0]
    assert node.labels == {
        "answer": "no",
        "version": "012x",
        "time": "22:00",
        "on": "off",
        "empty": "",
    }
    assert node.allocatable == Counts({"nvidia.com/mig-1g.5gb": 7})
    assert node.created_s == 1_894_262_400.0
    assert node.faults == ()


def test_flow_style_yaml_is_no_broken_json(write: Write) -> None:
    """It begins with a brace too."""
    text = "{kind: Node, metadata: {name: a}}\n---\n---\n{kind: Node, metadata: {name: b}}\n"
    assert names(read(write(text, "n.yaml"))) == (["a", "b"], [])


NODE = '{"kind": "Node", "metadata": {"name": "a"}}'
BAD_FILES: dict[str, tuple[object, str]] = {
    "empty": ("", "the file is empty"),
    "blank": (" \n\n", "the file is empty"),
    "binary": (b"\x7fELF\x00\x01", "not a text file"),
    "not utf-8": (b'{"kind": "\xff\xfe\xfa"}', "not a text file"),
    "cut in a text": ('{"kind": "Li', r":1:\d+: the JSON is cut off"),
    "cut between items": (f'{{"items": [{NODE},\n', r":2:1: the JSON is cut off"),
    "cut in an item": ('{"items": [\n{"kind": "Node", "metadata": {', "cut off"),
    "cut in a word": ('{"kind": nul', "cut off|not JSON"),
    "bad JSON": (f'{{"kind": "List",\n "items": [{NODE} 2]}}', r":2:56: not JSON"),
    "bad item": ('{"items": [\n{"kind" "Node"}]}', r":2:9: not JSON"),
    "no comma": ('{"kind": "List" "items": []}', r":1:17: not JSON"),
    "more after it": ('{"kind": "List", "items": []} x', r"not JSON"),
    "bad YAML": ("kind: Node\n\tmetadata: x\n", r":2:1: not JSON, and not YAML"),
    "plain text": ("hello", "object 1 is not a Kubernetes object"),
    "a number": ("17", "object 1 is not a Kubernetes object"),
    "items that are none": ('{"kind": "List", "items": [1]}', "not a Kubernetes object"),
    "no kind": ('{"a": 1}', "object 1 has no kind"),
    "a kind that is none": ('{"kind": 7}', "object 1 has no kind"),
    "another kind": ({"kind": "Deployment", "apiVersion": "apps/v1"}, "holds only Deployment"),
    "a policy": ("kind: MigPolicy\nmetadata: {name: x}\n", "holds only MigPolicy"),
    "an error": ({"kind": "Status", "apiVersion": "v1"}, "holds only Status"),
    "another group": (
        {"kind": "ClusterPolicy", "apiVersion": "kyverno.io/v1", "metadata": {"name": "x"}},
        "holds only ClusterPolicy",
    ),
    "no name": ({"kind": "Node", "apiVersion": "v1", "metadata": {}}, "without metadata.name"),
    "odd metadata": ({"kind": "Pod", "metadata": []}, "without metadata.name"),
    "deep nesting": ('{"a":' * 200_000, "nested too deeply|cut off"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_a_config_error(write: Write, content: object, message: str) -> None:
    """It names the file, and the position where there is one."""
    path = write(content)
    with pytest.raises(ConfigError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_config_errors(tmp_path: Path) -> None:
    """With the words of the system."""
    with pytest.raises(ConfigError, match="No such file"):
        read(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match="directory"):
        read(str(tmp_path))


def test_without_a_node_there_is_nothing_to_plan(write: Write) -> None:
    """Also when all lists are there and empty."""
    with pytest.raises(ConfigError, match="no node"):
        read(write(listed(api_pod())))
    with pytest.raises(ConfigError, match="no node"):
        read(write(listed()))
    with pytest.raises(ConfigError, match="no node"):
        read()


def test_other_kinds_beside_are_noticed(write: Write) -> None:
    """With their number; nothing of them is shown."""
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}
    found = read(write(listed(api_node(), secret, secret)))
    assert found.notices == ("not used: 2 Secret",)


def test_the_same_twice_counts_once(write: Write) -> None:
    """Two dumps of one cluster overlap; the resource version may have moved on."""
    again = api_node()
    again["metadata"]["resourceVersion"] = "99"
    found = read(write(listed(api_node(), again, api_pod(), api_pod())))
    assert names(found) == (["node-a"], ["pod-a"])
    assert found.nodes[0].faults == ()
    assert found.notices == (
        "1 Node objects appear more than once, unchanged",
        "1 Pod objects appear more than once, unchanged",
    )


def test_a_node_with_two_contents_is_marked(write: Write) -> None:
    """Which one is true cannot be known, so the node is to be held."""
    other = api_node(status={"allocatable": {"nvidia.com/mig-1g.5gb": "3"}})
    found = read(write(listed(api_node(), other, api_node("node-b"))))
    assert [len(node.faults) for node in found.nodes] == [1, 0]
    assert "different contents" in found.nodes[0].faults[0]
    assert found.notices == ("Node node-a appears more than once, with different contents",)


def test_a_pod_with_two_contents_marks_its_nodes(write: Write) -> None:
    """It may hold a device on either."""
    one = api_pod(spec={"nodeName": "node-a"})
    two = api_pod(spec={"nodeName": "node-b"})
    found = read(write(listed(*map(api_node, ("node-a", "node-b", "node-c")), one, two)))
    assert [bool(node.faults) for node in found.nodes] == [True, True, False]
    assert found.pods[0].faults


def test_one_uid_under_two_names_marks_both(write: Write) -> None:
    """One of them is not what it says."""
    twin = api_node("node-b")
    twin["metadata"]["uid"] = "uid-node-a"
    found = read(write(listed(api_node(), twin)))
    assert all("uid" in node.faults[0] for node in found.nodes)


def test_pods_on_other_nodes_are_left_out_and_noticed(write: Write) -> None:
    """With the first names; pending pods stay."""
    strays = [api_pod(f"s-{n}", spec={"nodeName": f"far-{n}"}) for n in range(5)]
    found = read(write(listed(api_node(), api_pod(), *strays)))
    assert names(found) == (["node-a"], ["pod-a"])
    assert found.notices == (
        "5 pods are left out: their nodes are not in the input (far-0, far-1, far-2, …)",
    )


def named(kind: str, version: str, name: str = "x", **parts: Any) -> dict[str, Any]:
    """Return an object of a kind."""
    metadata = {"name": name, "namespace": "default"}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, **parts}


def test_all_kinds_that_matter_are_read(write: Write) -> None:
    """Budgets, quotas, classes, gangs, claim drivers, and where MIG manager looks."""
    marked = api_pod(metadata={"annotations": {"scheduling.k8s.io/group-name": "x"}})
    hard = {"requests.nvidia.com/mig-1g.5gb": "4"}
    found = read(
        write(
            listed(
                api_node(),
                marked,
                named("PodDisruptionBudget", "policy/v1", status={"disruptionsAllowed": 1}),
                named("ResourceQuota", "v1", spec={"hard": hard}),
                named("PriorityClass", "scheduling.k8s.io/v1", value=10),
                named("PodGroup", "scheduling.volcano.sh/v1beta1", spec={"minMember": 2}),
                named(
                    "ResourceSlice",
                    "resource.k8s.io/v1",
                    spec={"nodeName": "node-a", "driver": "gpu.nvidia.com"},
                ),
                named(
                    "ClusterPolicy",
                    "nvidia.com/v1",
                    spec={"migManager": {"config": {"name": "own"}}},
                ),
                named("ConfigMap", "v1", "own", data={"config.yaml": "mig-configs: {}"}),
                named("ConfigMap", "v1", "other", data={"a": "b"}),
            )
        )
    )
    assert found.budgets[0].disruptions_allowed == 1
    assert found.quotas[0].hard == Counts({"nvidia.com/mig-1g.5gb": 4})
    assert found.priority_classes == {"x": 10}
    assert found.pods[0].gang == Gang("x", 2)
    assert found.claim_drivers == (ClaimDriver("node-a", "gpu.nvidia.com"),)
    assert found.mig_config_map == "own"
    assert [config_map.name for config_map in found.config_maps] == ["own"]


def test_objects_that_contradict_themselves_are_not_believed(write: Write) -> None:
    """A budget then allows nothing, a ConfigMap is not there."""
    budgets = [
        named("PodDisruptionBudget", "policy/v1", status={"disruptionsAllowed": number})
        for number in (1, 2)
    ]
    maps = [
        named("ConfigMap", "v1", data={"config.yaml": f"mig-configs: {n}"}) for n in range(2)
    ]
    found = read(write(listed(api_node(), *budgets, *maps)))
    assert (found.budgets[0].disruptions_allowed, found.budgets[0].observed) == (0, False)
    assert found.config_maps == ()
    assert len(found.notices) == 2


def test_nodes_with_a_manager_are_unknown_unless_one_is_in_the_dump(write: Write) -> None:
    """Files of the workloads' namespaces do not show the operator's pods."""
    assert read(write(listed(api_node(), api_pod()))).manager_nodes is None
    manager = api_pod(
        metadata={"labels": {"app": "nvidia-mig-manager"}},
        spec={"nodeName": "node-a"},
        status={"conditions": [{"type": "Ready", "status": "True"}]},
    )
    assert read(write(listed(api_node(), manager))).manager_nodes == frozenset({"node-a"})


def test_one_odd_object_does_not_lose_the_others(write: Write) -> None:
    """Its faults are named on it."""
    odd = api_pod("odd", spec={"containers": [{"name": "m", "resources": {"limits": 7}}]})
    found = read(write(listed(api_node(), odd, api_pod())))
    assert [bool(pod.faults) for pod in found.pods] == [True, False]
