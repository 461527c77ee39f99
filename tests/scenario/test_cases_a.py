"""Field cases of nodes and their labels: what is believed, counted and left alone."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.memory import Memory, remember
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node, pod
from tests.fleets import (
    api_nodes,
    api_pods,
    assessed,
    config_map,
    demanded,
    entry,
    inventory,
    only,
    policy,
    pool,
    reasons,
)


def test_a01_under_mixed_the_label_counts_boards_and_allocatable_counts_whole_gpus():
    """Eight boards, two of them cut; six whole GPUs are on offer, never eight."""
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: gpu-a1
          labels:
            nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
            nvidia.com/gpu.count: "8"
            nvidia.com/mig.capable: "true"
            nvidia.com/mig.strategy: mixed
            nvidia.com/mig.config.state: success
            nvidia.com/mig-1g.10gb.count: "14"
        status:
          allocatable: {nvidia.com/gpu: "6", nvidia.com/mig-1g.10gb: "14"}
        """
    )
    found = only(assessed(*nodes))
    assert len(found.gpus) == 8
    assert [g.counts for g in found.gpus if g.mig_enabled] == [Counts({"1g.10gb": 7})] * 2
    assert sum(not g.mig_enabled for g in found.gpus) == 6
    assert found.supply == Counts({"nvidia.com/gpu": 6, "nvidia.com/mig-1g.10gb": 14})
    # Which two of the eight are cut is not said, so nothing may be changed by number.
    assert reasons(found) == {Reason.GEOMETRY_UNKNOWN}


def test_a01_with_its_configuration_at_hand_the_node_may_be_changed():
    """The ConfigMap says which boards are cut, and its sums agree."""
    cut = {"1g.10gb": 7}
    layout = [cut, None, None, None, cut, None, None, None]
    own = node("gpu-a1", layout, "h100-80gb", labels={"nvidia.com/mig.config": "two-cut"})
    entries = [entry([0, 4], cut), entry([1, 2, 3, 5, 6, 7], None)]
    found = only(assessed(own, config_maps=(config_map({"two-cut": entries}),)))
    assert found.is_changeable
    assert [g.index for g in found.gpus if g.mig_enabled] == [0, 4]


INVALID = """
    kind: Node
    metadata:
      name: gpu-a2
      labels:
        nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-INVALID
        nvidia.com/gpu.count: "0"
        nvidia.com/gpu.memory: "0"
        nvidia.com/mig.strategy: single
        nvidia.com/mig.config: all-balanced
        nvidia.com/mig.config.state: success
    status:
      allocatable: {nvidia.com/gpu: "0"}
"""


def test_a02_a_layout_not_valid_for_single_blocks_the_node():
    """The model is still known, and success of the manager does not matter."""
    a80 = pool(node_selector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"})
    found = only(assessed(*api_nodes(INVALID), under=policy(a80)))
    assert Reason.PRODUCT_INVALID in reasons(found)
    assert found.model is not None
    assert found.model.key == "a100-80gb"
    (hold,) = (h for h in found.holds if h.reason is Reason.PRODUCT_INVALID)
    assert "not valid for strategy single" in hold.message
    assert not found.is_changeable


PENDING = """
    kind: Node
    metadata:
      name: gpu-a3
      uid: uid-gpu-a3
      labels:
        nvidia.com/mig.capable: "true"
        nvidia.com/mig.config: plan-7f3a
        nvidia.com/mig.config.state: pending
        nvidia.com/gpu.deploy.gpu-feature-discovery: paused-for-mig-change
"""
PLANNED = config_map({"plan-7f3a": [entry("all", {"3g.20gb": 2})]})


def test_a03_during_a_change_the_node_keeps_its_identity_and_its_supply_to_come():
    """The labels are away; model and pool are remembered by uid."""
    a40 = policy(pool(node_selector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}))
    before = assessed(node("gpu-a3", [{"1g.5gb": 7}] * 2), under=a40)
    memory = remember(before, Memory())
    maps = (PLANNED,)
    during = assessed(*api_nodes(PENDING), under=a40, memory=memory, config_maps=maps)
    found = only(during)
    assert found.model is not None
    assert found.model.key == "a100-40gb"
    assert reasons(found) == {Reason.CHANGE_IN_PROGRESS}
    assert found.target_supply == Counts({"nvidia.com/mig-3g.20gb": 4})


