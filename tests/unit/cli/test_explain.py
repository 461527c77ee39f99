"""Explanations: each subject gets one sentence, and the facts it rests on."""

import pytest

from autoscaler.domain.cluster.marks import PLACEHOLDER, QUARANTINE, ROLLOUT
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.quarantine import Quarantine
from tests.commands import Shell, write_policy
from tests.dumps import (
    AT,
    SEVEN,
    dump_configurations,
    dump_node,
    dump_pod,
    write_dump,
)
from tests.rollouts import journal
from tests.servers import NOW_S


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def explain(shell, subject, path, *options):
    return shell.run("explain", subject, "--from", path, "--at", AT, *options)


@pytest.fixture
def dump(tmp_path):
    """A node that is to change, one that is held, one with a rollout; pods of all kinds."""
    gate = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    away = Quarantine("RolledBack", "it went wrong", NOW_S, NOW_S * 2).to_text()
    return write_dump(
        tmp_path,
        dump_node("gpu-1"),
        dump_node("gpu-2", annotations={"mig-autoscaler.io/hold": "maintenance"}),
        dump_node("gpu-3", annotations={QUARANTINE: away}),
        dump_node(
            "gpu-4",
            layout=[SEVEN, SEVEN],
            annotations={ROLLOUT: journal_to_text(journal(node_uid="uid-gpu-4"))},
        ),
        dump_pod("waits"),
        dump_pod("waits-too"),
        dump_pod("waits-also"),
        dump_pod("gated", spec=gate),
        dump_pod("runs", "1g.5gb", node="gpu-2"),
        dump_pod("hopeless", {"nvidia.com/mig-1g.10gb.nonsense": 1}),
        dump_configurations([[SEVEN], [SEVEN, SEVEN]]),
    )


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("node/gpu-1", ["a change is proposed", "NodeBudget", "serves", "gains"]),
        ("node/gpu-2", ["left alone", "maintenance", "team/runs"]),
        ("node/gpu-3", ["left alone", "it went wrong", "1 failures"]),
        ("node/gpu-4", ["it is being changed to", "closed"]),
        ("pod/team/waits", ["asks", "1xmig-3g.20gb", "0/1 nodes are available"]),
        ("pod/team/gated", ["Gated", "kueue.x-k8s.io/admission"]),
        ("pod/team/runs", ["it is bound to node gpu-2"]),
        ("pod/team/hopeless", ["1g.10gb.nonsense"]),
    ],
)
def test_the_facts_are_there(shell, dump, subject, words):
    """One sentence and the facts; the same in JSON."""
    result = explain(shell, subject, dump)
    assert result.code == 0
    assert result.out.startswith(f"{subject}: ")
    for word in words:
        assert word in result.out, word
    document = explain(shell, subject, dump, "-o", "json").json
    assert document["found"] is True
    assert document["verdict"] in result.out


def test_blocks_are_told_with_their_messages(shell, dump, tmp_path):
    """A change that may not start says from when it may."""
    policy = write_policy(
        tmp_path, 'disruption: {windows: [{start: "22:00", end: "23:00", timeZone: UTC}]}'
    )
    out = explain(shell, "node/gpu-1", dump, "--policy", policy).out
    assert "OutsideWindow" in out
    assert "2030-01-10 22:00 UTC" in out


@pytest.mark.parametrize("subject", ["node/gpu-9", "pod/team/nobody"])
def test_what_is_not_there_is_an_error(shell, dump, subject):
    """Exit code 1, and the sentence says so."""
    result = explain(shell, subject, dump)
    assert result.code == 1
    assert "there is no" in result.out


@pytest.mark.parametrize("subject", ["gpu-1", "node/", "pod/a", "pod/a/b/c", "service/a"])
def test_other_subjects_are_usage_errors(shell, dump, subject):
    """The message says which forms there are."""
    result = explain(shell, subject, dump)
    assert result.code == 64
    assert "node/NAME" in result.err


def test_a_fleet_is_told_what_it_lacks(shell, tmp_path):
    """Duals, the fewest GPUs, and what one more node would bring."""
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        *(dump_pod(f"large-{i}", "7g.40gb") for i in range(3)),
        dump_configurations([[SEVEN]]),
    )
    result = explain(shell, "fleet", path)
    assert result.code == 0
    assert "nvidia.com/mig-7g.40gb in pool" in result.out
    assert "3 empty a100-40gb hold all that runs and waits" in result.out
    assert "would serve 1 more pods" in result.out
    facts = explain(shell, "fleet", path, "-o", "json").json["facts"]
    assert [fact["name"] for fact in facts] == ["scarce", "fewest GPUs", "one more node"]


