"""Input that is wrong: a clear error or a named hold, never a traceback, never a guess."""

import json

import pytest
import yaml

from tests.commands import Shell, write_policy
from tests.dumps import (
    SEVEN,
    TWO_BIG,
    dump_configurations,
    dump_list,
    dump_node,
    dump_pod,
    write_dump,
)

INPUT, OK = 65, 0
SMALL = "nvidia.com/mig-1g.5gb"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def holds_of(result, node="gpu-1"):
    """Return the reasons for which a node is left alone, and their messages."""
    return {h["reason"]: h["message"] for h in result.json["holds"] if h.get("node") == node}


def plan_of(shell, tmp_path, *objects, policy=""):
    return shell.plan(write_dump(tmp_path, *objects), policy=policy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("   \n", "the file is empty"),
        ('{"apiVersion": "v1", "kind": "List", "items": []}', "there is no node"),
        ('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "No', ":1:"),
        ('{"kind": "SecretList", "items": [{"kind": "Secret"}]}', "Secret"),
        ("[1, 2]", "object 1 is not a Kubernetes object"),
        ("just words", "is not a Kubernetes object"),
        ("a: [1", "not JSON, and not YAML"),
        ("\x00\x01", "not a text file"),
    ],
)
def test_a_file_that_is_no_dump_is_named(shell, tmp_path, text, said):
    """The error names the file and what is wrong, and the exit code says input."""
    path = tmp_path / "dump"
    path.write_text(text)
    result = shell.plan(str(path))
    assert result.code == INPUT
    assert result.out == ""
    assert said in result.err
    assert "dump" in result.err or "no node" in result.err


def test_a_file_that_is_not_there_is_named(shell, tmp_path):
    """A missing file and a folder are errors of input."""
    for path in (tmp_path / "nothing.json", tmp_path):
        result = shell.plan(str(path))
        assert result.code == INPUT
        assert str(path) in result.err


def test_a_truncated_dump_is_not_half_a_fleet(shell, tmp_path):
    """Wherever a dump is cut off, there is an error and no plan."""
    text = json.dumps(dump_list(dump_node(), dump_node("gpu-2"), dump_pod()))
    path = tmp_path / "cut.json"
    for length in range(1, len(text) - 1, 97):
        path.write_text(text[:length])
        result = shell.plan(str(path))
        assert result.code == INPUT, text[:length]
        assert result.out == ""


def test_several_yaml_documents_are_one_dump(shell, tmp_path):
    """Documents with one object each and lists may be mixed."""
    path = tmp_path / "dump.yaml"
    documents = [dump_node(), dump_list(dump_pod("a"), dump_pod("b")), dump_configurations()]
    path.write_text("\n---\n".join(yaml.safe_dump(d) for d in documents))
    result = shell.plan(str(path))
    assert result.code == OK
    assert [c["node"] for c in result.json["changes"]] == ["gpu-1"]


def test_a_node_without_gpu_labels_is_in_no_pool(shell, tmp_path):
    """It is neither changed nor guessed at, and nothing else suffers."""
    bare = dump_node("plain")
    bare["metadata"]["labels"] = {"kubernetes.io/hostname": "plain"}
    result = plan_of(shell, tmp_path, bare, dump_node(), dump_pod(), dump_configurations())
    assert [c["node"] for c in result.json["changes"]] == ["gpu-1"]


def test_an_unknown_model_is_held(shell, tmp_path):
    """A product without a profile table is named."""
    strange = dump_node(labels={"nvidia.com/gpu.product": "NVIDIA-Z999"})
    result = plan_of(shell, tmp_path, strange, dump_pod())
    assert result.code == OK
    assert "NVIDIA-Z999" in holds_of(result)["UnknownModel"]
    assert result.json["changes"] == []


def test_a_product_that_no_label_can_hold_is_in_no_pool(shell, tmp_path):
    """An API server would never have taken it."""
    strange = dump_node(labels={"nvidia.com/gpu.product": "-3"})
    result = plan_of(shell, tmp_path, strange, dump_node("gpu-2"), dump_pod())
    assert result.code == OK
    assert "UnknownModel" in holds_of(result)
    assert [c["node"] for c in result.json["changes"]] == ["gpu-2"]


def test_an_unknown_profile_is_held_and_impossible(shell, tmp_path):
    """A node that advertises one is held; a pod that asks for one is told."""
    amounts = {"nvidia.com/mig-9g.90gb": "1"}
    odd = dump_node(status={"allocatable": amounts, "capacity": amounts})
    result = plan_of(shell, tmp_path, odd, dump_pod(requests={"nvidia.com/mig-8g.1gb": 1}))
    assert "9g.90gb" in holds_of(result)["UnknownProfile"]
    assert [note["reason"] for note in result.json["unserved"]] != []
    assert "8g.1gb" in result.json["unserved"][0]["message"]


