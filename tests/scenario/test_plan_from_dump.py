"""Dry runs on dumps: what is proposed, why, and in every form of the output."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from autoscaler.domain.plan.plan_json import plan_from_json
from tests.commands import Shell, write_policy
from tests.dumps import (
    AT,
    SEVEN,
    TWO_BIG,
    dump_configurations,
    dump_list,
    dump_node,
    dump_pod,
    write_dump,
)

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "plan.schema.json").read_text())
BIG = "nvidia.com/mig-3g.20gb"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def dump(tmp_path):
    """One node with two GPUs full of small instances, and one pod that wants a big one."""
    layout = [SEVEN, SEVEN]
    return write_dump(
        tmp_path, dump_node(layout=layout), dump_pod(), dump_configurations([layout])
    )


def test_a_waiting_pod_gets_one_gpu_cut_anew(shell, dump):
    """The other GPU keeps what it has."""
    document = shell.plan(dump).json
    jsonschema.validate(document, SCHEMA)
    (change,) = document["changes"]
    assert (change["node"], change["uid"], change["pool"]) == (
        "gpu-1",
        "uid-gpu-1",
        "a100-sxm4-40gb",
    )
    (gpu,) = change["gpus"]
    assert gpu["before"] == {"1g.5gb": 7}
    assert gpu["after"].get("3g.20gb", 0) >= 1
    assert change["serves"] == [{"namespace": "team", "name": "train-1"}]
    assert change["gain"] > change["cost"] > 0
    assert change["blockedBy"] == []
    assert document["unserved"] == []
    assert document["demand"] == [
        {
            "resource": BIG,
            "pool": "a100-sxm4-40gb",
            "pending": 1,
            "free": 0,
            "lacking": 1,
            "servedByPlan": 1,
        }
    ]


def test_the_same_files_give_the_same_bytes(shell, dump):
    """All but the seconds the solver took."""

    def document():
        found = shell.plan(dump).json
        found["optimality"].pop("seconds")
        return json.dumps(found)

    assert document() == document()


def test_what_runs_is_never_cut(shell, tmp_path):
    """A pod that may sit on either GPU keeps both as they are; the pod says why."""
    layout = [SEVEN, SEVEN]
    path = write_dump(
        tmp_path,
        dump_node(layout=layout),
        dump_pod("run", "1g.5gb", node="gpu-1"),
        dump_pod(),
        dump_configurations([layout]),
    )
    document = shell.plan(path).json
    assert document["changes"] == []
    (note,) = document["unserved"]
    assert note["reason"] == "GpusBusy"


def test_metrics_prove_where_a_pod_sits(shell, tmp_path):
    """With DCGM's labels only the GPU of the pod is kept."""
    layout = [SEVEN, SEVEN]
    path = write_dump(
        tmp_path,
        dump_node(layout=layout),
        dump_pod("run", "1g.5gb", node="gpu-1"),
        dump_pod(),
        dump_configurations([layout]),
    )
    lines = []
    for board in (0, 1):
        for instance in range(7, 14):
            holder = (board, instance) == (1, 7)
            pod = 'exported_namespace="team",exported_pod="run",' if holder else ""
            lines.append(
                f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="{board}",UUID="GPU-{board}",'
                f'GPU_I_PROFILE="1g.5gb",GPU_I_ID="{instance}",{pod}Hostname="gpu-1"}} '
                f"{0.9 if holder else 0.0}"
            )
    metrics = tmp_path / "metrics.txt"
    metrics.write_text("\n".join(lines) + "\n")
    document = shell.plan(path, options=f"--metrics {metrics}").json
    assert [gpu["index"] for gpu in document["changes"][0]["gpus"]] == [0]


def test_exit_codes_tell_changes_and_blocks(shell, dump, tmp_path):
    """0 nothing to do, 2 changes, 3 changes that are all blocked; 0 unless asked."""
    never = write_policy(tmp_path, "disruption: {windows: []}")
    idle = write_dump(tmp_path, dump_node(), dump_pod("a", "1g.5gb"), name="idle.json")
    detailed = "--detailed-exitcode"
    assert shell.plan(idle, options=detailed).code == 0
    assert shell.plan(dump, options=detailed).code == 2
    assert shell.plan(dump, policy=never, options=detailed).code == 3
    assert shell.plan(dump, policy=never).code == 0
    blocks = shell.plan(dump, policy=never).json["changes"][0]["blockedBy"]
    assert [b["reason"] for b in blocks] == ["OutsideWindow"]


def test_windows_count_from_the_given_moment(shell, dump, tmp_path):
    """The same dump at two hours of the day."""
    window = '{days: [thu], start: "22:00", end: "06:00", timeZone: Asia/Shanghai}'
    policy = write_policy(tmp_path, f"disruption: {{windows: [{window}]}}")
    inside = shell.plan(dump, policy=policy, at="2030-01-10T23:30:00+08:00")
    outside = shell.plan(dump, policy=policy, at="2030-01-10T12:00:00Z")
    assert inside.json["changes"][0]["blockedBy"] == []
    (block,) = outside.json["changes"][0]["blockedBy"]
    assert block["reason"] == "OutsideWindow"
    assert "2030-01-10 14:00 UTC" in block["message"]


