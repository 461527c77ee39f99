"""What people tell the loop: each command writes one annotation, and only that."""

import json

import pytest

from autoscaler.domain.cluster.marks import ABORT, PAUSE, QUARANTINE, ROLLOUT
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.quarantine import Quarantine
from tests.commands import Shell
from tests.dumps import dump_node
from tests.rollouts import journal
from tests.servers import NOW_S, serving


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def entry(**changes):
    """Return a quarantine that lasts for a long time yet."""
    fields = {"since_s": NOW_S, "until_s": NOW_S * 2, "attempt": 3, **changes}
    return Quarantine("RolledBack", "verification failed", **fields).to_text()


def test_pause_is_an_annotation_and_resume_takes_it_away(shell, tmp_path):
    """The ConfigMap is created where there is none yet; its data is left as it is."""
    with serving(tmp_path, dump_node()) as api:
        access = ("--kubeconfig", api.kubeconfig)
        assert shell.run("pause", "--reason", "power work", *access).code == 0
        value = api.status_map()["metadata"]["annotations"][PAUSE]
        assert value.startswith("power work, since ")
        assert "was not" not in shell.run("resume", *access).out
        assert PAUSE not in (api.status_map()["metadata"].get("annotations") or {})
        assert "was not paused" in shell.run("resume", *access).out


def test_a_plan_knows_of_the_pause(shell, tmp_path):
    """Its changes are blocked, with the reason that people gave."""
    with serving(tmp_path, dump_node()) as api:
        access = ("--kubeconfig", api.kubeconfig)
        shell.run("pause", "--reason", "power work", *access)
        status = shell.run("status", "-o", "json", *access)
        assert status.json["paused"].startswith("power work")


def test_another_writer_at_the_same_moment_is_no_error(shell, tmp_path):
    """The loop writes the same ConfigMap; a conflict is tried again, a refusal is told."""
    with serving(tmp_path, dump_node()) as api:
        api.fail_writes(409, "Conflict", times=2)
        assert shell.run("pause", "--kubeconfig", api.kubeconfig).code == 0
        api.fail_writes(403, "Forbidden")
        result = shell.run("pause", "--kubeconfig", api.kubeconfig)
        assert result.code == 1
        assert result.err.startswith("error: ")


def test_abort_marks_a_node_with_an_open_rollout(shell, tmp_path):
    """The loop does the rest, in its next cycle."""
    own = journal(node_uid="uid-gpu-1")
    node = dump_node(annotations={ROLLOUT: journal_to_text(own)})
    with serving(tmp_path, node) as api:
        result = shell.run("abort", "gpu-1", "--kubeconfig", api.kubeconfig)
        assert result.code == 0
        assert own.state.value in result.out
        assert api.annotations()[ABORT] == "true"
        assert api.mutations() == ["patch nodes gpu-1"]


def test_abort_refuses_where_there_is_nothing_to_abort(shell, tmp_path):
    """A mark that waits would end a later rollout."""
    with serving(tmp_path, dump_node()) as api:
        access = ("--kubeconfig", api.kubeconfig)
        result = shell.run("abort", "gpu-1", *access)
        assert (result.code, result.err) == (1, "error: node gpu-1 has no open rollout\n")
        assert "there is no node gpu-9" in shell.run("abort", "gpu-9", *access).err
        assert api.mutations() == []


def test_quarantine_lists_what_is_in_force(shell, tmp_path):
    """Not those that are over, which only count failures."""
    nodes = (
        dump_node(annotations={QUARANTINE: entry()}),
        dump_node("gpu-2", annotations={QUARANTINE: entry(until_s=NOW_S / 2)}),
        dump_node("gpu-3"),
        dump_node("gpu-4", annotations={QUARANTINE: "hands off"}),
    )
    with serving(tmp_path, *nodes) as api:
        access = ("--kubeconfig", api.kubeconfig)
        found = shell.run("quarantine", "list", "-o", "json", *access).json["nodes"]
        assert [n["node"] for n in found] == ["gpu-1", "gpu-4"]
        assert found[0]["failures"] == 3
        assert found[1]["until"] is None
        table = shell.run("quarantine", "list", *access).out
        assert "verification failed" in table
        assert shell.run("quarantine", "list", "-o", "name", *access).out == "gpu-1\ngpu-4\n"


def test_quarantine_clear_keeps_what_the_loop_must_know(shell, tmp_path):
    """That we left the node cordoned, for one: the loop opens it again."""
    nodes = (
        dump_node(annotations={QUARANTINE: entry(cordoned=True)}),
        dump_node("gpu-2", annotations={QUARANTINE: "hands off"}),
        dump_node("gpu-3"),
    )
    with serving(tmp_path, *nodes) as api:
        access = ("--kubeconfig", api.kubeconfig)
        for name in ("gpu-1", "gpu-2"):
            assert shell.run("quarantine", "clear", name, *access).code == 0
            assert Quarantine.from_text(api.annotations(name)[QUARANTINE]).cleared
        assert json.loads(api.annotations()[QUARANTINE])["cordoned"] is True
        assert "is not in quarantine" in shell.run("quarantine", "clear", "gpu-3", *access).out


@pytest.mark.parametrize("command", ["pause", "resume", "abort x", "quarantine list", "plan"])
def test_a_cluster_that_is_not_there_is_one_line(shell, tmp_path, command):
    """A kubeconfig that does not exist, and a server that does not answer."""
    result = shell.run(*command.split(), "--kubeconfig", str(tmp_path / "none"))
    assert result.code == 65
    assert result.err == f"error: {tmp_path}/none: no such file\n"
