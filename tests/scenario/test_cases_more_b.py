"""More field cases of metrics in files: odd hosts, useless metrics, failed answers."""

import json

import pytest

from tests.commands import Shell
from tests.dumps import SEVEN, dump_node, dump_pod, write_dump

ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def dump(tmp_path):
    """Two GPUs full of small instances, one of them held, and a pod that wants a large one."""
    node = dump_node(layout=[SEVEN, SEVEN])
    return write_dump(tmp_path, node, dump_pod("run", "1g.5gb", node="gpu-1"), dump_pod())


def page(metric=ACTIVE, host="gpu-1", labels=""):
    """Return an exporter's page with the pod on the first GPU."""
    lines = []
    for board in (0, 1):
        for number in range(7):
            seat = (board, number) == (0, 0)
            pod = ',exported_namespace="team",exported_pod="run"' if seat else ""
            lines.append(
                f'{metric}{{gpu="{board}",UUID="GPU-{board}",GPU_I_ID="{number}",'
                f'GPU_I_PROFILE="1g.5gb",Hostname="{host}"{pod}{labels}}} {0.9 if seat else 0}'
            )
    return "\n".join(lines) + "\n"


def planned(shell, dump, tmp_path, text):
    """Return the plan with these metrics."""
    path = tmp_path / "metrics"
    path.write_text(text)
    result = shell.plan(dump, options=f"--metrics {path}")
    assert result.code == 0
    return result.json


def test_b01_metrics_of_hosts_that_are_no_nodes_are_told(shell, dump, tmp_path):
    """They prove nothing, and the person sees why the second GPU counts as held."""
    document = planned(shell, dump, tmp_path, page(host="gpu-1.example.com"))
    assert document["changes"] == []
    (said,) = [n for n in document["notices"] if "no nodes" in n]
    assert "14 instances" in said
    assert "gpu-1.example.com" in said
    known = planned(shell, dump, tmp_path, page())
    assert [gpu["index"] for gpu in known["changes"][0]["gpus"]] == [1]
    assert not [n for n in known["notices"] if "no nodes" in n]


@pytest.mark.parametrize("metric", ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"])
def test_b04_b08_metrics_of_boards_prove_nothing_and_stop_nothing(
    shell, dump, tmp_path, metric
):
    """Not even with the pod's name on them; what to use instead is told."""
    document = planned(shell, dump, tmp_path, page(metric))
    assert document["changes"] == []
    assert document["unserved"][0]["reason"] == "GpusBusy"
    assert any(f"use {ACTIVE}" in notice for notice in document["notices"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, "is empty"),
        ({"status": "error", "errorType": "internal", "error": "store"}, "internal: store"),
        ({"status": "success"}, "no data"),
        ({"status": "success", "data": {"resultType": "scalar", "result": [1, "3"]}}, "scalar"),
        ({"status": "success", "data": {"resultType": "string", "result": [1, "x"]}}, "string"),
    ],
)
def test_f02_f04_f07_answers_that_say_nothing_leave_the_api(
    shell, dump, tmp_path, answer, said
):
    """No GPU turns idle by them, and what needs no metrics is planned all the same."""
    text = json.dumps(answer)
    document = planned(shell, dump, tmp_path, text)
    assert document["changes"] == []
    assert any(said in notice for notice in document["notices"])
    idle = write_dump(tmp_path, dump_node(), dump_pod(), name="idle.json")
    assert len(planned(shell, idle, tmp_path, text)["changes"]) == 1
