"""More field cases of pending pods: what is told to those that nothing can serve."""

import pytest

from tests.builders import A100
from tests.commands import Shell
from tests.dumps import AT, TWO_BIG, dump_node, dump_pod, write_dump

PRODUCT = "nvidia.com/gpu.product"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def unserved(shell, tmp_path, *objects, **options):
    """Return reason and message of the one pod that is not served."""
    (note,) = shell.plan(write_dump(tmp_path, *objects), **options).json["unserved"]
    return note["reason"], note["message"]


def test_boards_with_mig_off_are_named_as_such(shell, tmp_path):
    """It is no question of size: somebody has to turn MIG on."""
    reason, message = unserved(shell, tmp_path, dump_node(layout=[None] * 8), dump_pod())
    assert reason == "MigOff"
    assert "have MIG off" in message


def test_one_board_with_mig_on_is_enough(shell, tmp_path):
    """The pod waits for that one, busy or not."""
    node = dump_node(layout=[None, TWO_BIG], key=A100)
    path = write_dump(tmp_path, node, dump_pod(requests="1g.5gb"))
    (note,) = shell.plan(path).json["unserved"]
    assert note["reason"] == "NoCapacity"


def test_under_strategy_single_no_instance_has_a_name_of_its_own(shell, tmp_path):
    """The board has the profile, so naming it as the nearest one would be no help."""
    labels = {
        "nvidia.com/mig.strategy": "single",
        PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "nvidia.com/gpu.count": "7",
    }
    amounts = {"cpu": "96", "memory": "1024Gi", "nvidia.com/gpu": "7"}
    status = {"allocatable": amounts, "capacity": amounts}
    node = dump_node(labels=labels, status=status)
    reason, message = unserved(shell, tmp_path, node, dump_pod())
    assert reason == "ImpossibleProfile"
    assert "strategy single" in message
    assert "nearest" not in message


def test_nodes_of_no_pool_are_no_shortage_of_profiles(shell, tmp_path):
    """The policy leaves the only node out."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: t}\n"
        "pools: [{name: other, nodeSelector: {zone: b}}]\n"
    )
    reason, message = unserved(shell, tmp_path, dump_node(), dump_pod(), policy=str(policy))
    assert reason == "NoEligibleNode"
    assert "in no pool of the policy" in message


@pytest.mark.parametrize(
    ("resource", "said", "unsaid"),
    [
        ("nvidia.com/mig-3g.21gb", "nearest is 3g.20gb on a100-40gb", "7g"),
        ("nvidia.com/mig-odd", "no GPU model it may run on has", "nearest"),
        ("nvidia.com/mig-1g.5gb+me", "offers nvidia.com/mig-1g.5gb.me", "nearest"),
    ],
)
def test_c08_a_name_that_nobody_offers_gets_a_sane_hint(
    shell, tmp_path, resource, said, unsaid
):
    """A little off in memory, unreadable, or spelled as no resource can be."""
    reason, message = unserved(shell, tmp_path, dump_node(), dump_pod(requests={resource: 1}))
    assert reason == "ImpossibleProfile"
    assert said in message
    assert unsaid not in message


def test_a_cordon_is_told_as_a_cordon(shell, tmp_path):
    """Not as one taint among many: it goes away when a person wants it to."""
    node = dump_node(
        layout=[TWO_BIG],
        spec={
            "unschedulable": True,
            "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
        },
    )
    reason, message = unserved(shell, tmp_path, node, dump_pod())
    assert reason == "NoEligibleNode"
    assert message == "of 1 GPU nodes 1 cordoned"


def test_c04_several_instances_in_one_container_are_warned_of(shell, tmp_path):
    """The request is one bundle and stays as it is; plan and explain say what it means."""
    both = {"nvidia.com/mig-2g.10gb": 1, "nvidia.com/mig-1g.5gb": 2}
    path = write_dump(tmp_path, dump_node(), dump_pod("two-kinds", both))
    document = shell.plan(path).json
    assert [p["name"] for p in document["changes"][0]["serves"]] == ["two-kinds"]
    (said,) = [n for n in document["notices"] if "a CUDA process uses one" in n]
    assert "team/two-kinds" in said
    out = shell.run("explain", "pod/team/two-kinds", "--from", path, "--at", AT).out
    assert "warning" in out
    assert "container main asks for" in out
    one = write_dump(tmp_path, dump_node(), dump_pod(), name="one.json")
    assert not [n for n in shell.plan(one).json["notices"] if "CUDA" in n]


def test_c02_pods_that_are_no_demand_are_told_by_their_number(shell, tmp_path):
    """A person who misses one of them in the plan knows where to ask."""
    gated = dump_pod("gated", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    claims = {"resourceClaims": [{"name": "mig", "resourceClaimTemplateName": "mig-1g"}]}
    claiming = dump_pod("claiming", {}, spec=claims)
    path = write_dump(tmp_path, dump_node(), gated, claiming, dump_pod("runs", node="gpu-1"))
    (said,) = [n for n in shell.plan(path).json["notices"] if "no demand" in n]
    assert "1 Claims, 1 Gated" in said
    plain = write_dump(tmp_path, dump_node(), dump_pod(), name="plain.json")
    assert not [n for n in shell.plan(plain).json["notices"] if "no demand" in n]


def test_a_pod_that_asks_for_no_gpu_is_told_so(shell, tmp_path):
    """It may be pending for many reasons, and none of them is ours."""
    path = write_dump(tmp_path, dump_node(), dump_pod("web", {"cpu": 1}))
    out = shell.run("explain", "pod/team/web", "--from", path, "--at", AT).out
    assert out.startswith("pod/team/web: it asks for no GPU")


def test_a_node_of_two_pools_is_explained_as_that(shell, tmp_path):
    """It is not that no pool wants it."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: t}\n"
        "pools: [{name: a, nodeSelector: {}}, {name: b, nodeSelector: {}}]\n"
    )
    path = write_dump(tmp_path, dump_node(), dump_pod())
    own = ("--policy", str(policy), "--from", path, "--at", AT)
    out = shell.run("explain", "node/gpu-1", *own).out
    assert "matches 2 pools (a, b)" in out.splitlines()[0]