def test_a03_without_memory_the_change_is_told_all_the_same():
    """A restarted controller holds the node in the only pool that it can be of."""
    a40 = policy(pool(node_selector={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}))
    found = only(assessed(*api_nodes(PENDING), under=a40, config_maps=(PLANNED,)))
    assert found.pool == "pool"
    assert reasons(found) == {Reason.CHANGE_IN_PROGRESS}
    assert "plan-7f3a is pending" in found.holds[0].message


def test_a04_more_whole_gpus_than_the_label_counts_means_other_models():
    """The product label shows one board of three; the other two may be anything."""
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: ws-01
          labels:
            nvidia.com/gpu.product: NVIDIA-A100-PCIE-40GB
            nvidia.com/gpu.count: "1"
            nvidia.com/mig.strategy: mixed
        status:
          allocatable: {nvidia.com/gpu: "3"}
        """
    )
    found = only(assessed(*nodes))
    assert reasons(found) == {Reason.MIXED_MODELS}
    assert "3 whole GPUs and its label counts 1" in found.holds[0].message


def test_a05_advertised_resources_beyond_the_hardware_are_no_supply():
    """The arithmetic is in the message: 4 whole and 8 cut boards on a node of 4."""
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: gpu-a4
          labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB, nvidia.com/gpu.count: "4",
                   nvidia.com/mig.strategy: mixed, nvidia.com/mig.config: all-1g.5gb,
                   nvidia.com/mig.config.state: success}
        status:
          allocatable: {nvidia.com/gpu: "4", nvidia.com/mig-1g.5gb: "28",
                        nvidia.com/mig-3g.20gb: "8"}
        """
    )
    found = only(assessed(*nodes))
    assert reasons(found) == {Reason.EXCEEDS_HARDWARE}
    assert "at least 12 GPUs, its label counts 4" in found.holds[0].message
    assert found.supply == Counts()
    assert found.gpus == ()


ME_LAYOUT = {"1g.10gb": 4, "1g.10gb+me": 1, "2g.20gb": 1}


@pytest.mark.parametrize(
    "advertised",
    [
        {"nvidia.com/mig-1g.10gb": 10, "nvidia.com/mig-2g.20gb": 2},
        {
            "nvidia.com/mig-1g.10gb": 8,
            "nvidia.com/mig-1g.10gb.me": 2,
            "nvidia.com/mig-2g.20gb": 2,
        },
    ],
)
def test_a06_both_spellings_of_media_instances_are_the_same_layout(advertised):
    """The node advertises what its configuration promises, folded or not."""
    found = only(assessed(me_node(advertised), config_maps=(ME_MAP,)))
    assert found.holds == ()
    assert [gpu.counts for gpu in found.gpus] == [Counts(ME_LAYOUT)] * 2


ME_MAP = config_map({"with-me": [entry("all", ME_LAYOUT)]})


def me_node(advertised):
    """Return a node of two boards with a media instance each."""
    own = node("gpu-a6", [{"1g.10gb": 7}] * 2, "a100-80gb")
    labels = {**own.labels, "nvidia.com/mig.config": "with-me"}
    changes = {"labels": labels, "allocatable": Counts(advertised)}
    return node("gpu-a6", [{"1g.10gb": 7}] * 2, "a100-80gb", capacity=Counts(), **changes)


def test_a06_a_pod_for_a_folded_name_is_told_so_and_no_demand():
    """A plugin that folds the name never offers it, whatever is cut."""
    own = me_node({"nvidia.com/mig-1g.10gb": 10, "nvidia.com/mig-2g.20gb": 2})
    demand = demanded(own, pod("wants-me", "1g.10gb+me"), config_maps=(ME_MAP,))
    assert demand.groups == ()
    (note,) = demand.impossible
    assert note.reason is Reason.FOLDED_PROFILE
    assert "nvidia.com/mig-1g.10gb.me" in note.message