def test_a_pod_is_told_what_would_serve_it_and_when(shell, tmp_path):
    """The cheapest change, its price, and the window it would have to wait for."""
    policy = write_policy(
        tmp_path,
        "disruption: {windows: [{start: 00:00, end: 00:30}]}",
        "priorities: {tiny: 0.001}",
    )
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        dump_pod("light", "7g.40gb", spec={"priorityClassName": "tiny"}),
        dump_configurations([[SEVEN]]),
    )
    result = explain(shell, "pod/team/light", path, "--policy", str(policy))
    assert "NotWorthIt" in result.out
    assert "GPU 0 of gpu-1: 7x1g.5gb -> 1x7g.40gb, costs" in " ".join(result.out.split())
    assert "opens" in result.out


def test_a_node_that_stays_is_told_its_best_alternative(shell, tmp_path):
    """And by how much the plan would be worth less with it."""
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        *(dump_pod(f"small-{i}", "1g.5gb") for i in range(7)),
        dump_pod("large", "4g.20gb"),
        dump_configurations([[SEVEN]]),
    )
    result = explain(shell, "node/gpu-1", path)
    assert "its present layout is the best there is" in result.out
    text = " ".join(result.out.split())
    assert "alternative GPU 0 of gpu-1: 7x1g.5gb -> " in text
    assert "slice-seconds to the plan's worth" in text


def test_a_fleet_is_told_what_binds_it(shell, tmp_path):
    """A node on hold, with what the plan would be worth without it."""
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        dump_node("gpu-2", annotations={"mig-autoscaler.io/hold": "maintenance"}),
        *(dump_pod(f"large-{i}", "7g.40gb") for i in range(3)),
        dump_configurations([[SEVEN]]),
    )
    text = " ".join(explain(shell, "fleet", path).out.split())
    assert "binding without 1 node on hold the plan would be worth" in text


def test_a_pod_is_told_what_it_would_take_before_all_others(shell, tmp_path):
    """Which GPUs would become what, and what all else would lose by it."""
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        *(dump_pod(f"small-{i}", "1g.5gb") for i in range(7)),
        dump_pod("large", "4g.20gb"),
        dump_configurations([[SEVEN]]),
    )
    text = " ".join(explain(shell, "pod/team/large", path).out.split())
    assert "at any price GPU 0 of gpu-1: 7x1g.5gb -> " in text
    assert "at any price all else would be worth" in text


def test_a_node_in_use_is_not_said_to_be_the_best_there_is(shell, tmp_path):
    """Nothing of it may be changed, so nothing was weighed."""
    path = write_dump(
        tmp_path,
        dump_node("gpu-1"),
        *(dump_pod(f"runs-{i}", "1g.5gb", node="gpu-1") for i in range(7)),
        dump_pod("large", "7g.40gb"),
        dump_configurations([[SEVEN]]),
    )
    out = explain(shell, "node/gpu-1", path).out
    assert "nothing of it may be changed now: 1 of 1 GPUs that may change are in use" in out


def test_a_node_that_changes_is_told_for_whom(shell, tmp_path):
    """By scenario and resource, with what each is worth."""
    path = write_dump(
        tmp_path, dump_node("gpu-1"), dump_pod("a"), dump_configurations([[SEVEN]])
    )
    text = " ".join(explain(shell, "node/gpu-1", path).out.split())
    assert "for pending pods, nvidia.com/mig-3g.20gb: 36,000" in text


def test_what_a_placeholder_keeps_is_told_and_not_called_free(shell, tmp_path):
    """Nobody else can have it."""
    whole = [{"7g.40gb": 1}, {"7g.40gb": 1}]
    mark = {"labels": {PLACEHOLDER: "true"}}
    path = write_dump(
        tmp_path,
        dump_node("gpu-1", layout=whole),
        dump_pod("p-0", "7g.40gb", node="gpu-1", metadata=mark),
        dump_configurations([whole]),
    )
    out = explain(shell, "node/gpu-1", path).out
    assert "no pods in the input" not in out
    found = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  "))
    assert found["free"] == "1xmig-7g.40gb"
    assert found["placeholders"] == "keep 1xmig-7g.40gb to be re-cut"
    verdict = explain(shell, "pod/team/p-0", path, "-o", "json").json["verdict"]
    assert verdict == "it is a placeholder of ours, and keeps a GPU of gpu-1"