@pytest.mark.parametrize("at", ["2030-01-10T12:00:00", "noon", "2030-02-30T00:00:00Z"])
def test_a_moment_without_a_zone_is_refused(shell, dump, at):
    """A guessed zone would move windows."""
    result = shell.plan(dump, at=at)
    assert result.code == 64
    assert at in result.err


def test_yaml_and_json_say_the_same(shell, dump):
    """One document in two forms; name lists nodes only."""
    as_json = shell.plan(dump).json
    text = shell.run("plan", "--from", dump, "--at", AT, "-o", "yaml").out
    as_yaml = yaml.safe_load(text)
    for document in (as_json, as_yaml):
        document["optimality"].pop("seconds")
    assert as_yaml == as_json
    names = shell.run("plan", "--from", dump, "--at", AT, "-o", "name")
    assert names.out == "gpu-1\n"


def test_the_table_says_what_changes_and_for_whom(shell, dump):
    """Node, GPU, before and after, pods served, price, minutes."""
    out = shell.run("plan", "--from", dump, "--at", AT).out
    assert "1 node of 1 would change, 1 pod served, 0 unserved." in out
    (row,) = [line for line in out.splitlines() if line.startswith("gpu-1")]
    assert "7x1g.5gb" in row
    assert "3g.20gb" in row
    assert "optimality:" in out
    assert "note: no --metrics" in out


def test_the_wide_table_takes_prices_apart(shell, dump):
    """The terms of gain and cost, and the name of the configuration."""
    out = shell.run("plan", "--from", dump, "--at", AT, "-o", "wide").out
    for word in ("WAITING", "OUT OF SERVICE", "WORK LOST", "CONFIGURATION"):
        assert word in out


def test_nothing_to_do_says_why(shell, tmp_path):
    """No demand, demand that fits today, and nodes that may not change differ."""
    fits = write_dump(tmp_path, dump_node(layout=[TWO_BIG]), dump_pod(), name="fits.json")
    none = write_dump(tmp_path, dump_node(), dump_pod("x", "1g.5gb", node="gpu-1"))
    held = dump_node(annotations={"mig-autoscaler.io/hold": "true"})
    hold = write_dump(tmp_path, held, dump_pod(), name="held.json")

    def sentence(path):
        out = shell.run("plan", "--from", path, "--at", AT).out
        return next(line for line in out.splitlines() if line.startswith("Nothing to do"))

    assert "no pod waits" in sentence(none)
    assert "fits free instances of today" in sentence(fits)
    assert "1 Held" in sentence(hold)


def test_standard_input_is_a_file_too(dump):
    """kubectl get ... -o json | python -m autoscaler plan --from -."""
    command = [sys.executable, "-m", "autoscaler", "plan", "--from", "-", "-o", "name"]
    command += ["--at", AT]
    with open(dump, "rb") as text:
        done = subprocess.run(command, stdin=text, capture_output=True, check=True, cwd=ROOT)
    assert done.stdout == b"gpu-1\n"


def test_several_files_are_one_fleet(shell, tmp_path):
    """Nodes, pods and ConfigMaps may come each in its own file."""
    files = [
        write_dump(tmp_path, dump_node(), name="nodes.json"),
        write_dump(tmp_path, dump_pod(), name="pods.json"),
        write_dump(tmp_path, dump_configurations(), name="configmaps.json"),
    ]
    assert len(shell.plan(*files).json["changes"]) == 1


def test_files_without_pods_prove_nothing_idle(shell, tmp_path):
    """A floor may ask for a change, but what holds the GPUs is unknown."""
    policy = write_policy(tmp_path, "    floors: {3g.20gb: 2}")
    path = write_dump(tmp_path, dump_node(), dump_configurations())
    document = shell.plan(path, policy=policy).json
    (change,) = document["changes"]
    assert "HoldersUnproven" in [b["reason"] for b in change["blockedBy"]]
    assert any("no pods in the input" in notice for notice in document["notices"])


def test_a_saved_plan_is_what_was_shown(shell, dump, tmp_path):
    """The file holds the same document, and can be read back."""
    path = tmp_path / "plan.json"
    shown = shell.plan(dump, options=f"--save {path}").json
    saved = json.loads(path.read_text())
    assert saved == shown
    assert plan_from_json(saved).changes[0].node == "gpu-1"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_plan_that_cannot_be_saved_is_an_error(shell, dump, tmp_path):
    """The folder does not exist."""
    result = shell.plan(dump, options=f"--save {tmp_path}/no/such/plan.json")
    assert result.code == 65
    assert "cannot be written" in result.err


def test_without_a_policy_each_product_is_a_pool(shell, tmp_path):
    """Two models, each with demand of its own."""
    objects = dump_list(
        dump_node("a"),
        dump_node("b", layout=[{"1g.6gb": 4}], key="a30-24gb"),
        dump_pod("p", "3g.20gb"),
        dump_pod("q", "2g.12gb"),
    )
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(objects))
    document = shell.plan(str(path)).json
    assert sorted(c["pool"] for c in document["changes"]) == ["a100-sxm4-40gb", "a30"]
