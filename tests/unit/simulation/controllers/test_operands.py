"""The operator's labels and pods, the device plugin and feature discovery."""

import pytest

from autoscaler.domain.mig.strategy import Strategy
from autoscaler.ports import NODES, PODS
from autoscaler.simulation.controllers.device_plugin import CannotAdvertise, list_devices
from autoscaler.simulation.controllers.feature_discovery import features
from autoscaler.simulation.controllers.operands import (
    DEVICE_PLUGIN,
    FEATURE_DISCOVERY,
    MIG_MANAGER,
    OPERANDS,
    VALIDATOR,
)
from autoscaler.simulation.hardware import SimulatedGpu
from tests.builders import model
from tests.worlds import (
    HALVES,
    OPERATOR,
    PLUGIN_SWITCH,
    SEVENS,
    THREE,
    devices,
    label,
    make_world,
    operands,
    set_labels,
)


def make_gpu(index: int, counts=None, key: str = "a100-40gb") -> SimulatedGpu:
    gpu = SimulatedGpu("n1", index, model(key), mig_enabled=counts is not None)
    for profile, number in sorted((counts or {}).items()):
        for _ in range(number):
            gpu.create(profile)
    return gpu


def numbers(gpus, strategy: Strategy = Strategy.MIXED, **options) -> dict[str, int]:
    return {name: len(ids) for name, ids in list_devices(gpus, strategy, **options).items()}


def test_every_application_has_one_pod_on_a_node():
    """All of them run and are owned by DaemonSets."""
    world = make_world(HALVES)
    assert all(len(operands(world, operand.app)) == 1 for operand in OPERANDS)


def test_deleted_label_comes_back_and_a_paused_one_stays():
    """The operator re-creates what is absent and honors every other value."""
    world = make_world(HALVES)
    set_labels(world, {PLUGIN_SWITCH: None})
    world.run_for(5)
    assert label(world, PLUGIN_SWITCH) == "true"
    set_labels(world, {PLUGIN_SWITCH: "paused-for-mig-change"})
    world.run_for(600)
    assert label(world, PLUGIN_SWITCH) == "paused-for-mig-change"
    assert operands(world, DEVICE_PLUGIN) == []


def test_operands_can_be_switched_off():
    """All deploy labels go, and the pods with them."""
    world = make_world(HALVES)
    set_labels(world, {"nvidia.com/gpu.deploy.operands": "false"})
    world.run_for(60)
    assert label(world, PLUGIN_SWITCH) is None
    assert operands(world, VALIDATOR) == []
    assert devices(world) == {THREE: 0}


def test_evicted_operand_is_replaced():
    """Its DaemonSet makes another one once it is gone."""
    world = make_world(HALVES)
    (first,) = operands(world, MIG_MANAGER)
    world.platform.client.post(PODS, OPERATOR, first, "eviction", {"metadata": {"name": first}})
    world.run_for(60)
    (second,) = operands(world, MIG_MANAGER)
    assert second != first


def test_node_without_gpus_gets_nothing():
    """Only nodes that are marked as having GPUs are the operator's business."""
    world = make_world(HALVES)
    world.platform.client.create(NODES, None, {"metadata": {"name": "plain"}})
    world.run_for(60)
    pods = world.platform.client.list(PODS, OPERATOR).items
    assert {pod["spec"]["nodeName"] for pod in pods} == {"n1"}


def test_plugin_that_does_not_start_is_tried_again():
    """Every half minute, until it works."""
    world = make_world(HALVES)
    world.faults.no_plugin.add("n1")
    (name,) = operands(world, DEVICE_PLUGIN)
    world.platform.client.delete(PODS, OPERATOR, name)
    world.run_for(100)
    assert devices(world) == {THREE: 0}
    world.faults.no_plugin.clear()
    world.run_for(35)
    assert devices(world) == {THREE: 2}


def test_labels_live_as_long_as_feature_discovery():
    """When its pod goes they vanish; nothing comes back while it publishes nothing."""
    world = make_world(HALVES)
    assert label(world, "nvidia.com/mig-3g.20gb.count") == "2"
    world.faults.no_discovery.add("n1")
    (name,) = operands(world, FEATURE_DISCOVERY)
    world.platform.client.delete(PODS, OPERATOR, name)
    world.run_for(60)
    assert label(world, "nvidia.com/gpu.product") is None
    assert label(world, "nvidia.com/mig.capable") is None
    assert label(world, "nvidia.com/gpu.deploy.mig-manager") == "true"


def test_mixed_strategy_names_every_profile():
    """A plus becomes a dot; a GPU without MIG is a whole one; an empty one offers nothing."""
    gpus = [make_gpu(0, {"1g.5gb+me": 1, "3g.20gb": 1}), make_gpu(1), make_gpu(2, {})]
    assert numbers(gpus) == {"nvidia.com/mig-1g.5gb.me": 1, THREE: 1, "nvidia.com/gpu": 1}


def test_media_variant_can_be_folded():
    """Some versions advertise it under the plain name."""
    gpus = [make_gpu(0, {"1g.5gb+me": 1, "1g.5gb": 2})]
    assert numbers(gpus, fold_media=True) == {"nvidia.com/mig-1g.5gb": 3}


def test_single_strategy_needs_uniform_gpus():
    """Instances of one profile on all GPUs, or none at all."""
    alike = [make_gpu(0, SEVENS), make_gpu(1, {"1g.5gb": 2})]
    assert numbers(alike, Strategy.SINGLE) == {"nvidia.com/gpu": 9}
    assert numbers([make_gpu(0), make_gpu(1)], Strategy.SINGLE) == {"nvidia.com/gpu": 2}
    for other in (make_gpu(1, HALVES), make_gpu(1, {}), make_gpu(1)):
        with pytest.raises(CannotAdvertise):
            list_devices([make_gpu(0, SEVENS), other], Strategy.SINGLE)
    assert numbers([make_gpu(0, SEVENS)], Strategy.NONE) == {"nvidia.com/gpu": 1}


def test_labels_by_strategy():
    """Mixed counts GPUs; single counts instances and names the profile, or INVALID."""
    gpus = [make_gpu(0, SEVENS), make_gpu(1, SEVENS)]
    mixed = features(gpus, Strategy.MIXED)
    assert mixed["nvidia.com/gpu.count"] == "2"
    assert mixed["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB"
    assert mixed["nvidia.com/mig-1g.5gb.count"] == "14"
    single = features(gpus, Strategy.SINGLE)
    assert single["nvidia.com/gpu.count"] == "14"
    assert single["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    broken = features([*gpus, make_gpu(2, HALVES)], Strategy.SINGLE)
    assert broken["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-INVALID"
    assert broken["nvidia.com/gpu.count"] == "0"
    none = features(gpus, Strategy.NONE)
    assert "nvidia.com/mig.strategy" not in none
    assert none["nvidia.com/gpu.replicas"] == "2"


def test_strategy_none_cluster_offers_whole_gpus():
    """MIG-enabled GPUs are advertised as full ones too."""
    world = make_world(SEVENS, SEVENS, strategy=Strategy.NONE)
    assert devices(world) == {"nvidia.com/gpu": 2}
