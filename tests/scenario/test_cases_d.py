"""Field cases about MIG configurations and geometry, through the command line."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.configuration import node_configuration, parse_configurations
from autoscaler.domain.mig.layouts import fits
from autoscaler.domain.mig.placement import place
from tests.builders import model, toy_model
from tests.commands import Shell, write_policy
from tests.dumps import SEVEN, dump_configurations, dump_node, dump_pod, write_dump

OPERATOR = "gpu-operator"
H100 = "h100-80gb"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def config_map(name, text, **metadata):
    """Return a ConfigMap with a configuration file."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": OPERATOR, **metadata},
        "data": {"config.yaml": text},
    }


def cluster_policy(name):
    """Return the operator's ClusterPolicy, which names the file MIG manager reads."""
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"migManager": {"config": {"name": name}}},
    }


SCALAR = """\
version: v1
mig-configs:
  one-board:
  - devices: 3
    mig-enabled: true
    mig-devices: {"2g.10gb": 3}
"""


def test_d01_a_number_for_devices_is_refused(shell, tmp_path):
    """The whole file is unusable; it is named with the path of the key, and no node changes."""
    with pytest.raises(ConfigError, match=r"one-board.*devices"):
        parse_configurations(SCALAR, "custom")
    ours = config_map("mig-autoscaler-config", SCALAR)
    node = dump_node(layout=[SEVEN] * 4, labels={"nvidia.com/mig.config": "one-board"})
    document = shell.plan(write_dump(tmp_path, node, dump_pod(), ours)).json
    told = [h["message"] for h in document["holds"] if "devices" in h["message"]]
    assert any("one-board" in message for message in told)
    assert all(change["blockedBy"] for change in document["changes"])


def test_d02_every_gpu_of_a_node_is_listed():
    """Each index exactly once, also those that stay as they are."""
    layout = [Counts({"2g.12gb": 2}), Counts({"1g.6gb": 4}), None]
    _, entries = node_configuration(model("a30-24gb"), layout)
    indexes = [index for entry in entries for index in (entry.devices or ())]
    assert sorted(indexes) == [0, 1, 2]


def test_d02_a_foreign_configuration_with_gaps_tells_nothing(shell, tmp_path):
    """It covers one GPU of two, so what the node holds is not read from it."""
    gappy = (
        "version: v1\nmig-configs:\n  only-second:\n"
        '  - {devices: [1], mig-enabled: true, mig-devices: {"2g.12gb": 2}}\n'
    )
    node = dump_node(
        layout=[{"2g.12gb": 1, "1g.6gb": 2}, {"2g.12gb": 2}],
        key="a30-24gb",
        labels={"nvidia.com/mig.config": "only-second"},
    )
    path = write_dump(tmp_path, node, dump_pod("p", "4g.24gb"), config_map("custom", gappy))
    document = shell.plan(path).json
    changed = [c["configName"] for c in document["changes"]]
    assert "only-second" not in changed
    assert document["changes"] or document["holds"]


def test_d03_gigabytes_in_names_are_not_added_up():
    """Memory slices, compute slices and placements are what counts."""
    layout = Counts({"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1})
    assert fits(model("h100-94gb"), layout)


def test_d04_placements_are_solved_before_they_are_created():
    """3g + 2g + 1g + 1g fits, though not with the 3g at the driver's first choice."""
    geometry = place(model("a100-40gb"), Counts({"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}))
    assert geometry is not None
    assert sorted((i.profile, i.start) for i in geometry.instances) == [
        ("1g.5gb", 2),
        ("1g.5gb", 3),
        ("2g.10gb", 0),
        ("3g.20gb", 4),
    ]


def test_d05_search_goes_back_where_greed_fails():
    """a at 4, b at 0 and 1."""
    toy = toy_model(8, {"a": ((0, 4), 1), "b": ((0, 1), 1)})
    geometry = place(toy, Counts({"a": 1, "b": 2}))
    assert geometry is not None
    assert {(i.profile, i.start) for i in geometry.instances} == {("a", 4), ("b", 0), ("b", 1)}


def test_d06_a_profile_of_another_model_is_named_with_its_line(shell, tmp_path):
    """A pool that no GPU can satisfy is told before anything is planned."""
    policy = write_policy(tmp_path, "    profiles: [7g.79gb]")
    result = shell.run("validate", policy)
    assert result.code == 65
    assert f"{policy}:7:" in result.err
    assert "7g.79gb" in result.err


def test_d06_a_product_without_a_table_is_reported_by_name(shell, tmp_path):
    """Not left out in silence."""
    node = dump_node(labels={"nvidia.com/gpu.product": "NVIDIA-A100-40GB-PCIe"})
    document = shell.plan(write_dump(tmp_path, node, dump_pod())).json
    (hold,) = [h for h in document["holds"] if h["reason"] == "UnknownModel"]
    assert "NVIDIA-A100-40GB-PCIe" in hold["message"]


def test_d07_the_operators_own_config_map_is_never_written(shell, tmp_path):
    """If the ClusterPolicy points there, the node waits for one clear instruction."""
    name = "default-mig-parted-config"
    owner = {"kind": "ClusterPolicy", "name": "cluster-policy", "controller": True, "uid": "u"}
    text = dump_configurations()["data"]["config.yaml"]
    theirs = config_map(name, text, ownerReferences=[owner])
    path = write_dump(tmp_path, dump_node(), dump_pod(), theirs, cluster_policy(name))
    document = shell.plan(path).json
    held = {h["reason"]: h["message"] for h in document["holds"]}
    assert "gpu-operator/mig-autoscaler-config" in held["OperatorConfigMap"]
    blocked = [b["reason"] for c in document["changes"] for b in c["blockedBy"]]
    assert blocked == ["OperatorConfigMap"]


def test_d08_names_fit_into_a_label_and_profiles_keep_their_plus():
    """all-1g.10gb+me becomes all-1g.10gb.me."""
    name, entries = node_configuration(model(H100), [Counts({"1g.10gb+me": 1})])
    assert name == "all-1g.10gb.me"
    assert entries[0].mig_devices == Counts({"1g.10gb+me": 1})


def test_d09_a_generated_file_limits_what_can_be_applied(shell, tmp_path):
    """Without a custom file only the names in the node's own file can be applied."""
    text = (
        "version: v1\nmig-configs:\n"
        '  all-1g.10gb: [{devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 7}}]\n'
        '  all-3g.40gb: [{devices: all, mig-enabled: true, mig-devices: {"3g.40gb": 2}}]\n'
    )
    labels = {
        "app.kubernetes.io/component": "nvidia-mig-manager",
        "nvidia.com/node-name": "gpu-1",
    }
    theirs = config_map("gpu-1-mig-config", text, labels=labels)
    node = dump_node(layout=[{"1g.10gb": 7}] * 2, key=H100)
    pods = [dump_pod("p", "3g.40gb"), dump_pod("q", "4g.40gb")]
    path = write_dump(tmp_path, node, *pods, theirs, cluster_policy(""))
    document = shell.plan(path).json
    (change,) = document["changes"]
    assert change["configName"].startswith("as-")
    assert [block["reason"] for block in change["blockedBy"]] == ["OperatorConfigMap"]