def test_a07_resource_names_count_and_per_profile_labels_are_hints():
    """The label rounds to 21 GB; eight instances exist, not sixteen."""
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: gpu-a7
          labels:
            nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB
            nvidia.com/gpu.count: "4"
            nvidia.com/mig.strategy: mixed
            nvidia.com/mig-3g.21gb.count: "8"
        status:
          allocatable: {nvidia.com/gpu: "0", nvidia.com/mig-3g.20gb: "8"}
        """
    )
    found = only(assessed(*nodes))
    assert found.is_changeable
    assert [gpu.counts for gpu in found.gpus] == [Counts({"3g.20gb": 2})] * 4
    assert found.supply == Counts({"nvidia.com/mig-3g.20gb": 8})


SHARED = """
    kind: Node
    metadata:
      name: gpu-a8
      labels:
        nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
        nvidia.com/gpu.count: "1"
        nvidia.com/mig.strategy: mixed
        nvidia.com/mig-1g.10gb.replicas: "4"
    status:
      allocatable: {nvidia.com/gpu: "0", nvidia.com/mig-1g.10gb: "0",
                    nvidia.com/mig-1g.10gb.shared: "28"}
"""


def test_a08_a_node_that_shares_its_devices_is_left_alone():
    """Twenty-eight shares are not twenty-eight instances."""
    found = only(assessed(*api_nodes(SHARED)))
    assert reasons(found) == {Reason.SHARED}
    assert found.free["nvidia.com/mig-1g.10gb"] == 0
    assert found.free["nvidia.com/mig-1g.10gb.shared"] == 28
    assert not found.is_changeable


def test_a08_shares_do_not_serve_a_pod_that_wants_an_instance():
    """The pod is demand for another node."""
    other = node("other", [{"3g.40gb": 2}], "h100-80gb")
    demand = demanded(*api_nodes(SHARED), other, pod("wants-one", "1g.10gb"))
    (group,) = demand.groups
    assert "other" in group.eligible
    assert demand.fits_today == ()


def test_a09_a_node_cut_by_the_provider_is_read_only():
    """Its supply counts; it is never a target."""
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: pool1-vm3
          labels:
            cloud.google.com/gke-gpu-partition-size: 2g.20gb
            nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
        status:
          allocatable: {nvidia.com/gpu: "3"}
        """
    )
    found = only(assessed(*nodes))
    assert reasons(found) == {Reason.MANAGED_BY_PROVIDER}
    assert found.supply == Counts({"nvidia.com/gpu": 3})
    assert not found.is_changeable


def test_a10_a_node_that_came_back_under_its_name_is_another_node():
    """Nothing is remembered of the old uid, and success of the manager is not believed."""
    old = assessed(node("gpu-a5", [{"3g.40gb": 2}], "a100-80gb"))
    memory = remember(old, Memory())
    nodes = api_nodes(
        """
        kind: Node
        metadata:
          name: gpu-a5
          uid: 22222222-0000-4000-8000-0000000000a5
          labels: {nvidia.com/mig.config: all-3g.40gb, nvidia.com/mig.config.state: success}
        status:
          allocatable: {cpu: "64"}
        """
    )
    found = only(assessed(*nodes, memory=memory))
    assert found.model is None
    assert Reason.UNKNOWN_MODEL in reasons(found)
    assert "advertises no GPU" in found.holds[0].message
    assert found.supply == Counts()


def test_a10_a_young_node_is_left_to_warm_up():
    """Operators are still at work on a node that has just joined."""
    found = only(assessed(node(created_s=NOW_S - 100.0)))
    assert reasons(found) == {Reason.WARMING_UP}


def test_a04_the_inventory_tells_a_node_of_several_models():
    """Facts per board contradict the one product label."""
    layout = [{"3g.20gb": 2}] * 2
    report = inventory(layout)["mig-autoscaler.io/inventory"]
    mixed = report.replace("SXM4-40GB", "SXM4-80GB", 1)
    annotations = {"mig-autoscaler.io/inventory": mixed}
    found = only(assessed(node("ws-02", layout, annotations=annotations)))
    assert reasons(found) == {Reason.MIXED_MODELS}
    assert "NVIDIA-A100-SXM4-80GB beside a100-40gb" in found.holds[0].message


def test_pods_of_a_blocked_node_still_count_as_running():
    """A hold changes nothing about what pods hold."""
    pods = api_pods(
        """
        metadata: {name: runs, namespace: team-x}
        spec:
          nodeName: gpu-a4
          containers: [{name: m, resources: {limits: {nvidia.com/mig-1g.5gb: "2"}}}]
        status: {phase: Running}
        """
    )
    held = node("gpu-a4", annotations={"mig-autoscaler.io/hold": "true"})
    demand = demanded(held, *pods)
    assert demand.running == {"pool": Counts({"nvidia.com/mig-1g.5gb": 2})}
