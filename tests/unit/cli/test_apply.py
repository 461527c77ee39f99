"""The command apply: what it refuses, and that it then changes nothing."""

import json

import pytest

from autoscaler.ports import LEASES
from tests.commands import Shell, write_policy
from tests.dumps import AT, SEVEN, dump_configurations, dump_node, dump_pod
from tests.servers import OWN, serving

MANAGER = {"app": "nvidia-mig-manager"}


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def api(tmp_path):
    """A node that a plan would change, with MIG manager on it."""
    manager = dump_pod(
        "nvidia-mig-manager-1",
        {"cpu": 1},
        node="gpu-1",
        metadata={"namespace": "gpu-operator", "labels": MANAGER},
    )
    layout = [SEVEN]
    objects = (
        dump_node(layout=layout),
        dump_pod(),
        manager,
        dump_configurations([layout]),
    )
    with serving(tmp_path, *objects) as own:
        yield own


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path, "rollout: {warmUp: 0s}")


@pytest.fixture
def saved(shell, api, policy, tmp_path):
    """A plan of that cluster, saved to a file."""
    path = tmp_path / "plan.json"
    access = ("--kubeconfig", api.kubeconfig, "--policy", policy)
    result = shell.run("plan", *access, "--at", AT, "--save", str(path), "-o", "json")
    assert len(result.json["changes"]) == 1
    return path


def apply(shell, api, policy, path, *options):
    arguments = ("--kubeconfig", api.kubeconfig, "--policy", policy, *options)
    return shell.run("apply", str(path), *arguments)


def changed(path, **changes):
    """Rewrite the one change of a saved plan."""
    document = json.loads(path.read_text())
    document["changes"][0] |= changes
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"uid": "another"}, "gpu-1 is another node of that name now"),
        ({"observed": "0" * 16}, "have changed since"),
        ({"node": "gpu-9"}, "gpu-9 is not in the fleet any more"),
    ],
)
def test_what_changed_since_is_said(shell, api, policy, saved, changes, said):
    """And no node is written."""
    changed(saved, **changes)
    result = apply(shell, api, policy, saved)
    assert result.code == 1
    assert said in result.err
    assert [m for m in api.mutations() if "nodes" in m] == []


def test_a_plan_of_another_policy_is_refused(shell, api, saved, tmp_path):
    """Its reserves and floors may be others."""
    other = write_policy(tmp_path, "rollout: {warmUp: 5s}", name="other.yaml")
    result = apply(shell, api, other, saved, "-o", "json")
    assert result.code == 1
    assert "another policy" in result.json["refusals"][0]
    assert result.json["done"] is False


def test_whoever_holds_the_lease_is_named(shell, api, policy, saved):
    """Two at once would undo each other."""
    lease = {
        "metadata": {"name": "mig-autoscaler"},
        "spec": {
            "holderIdentity": "replica-7",
            "leaseDurationSeconds": 90,
            "leaseTransitions": 3,
            "renewTime": "2030-01-10T12:00:00.000000Z",
        },
    }
    api.client.create(LEASES, OWN, lease)
    result = apply(shell, api, policy, saved)
    assert result.code == 1
    assert "replica-7" in result.err
    assert api.mutations() == []


def test_a_plan_without_changes_is_carried_out_at_once(shell, api, policy, saved):
    """Nothing to do is no error."""
    document = json.loads(saved.read_text())
    saved.write_text(json.dumps({**document, "changes": []}))
    result = apply(shell, api, policy, saved)
    assert result.code == 0
    assert "nothing to do" in result.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "plan.json:1:1:"),
        ("{", "plan.json:1:2:"),
        ("[]", "plan.json: "),
        ('{"kind": "MigPolicy"}', "kind"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_plan_is_bad_input(shell, api, policy, tmp_path, text, said):
    """Named by file and place, before anything is asked of the cluster."""
    path = tmp_path / "plan.json"
    path.write_text(text)
    result = apply(shell, api, policy, path)
    assert result.code == 65
    assert said in result.err
    assert api.mutations() == []
