"""Whether the GPUs of a node are ours to change at all."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.ownership import (
    agent_holds,
    manager_holds,
    owner_holds,
    scope_holds,
)
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.pool import Driver
from autoscaler.domain.reasons import Reason
from tests.builders import node, pod
from tests.fleets import pool

CLAIMS = frozenset({"gpu.nvidia.com"})


def owners(own, drivers=frozenset(), pods=()):
    """Return the reasons of a node's owners."""
    return [hold.reason for hold in owner_holds(own, drivers=drivers, pods=pods)]


def test_a_plain_node_of_the_operator_is_ours():
    """Its labels say so."""
    assert owners(node()) == []


@pytest.mark.parametrize(
    "annotation",
    [
        "hami.io/node-nvidia-register",
        "volcano.sh/node-vgpu-register",
        "nos.nebuly.com/spec-gpu-0-1g.5gb",
    ],
)
def test_e10_marks_of_other_partitioners_mean_two_owners(annotation):
    """They make and destroy instances for each pod."""
    assert owners(node(annotations={annotation: "x"})) == [Reason.TWO_OWNERS]


def test_e10_pods_of_other_partitioners_mean_two_owners():
    """The pod is there before its first mark."""
    pods = [pod("hami-device-plugin-x1", {}, node="node-a")]
    assert owners(node(), pods=pods) == [Reason.TWO_OWNERS]


def test_e10_a_claim_driver_means_two_owners():
    """Drivers of other devices do not matter."""
    assert owners(node(), CLAIMS) == [Reason.TWO_OWNERS]
    assert owners(node(), frozenset({"dra.example.net"})) == []


def test_nodes_that_a_provider_cuts_are_read_only():
    """On AKS only where NVIDIA's operator is not at work."""
    gke = node(labels={"cloud.google.com/gke-gpu-partition-size": "1g.5gb"})
    assert owners(gke) == [Reason.MANAGED_BY_PROVIDER]
    aks = {"kubernetes.azure.com/accelerator": "nvidia"}
    assert owners(node(labels=aks)) == []
    bare = replace(node(), labels={**aks, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"})
    assert owners(bare) == [Reason.MANAGED_BY_PROVIDER]


@pytest.mark.parametrize(
    "labels",
    [
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-SHARED"},
        {"nvidia.com/gpu.sharing-strategy": "time-slicing"},
        {"nvidia.com/mig-1g.5gb.replicas": "4"},
    ],
)
def test_shared_devices_are_left_alone(labels):
    """Replicas are no instances."""
    assert owners(node(labels=labels)) == [Reason.SHARED]


def test_shares_in_resource_names_are_enough():
    """The resource is renamed when devices are shared."""
    own = node(allocatable=Counts({"nvidia.com/gpu.shared": 16}))
    assert owners(own) == [Reason.SHARED]


def test_one_replica_is_no_sharing_and_whole_gpus_are_counted_as_replicas_too():
    """Feature discovery writes both labels on every node."""
    labels = {
        "nvidia.com/gpu.replicas": "6",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig-1g.5gb.replicas": "1",
    }
    assert owners(node(labels=labels)) == []


def scope(runs=Strategy.MIXED, **changes):
    """Return the messages of what can only be watched."""
    return [hold.message for hold in scope_holds(node(), pool(**changes), runs)]


def test_pools_that_are_only_observed_are_told():
    """Where nothing is cut, and where the node and the policy say different things."""
    assert scope() == scope(driver=Driver.AGENT) == []
    assert scope(Strategy.SINGLE, strategy=Strategy.SINGLE) == []
    (none,) = scope(Strategy.NONE, strategy=Strategy.NONE)
    assert "there is nothing to cut" in none
    (other,) = scope(Strategy.SINGLE)
    assert "runs MIG strategy single, pool pool is for mixed" in other


def managed(own, *, managed=None, confirms=False, driver=Driver.MIG_MANAGER):
    """Return the messages of a node where nobody would obey a label."""
    holds = manager_holds(own, pool(driver=driver), managed=managed, confirms=confirms)
    return [hold.message for hold in holds]


def test_e07_a_node_without_a_ready_manager_is_told_where_that_is_known():
    """An unknown list of managers is no empty list."""
    assert managed(node()) == []
    assert managed(node(), managed=frozenset({"node-a"})) == []
    (text,) = managed(node(), managed=frozenset({"node-b"}))
    assert "no MIG manager is ready" in text
    assert managed(node(), managed=frozenset(), driver=Driver.AGENT) == []


def test_where_the_agent_cuts_a_ready_manager_is_a_second_owner():
    """It would apply its label again at its next start."""
    (text,) = managed(node(), managed=frozenset({"node-a"}), driver=Driver.AGENT)
    assert "two owners" in text
    assert "nvidia.com/gpu.deploy.mig-manager=false" in text


def test_a_node_whose_agent_is_silent_is_told():
    """Without an inventory nobody is there to change it."""
    (hold,) = agent_holds(node(), pool(driver=Driver.AGENT), has_report=False)
    assert hold.reason is Reason.NO_AGENT
    assert list(agent_holds(node(), pool(driver=Driver.AGENT), has_report=True)) == []
    assert list(agent_holds(node(), pool(), has_report=False)) == []


def test_e07_a_label_without_any_answer_tells_that_nobody_reads_it():
    """Unless the node is as the label says: then somebody did."""
    labels = {"nvidia.com/mig.config": "plan-z", "nvidia.com/mig.capable": "true"}
    silent = replace(node(), labels=labels)
    (text,) = managed(silent)
    assert "asks for plan-z" in text
    assert managed(silent, confirms=True) == []
    deployed = replace(silent, labels={**labels, "nvidia.com/gpu.deploy.mig-manager": "true"})
    assert managed(deployed) == []


def test_a_manager_that_is_kept_away_is_told():
    """An administrator's choice."""
    own = node(labels={"nvidia.com/gpu.deploy.mig-manager": "false"})
    (text,) = managed(own)
    assert "keeps MIG manager away" in text
