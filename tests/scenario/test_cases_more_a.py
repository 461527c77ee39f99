"""More field cases of nodes: other boards, other owners, and who is beside them."""

import pytest

from tests.commands import Shell
from tests.dumps import dump_configurations, dump_node, dump_pod, write_dump

H100 = "h100-80gb"
PRODUCT = "nvidia.com/gpu.product"
HBM3 = "NVIDIA-H100-80GB-HBM3"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def offering(name="gpu-1", key=H100, labels=None, **amounts):
    """Return a node of one board that offers these amounts, ``mig_1g_10gb`` and the like."""
    resources = {"cpu": "96", "memory": "1024Gi"}
    for word, number in amounts.items():
        kind = word.removeprefix("mig_").replace("_", ".")
        prefix = "nvidia.com/mig-" if word.startswith("mig_") else "nvidia.com/"
        resources[prefix + kind] = str(number)
    status = {"allocatable": resources, "capacity": resources}
    own = {"nvidia.com/mig.config": None, **(labels or {})}
    return dump_node(name, [{}], key, labels=own, status=status)


SHARED = {PRODUCT: f"{HBM3}-SHARED", "nvidia.com/mig-1g.10gb.replicas": "4"}
PARTITIONED = {"cloud.google.com/gke-gpu-partition-size": "2g.20gb"}
REGISTERED = {"hami.io/gpu": "on"}


@pytest.mark.parametrize(
    ("node", "reason", "wanted"),
    [
        (offering(labels=SHARED, mig_1g_10gb=28), "Shared", "nvidia.com/mig-1g.10gb"),
        (offering(labels=SHARED, gpu=4), "Shared", "nvidia.com/gpu"),
        (offering(labels=PARTITIONED, gpu=3), "ManagedByProvider", "nvidia.com/gpu"),
        (offering(labels=REGISTERED, gpu=10), "TwoOwners", "nvidia.com/gpu"),
    ],
)
def test_what_others_make_of_their_boards_is_counted_and_not_judged(
    shell, tmp_path, node, reason, wanted
):
    """One reason is told; what they offer serves pods, and the node beside is planned."""
    pods = [dump_pod("fits", {wanted: 1}), dump_pod("wants", "3g.40gb")]
    path = write_dump(tmp_path, node, dump_node("gpu-2", [{"1g.10gb": 7}], H100), *pods)
    document = shell.plan(path).json
    assert [(h["node"], h["reason"]) for h in document["holds"]] == [("gpu-1", reason)]
    assert [change["node"] for change in document["changes"]] == ["gpu-2"]
    assert [p["name"] for p in document["changes"][0]["serves"]] == ["wants"]
    assert document["unserved"] == []


AWAY = {
    PRODUCT: None,
    "nvidia.com/gpu.count": None,
    "nvidia.com/mig.config.state": "pending",
    "nvidia.com/gpu.deploy.gpu-feature-discovery": "paused-for-mig-change",
}


@pytest.mark.parametrize(
    ("config", "away", "planned"),
    [
        ("by-hand", AWAY, []),
        ("all-3g.20gb", AWAY, []),
        ("by-hand", {**AWAY, "nvidia.com/gpu.count": "1"}, []),
        ("all-1g.5gb", AWAY, ["gpu-2"]),
        ("unheard-of", AWAY, ["gpu-2"]),
    ],
)
def test_a03_what_a_change_will_offer_serves_though_no_label_tells_the_board(
    shell, tmp_path, config, away, planned
):
    """At least one board takes the configuration; no second node is cut for the same pod."""
    changing = dump_node(labels={**away, "nvidia.com/mig.config": config})
    for amounts in (changing["status"]["allocatable"], changing["status"]["capacity"]):
        amounts.pop("nvidia.com/mig-1g.5gb", None)
    text = (
        "version: v1\nmig-configs:\n  by-hand:\n"
        "  - {devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}\n"
    )
    file = dump_configurations() | {"data": {"config.yaml": text}}
    path = write_dump(tmp_path, changing, dump_node("gpu-2"), dump_pod(), file)
    document = shell.plan(path).json
    assert [(h["node"], h["reason"]) for h in document["holds"]] == [
        ("gpu-1", "ChangeInProgress")
    ]
    assert [change["node"] for change in document["changes"]] == planned


@pytest.mark.parametrize("kind", ["Instaslice", "NodeAccelerator"])
def test_e10_an_object_of_another_partitioner_marks_the_node_it_is_named_after(
    shell, tmp_path, kind
):
    """The node beside it is planned."""
    theirs = {
        "apiVersion": "inference.redhat.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": "gpu-1", "namespace": "das-operator"},
    }
    path = write_dump(tmp_path, dump_node(), dump_node("gpu-2"), dump_pod(), theirs)
    document = shell.plan(path).json
    assert [(h["node"], h["reason"]) for h in document["holds"]] == [("gpu-1", "TwoOwners")]
    assert "InstaSlice" in document["holds"][0]["message"]
    assert [change["node"] for change in document["changes"]] == ["gpu-2"]


@pytest.mark.parametrize(
    ("value", "planned"), [("all", "gpu-2"), ("0,1", "gpu-2"), ("void", "gpu-1"), ("", "gpu-1")]
)
def test_e02_a_pod_that_names_devices_to_the_runtime_may_use_every_gpu(
    shell, tmp_path, value, planned
):
    """Where NVIDIA's runtime is the default one, the variable is all it takes."""
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]
    spec = {"containers": [{"name": "main", "image": "x", "env": env}]}
    quiet = dump_pod("debug", {}, node="gpu-1", spec=spec)
    path = write_dump(tmp_path, dump_node(), dump_node("gpu-2"), quiet, dump_pod())
    (change,) = shell.plan(path).json["changes"]
    assert change["node"] == planned
