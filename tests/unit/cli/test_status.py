"""The status of the fleet and the history of its changes."""

import json

import pytest

from autoscaler.control.history_json import history_to_text
from autoscaler.domain.cluster.marks import PAUSE, ROLLOUT
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.rollout import Result
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from tests.commands import Shell, write_policy
from tests.dumps import AT, SEVEN, dump_node, dump_pod, write_dump
from tests.rollouts import journal
from tests.servers import NOW_S, serving

LOOP = {
    "mode": "auto",
    "holder": "replica-1",
    "updatedAt": "2030-01-10T11:59:50Z",
    "conditions": [
        {
            "type": "Degraded",
            "status": "False",
            "reason": "AllWell",
            "message": "nothing failed",
        }
    ],
    "plan": None,
    "errors": [],
}


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def record(node="gpu-1", ended_s=NOW_S - 3600.0, **changes):
    fields = {
        "result": Result.DONE,
        "plan": "abc",
        "rollout": f"{node}-{int(ended_s)}",
        "after": "all-3g.20gb",
        "serves": ("team/a", "team/b"),
        "served": 1,
        **changes,
    }
    return RolloutRecord(node, ended_s - 200.0, ended_s, **fields)


def status_map(*records, **annotations):
    """Return the ConfigMap that a leader keeps."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "mig-autoscaler-status",
            "namespace": "mig-autoscaler",
            "annotations": annotations,
        },
        "data": {"status.json": json.dumps(LOOP), "history.json": history_to_text(records)},
    }


def test_the_status_shows_nodes_rollouts_and_windows(shell, tmp_path):
    """What the GPUs hold, what is free, what is under way."""
    opened = {ROLLOUT: journal_to_text(journal(node_uid="uid-gpu-2"))}
    path = write_dump(
        tmp_path,
        dump_node(),
        dump_node("gpu-2", layout=[SEVEN, SEVEN], annotations=opened),
        dump_pod("run", "1g.5gb", node="gpu-1"),
        status_map(**{PAUSE: "power work"}),
    )
    policy = write_policy(
        tmp_path, 'disruption: {windows: [{start: "22:00", end: "23:00", timeZone: UTC}]}'
    )
    arguments = ("status", "--from", path, "--at", AT, "--policy", policy)
    document = shell.run(*arguments, "-o", "json").json
    nodes = {node["name"]: node for node in document["nodes"]}
    assert nodes["gpu-1"]["free"] == {"nvidia.com/mig-1g.5gb": 6}
    assert nodes["gpu-1"]["state"] == "ready"
    assert nodes["gpu-2"]["state"] == "closed"
    assert [r["node"] for r in document["openRollouts"]] == ["gpu-2"]
    assert document["window"]["opensAt"] == "2030-01-10T22:00:00Z"
    assert document["loop"]["holder"] == "replica-1"
    out = shell.run(*arguments).out
    for words in ("paused: power work", "led by replica-1", "OPEN ROLLOUTS", "6xmig-1g.5gb"):
        assert words in out


def test_without_a_loop_the_status_says_so(shell, tmp_path):
    """Modes that write nothing leave nothing to read."""
    out = shell.run("status", "--from", write_dump(tmp_path, dump_node()), "--at", AT).out
    assert "no status in the cluster" in out


def test_history_shows_promise_and_effect(shell, tmp_path):
    """The newest last; an effect that is not measured yet is unknown, not zero."""
    records = (record(), record("gpu-2", NOW_S - 60.0, served=None, result=Result.ROLLED_BACK))
    path = write_dump(tmp_path, dump_node(), status_map(*records))
    found = shell.run("history", "--from", path, "-o", "json").json["rollouts"]
    assert [(r["node"], r["result"], r["served"]) for r in found] == [
        ("gpu-1", "done", 1),
        ("gpu-2", "rolled-back", None),
    ]
    out = shell.run("history", "--from", path).out
    assert "1/2" in out
    assert "?/2" in out
    one = shell.run("history", "--from", path, "--node", "gpu-2", "-o", "name").out
    assert one == f"gpu-2-{int(NOW_S - 60)}\n"


def test_history_comes_from_the_cluster_too(shell, tmp_path):
    """From the same ConfigMap."""
    with serving(tmp_path, dump_node(), status_map(record())) as api:
        result = shell.run("history", "-o", "name", "--kubeconfig", api.kubeconfig)
        assert result.out.startswith("gpu-1-")
        assert api.mutations() == []


def test_a_live_plan_changes_nothing(shell, tmp_path):
    """plan, status and explain only read."""
    with serving(tmp_path, dump_node(), dump_pod()) as api:
        access = ("--kubeconfig", api.kubeconfig, "--at", AT)
        for command in (["plan"], ["status"], ["explain", "node/gpu-1"]):
            assert shell.run(*command, *access).code == 0
        result = shell.run("plan", *access)
        assert "no Prometheus in the policy" in result.out
        assert result.err == ""
        assert api.mutations() == []


def test_a_list_that_fails_is_no_empty_cluster(shell, tmp_path):
    """Without all pods there is no plan, and the error names the list."""
    with serving(tmp_path, dump_node(), dump_pod()) as api:

        def is_pods(request):
            return request.kind.plural == "pods"

        fault = Fault(code=403, reason="Forbidden", message="pods is forbidden")
        api.store.faults.add(Rule(Point.BEFORE_APPLY, fault, is_pods, times=None))
        result = shell.run("plan", "--kubeconfig", api.kubeconfig, "--at", AT)
        assert result.code == 1
        assert "pods" in result.err
        assert result.out == ""
