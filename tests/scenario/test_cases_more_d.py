"""More field cases of MIG configurations: whose file it is, and what is wrong with it."""

import pytest

from tests.commands import Shell
from tests.dumps import SEVEN, TWO_BIG, dump_configurations, dump_node, dump_pod, write_dump

FOREIGN = {"nvidia.com/mig.config": "by-hand"}
OWNED = [{"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "p", "uid": "u"}]


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def by_hand(entries, name="by-hand"):
    """Return a file of one configuration, as people write it."""
    text = f"version: v1\nmig-configs:\n  {name}:\n{entries}"
    return dump_configurations() | {"data": {"config.yaml": text}}


def entry(devices, devices_of="{1g.5gb: 7}"):
    """Return one entry of a configuration as text."""
    return f"  - {{devices: {devices}, mig-enabled: true, mig-devices: {devices_of}}}\n"


@pytest.mark.parametrize(
    ("entries", "flaw"),
    [
        (entry([1], "{3g.20gb: 2}"), "no entry names GPU 0"),
        (entry("all") + entry([1], "{3g.20gb: 2}"), "2 entries name GPU 1"),
        (entry("all", "{1g.5gb: 8}"), "cannot hold 8x1g.5gb"),
        (entry("all", "{1g.10gb: 4, 3g.40gb: 1}"), "3g.40gb is no profile of a100-40gb"),
    ],
)
def test_a_configuration_that_says_nothing_is_named_with_its_flaw(
    shell, tmp_path, entries, flaw
):
    """Otherwise a person would look for a file that is there."""
    node = dump_node(layout=[SEVEN, TWO_BIG], labels=FOREIGN)
    path = write_dump(tmp_path, node, dump_pod(), by_hand(entries))
    (hold,) = shell.plan(path).json["holds"]
    assert hold["reason"] == "GeometryUnknown"
    assert "mig-configs.by-hand" in hold["message"]
    assert flaw in hold["message"]


@pytest.mark.parametrize("name", ["default-mig-parted-config", "mine"])
def test_a_policy_that_names_the_operators_file_is_blocked(shell, tmp_path, name):
    """By its owner or by its well-known name: what is written there is undone."""
    owner = OWNED if name == "mine" else []
    theirs = dump_configurations(name=name, namespace="gpu-operator", ownerReferences=owner)
    path = write_dump(tmp_path, dump_node(), dump_pod(), theirs)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: t}\n"
        f"pools: [{{name: all, nodeSelector: {{}}}}]\nmigManager: {{configMap: {name}}}\n"
    )
    document = shell.plan(path, policy=str(policy)).json
    (change,) = document["changes"]
    assert [block["reason"] for block in change["blockedBy"]] == ["OperatorConfigMap"]
    assert "create a ConfigMap of another name" in document["holds"][0]["message"]