def test_labels_that_contradict_allocatable_are_held(shell, tmp_path):
    """Twenty-eight instances of a GPU count of two exceed the hardware."""
    node = dump_node(layout=[SEVEN] * 4, labels={"nvidia.com/gpu.count": "2"})
    result = plan_of(shell, tmp_path, node, dump_pod())
    assert "ExceedsHardware" in holds_of(result)
    assert result.json["changes"] == []


@pytest.mark.parametrize("amount", ["-1", "1.5", "many", "", "1e3000000"])
def test_an_odd_quantity_of_a_node_is_held(shell, tmp_path, amount):
    """What cannot be read is named with its key and its value."""
    amounts = {SMALL: amount}
    result = plan_of(shell, tmp_path, dump_node(status={"allocatable": amounts}), dump_pod())
    assert result.code == OK
    assert SMALL in holds_of(result)["Unreadable"]
    assert result.json["changes"] == []


@pytest.mark.parametrize("amount", ["-1", "0.5", "x"])
def test_an_odd_quantity_of_a_pod_is_told(shell, tmp_path, amount):
    """Such a pod is no demand, and the reason names the value."""
    pod = dump_pod(requests={"nvidia.com/mig-3g.20gb": amount})
    path = write_dump(tmp_path, dump_node(), pod, dump_configurations())
    result = shell.plan(path)
    assert result.code == OK
    assert result.json["changes"] == []
    told = shell.run("explain", "pod/team/train-1", "--from", path)
    assert amount in told.out


def test_nodes_that_are_there_twice_and_differ_are_held(shell, tmp_path):
    """Which of them is true is not for us to say."""
    result = plan_of(shell, tmp_path, dump_node(), dump_node(layout=[TWO_BIG]), dump_pod())
    assert result.json["changes"] == []
    assert holds_of(result)


def test_a_node_that_is_there_twice_unchanged_counts_once(shell, tmp_path):
    """Two dumps may overlap."""
    first = write_dump(tmp_path, dump_node(), dump_configurations(), name="1.json")
    second = write_dump(tmp_path, dump_node(), dump_pod(), name="2.json")
    result = shell.plan(first, second)
    assert [c["node"] for c in result.json["changes"]] == ["gpu-1"]


def test_pods_on_nodes_that_are_not_there_are_left_out(shell, tmp_path):
    """A notice says how many and where."""
    stray = dump_pod("stray", "1g.5gb", node="gpu-9")
    result = plan_of(shell, tmp_path, dump_node(), stray)
    assert any("gpu-9" in notice for notice in result.json["notices"])


def test_a_pool_that_matches_nothing_is_told(shell, tmp_path):
    """The hold is of the fleet, not of a node."""
    policy = write_policy(
        tmp_path, "  - {name: ghost, nodeSelector: {zone: nowhere}}", "mode: dry-run"
    )
    result = plan_of(shell, tmp_path, dump_node(), dump_pod(), policy=policy)
    empty = [h for h in result.json["holds"] if h["reason"] == "PoolEmpty"]
    assert ["ghost" in h["message"] for h in empty] == [True]
    assert "node" not in empty[0]


def test_a_node_of_two_pools_is_held(shell, tmp_path):
    """It belongs to neither."""
    other = '  - {name: all, nodeSelector: {nvidia.com/gpu.present: "true"}}'
    policy = write_policy(tmp_path, other)
    result = plan_of(shell, tmp_path, dump_node(), dump_pod(), policy=policy)
    ambiguous = holds_of(result)["AmbiguousPool"]
    assert "a100" in ambiguous
    assert "all" in ambiguous
    assert result.json["changes"] == []


def test_an_impossible_floor_is_told(shell, tmp_path):
    """Two GPUs never hold twenty of the smallest instances."""
    policy = write_policy(tmp_path, "    floors: {1g.5gb: 20}")
    result = plan_of(shell, tmp_path, dump_node(), dump_node("gpu-2"), policy=policy)
    assert result.code == OK
    assert [h["reason"] for h in result.json["holds"]] == ["FloorImpossible"]


def test_an_impossible_reserve_is_told(shell, tmp_path):
    """One node cannot be three reserved ones."""
    policy = write_policy(tmp_path, "    reserve: {fullGpuNodes: 3}")
    result = plan_of(shell, tmp_path, dump_node(), dump_pod(), policy=policy)
    assert result.code == OK
    assert "ReserveImpossible" in [h["reason"] for h in result.json["holds"]]


def test_a_wrong_policy_is_named_by_file_and_line(shell, tmp_path):
    """Before anything is planned."""
    policy = write_policy(tmp_path, "    profiles: [9g.90gb]", "colour: blue")
    result = plan_of(shell, tmp_path, dump_node(), policy=policy)
    assert result.code == INPUT
    assert f"{policy}:7:" in result.err
    assert f"{policy}:8:" in result.err


def test_metrics_that_are_none_are_named(shell, tmp_path):
    """Text of another program is an error of input."""
    path = tmp_path / "metrics"
    path.write_text("up 1\n")
    dump = write_dump(tmp_path, dump_node(), dump_pod())
    result = shell.plan(dump, options=f"--metrics {path}")
    assert result.code == INPUT
    assert str(path) in result.err