def manager(namespace):
    """Return a ready pod of MIG manager."""
    metadata = {"namespace": namespace, "labels": {"app": "nvidia-mig-manager"}}
    return dump_pod("nvidia-mig-manager-x1", {}, node="gpu-1", metadata=metadata)


def test_c11_an_operator_in_another_namespace_is_told_with_the_way_out(shell, tmp_path):
    """It reads configurations there, and its own pods would pass for those of users."""
    elsewhere = write_dump(tmp_path, dump_node(), dump_pod(), manager("nvidia-gpu-operator"))
    (change,) = shell.plan(elsewhere).json["changes"]
    (block,) = change["blockedBy"]
    assert block["reason"] == "OperatorConfigMap"
    assert "nvidia-gpu-operator" in block["message"]
    at_home = write_dump(tmp_path, dump_node(), dump_pod(), manager("gpu-operator"))
    assert shell.plan(at_home).json["changes"][0]["blockedBy"] == []


def claim_slice(**parts):
    """Return what the NVIDIA claim driver publishes."""
    own = {"metadata": {"name": "s"}, "kind": "ResourceSlice"}
    return {**own, "apiVersion": "resource.k8s.io/v1", **parts}


GPU_DRIVER = {"driver": "gpu.nvidia.com"}


@pytest.mark.parametrize(
    ("published", "owned"),
    [
        (claim_slice(spec={**GPU_DRIVER, "nodeName": "gpu-1"}), ["gpu-1"]),
        (claim_slice(nodeName="gpu-1", driverName="gpu.nvidia.com"), ["gpu-1"]),
        (claim_slice(spec={**GPU_DRIVER, "allNodes": True}), ["gpu-1", "gpu-2"]),
        (claim_slice(spec={"driver": "compute-domain.nvidia.com", "nodeName": "gpu-1"}), []),
    ],
)
def test_c12_every_form_of_a_resource_slice_marks_its_nodes(shell, tmp_path, published, owned):
    """Old versions of the API, devices of all nodes, and drivers that cut nothing."""
    path = write_dump(tmp_path, dump_node(), dump_node("gpu-2"), dump_pod(), published)
    document = shell.plan(path).json
    assert [h["node"] for h in document["holds"] if h["reason"] == "TwoOwners"] == owned
    free = [name for name in ("gpu-1", "gpu-2") if name not in owned]
    assert [change["node"] for change in document["changes"]] == free[:1]


def test_what_is_free_on_a_closed_node_is_not_told_as_free(shell, tmp_path):
    """Nobody can take it, and a person would wonder why the pod waits."""
    closed = dump_node("gpu-1", layout=[TWO_BIG], spec={"unschedulable": True})
    path = write_dump(tmp_path, closed, dump_node("gpu-2"), dump_pod())
    (line,) = shell.plan(path).json["demand"]
    assert (line["free"], line["lacking"], line["servedByPlan"]) == (0, 1, 1)


def test_no_node_is_cut_for_a_pod_that_its_cpus_keep_away(shell, tmp_path):
    """Pods without GPUs fill the first node; an instance alone would not help there."""

    def asking(name, cpu, amounts, **parts):
        """Return a pod that asks for CPUs beside GPUs."""
        requests = {"cpu": cpu, **amounts}
        container = {"name": "main", "resources": {"requests": requests, "limits": amounts}}
        return dump_pod(name, {}, spec={"containers": [container]}, **parts)

    full = asking("web", "90", {}, node="gpu-1")
    waits = asking("train", "8", {"nvidia.com/mig-3g.20gb": "1"})
    path = write_dump(tmp_path, dump_node(), dump_node("gpu-2"), full, waits)
    (change,) = shell.plan(path).json["changes"]
    assert change["node"] == "gpu-2"
    alone = write_dump(tmp_path, dump_node(), full, waits, name="alone.json")
    (note,) = shell.plan(alone).json["unserved"]
    assert note["message"] == "of 1 GPU nodes 1 with too few CPUs beside pods without GPUs"
