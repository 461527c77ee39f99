"""The simulated driver: placements, refusals, ids."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.profile import load_models
from autoscaler.simulation.hardware import DriverError, DriverStatus, Hardware, SimulatedGpu

MODELS = {model.key: model for model in load_models()}


def make_gpu(key: str = "a100-40gb", *, mig_enabled: bool = True) -> SimulatedGpu:
    return SimulatedGpu("n1", 0, MODELS[key], mig_enabled=mig_enabled)


def status_of(call) -> DriverStatus:
    with pytest.raises(DriverError) as caught:
        call()
    return caught.value.status


def test_driver_takes_the_lowest_legal_start():
    """Large first blocks the last 1g, small first does not: the order matters."""
    gpu = make_gpu()
    gpu.create("3g.20gb")
    gpu.create("2g.10gb")
    gpu.create("1g.5gb")
    assert str(gpu.geometry) == "3g.20gb@0 2g.10gb@4 1g.5gb@6"
    assert status_of(lambda: gpu.create("1g.5gb")) is DriverStatus.INSUFFICIENT_RESOURCES
    other = make_gpu()
    for profile in ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"):
        other.create(profile)
    assert other.counts == Counts({"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})


def test_taken_place_is_insufficient_resources():
    """An explicit placement that is taken is never "already exists"."""
    gpu = make_gpu()
    gpu.create("2g.10gb", 0)
    assert status_of(lambda: gpu.create("1g.5gb", 1)) is DriverStatus.INSUFFICIENT_RESOURCES
    assert status_of(lambda: gpu.create("2g.10gb", 1)) is DriverStatus.INVALID_ARGUMENT
    assert status_of(lambda: gpu.create("1g.10gb+nope")) is DriverStatus.NOT_SUPPORTED


def test_media_engines_limit_the_number():
    """A second instance with media extensions is refused though there is room."""
    gpu = make_gpu()
    gpu.create("1g.5gb+me")
    assert status_of(lambda: gpu.create("1g.5gb+me")) is DriverStatus.INSUFFICIENT_RESOURCES
    assert gpu.create("1g.5gb").placement.start == 1


def test_only_a_process_protects_an_instance():
    """In use is refused, an instance without process is destroyed."""
    gpu = make_gpu()
    busy, idle = gpu.create("3g.20gb"), gpu.create("3g.20gb")
    gpu.open_process(busy.uuid, "team/pod")
    assert status_of(lambda: gpu.destroy(busy.id)) is DriverStatus.IN_USE
    gpu.destroy(idle.id)
    assert status_of(lambda: gpu.destroy(idle.id)) is DriverStatus.NOT_FOUND
    gpu.close_process(busy.uuid, "team/pod")
    gpu.destroy(busy.id)
    assert gpu.instances == ()


def test_ids_are_used_again_and_device_uuids_are_not():
    """A re-created instance has the old id and a new device."""
    gpu = make_gpu()
    first = gpu.create("7g.40gb")
    gpu.destroy(first.id)
    second = gpu.create("7g.40gb")
    assert first.id == second.id == 0
    assert first.uuid != second.uuid


def test_mig_mode_needs_an_empty_gpu():
    """Instances block the change of the mode; without MIG nothing can be created."""
    gpu = make_gpu("a30-24gb")
    instance = gpu.create("2g.12gb")
    assert status_of(lambda: gpu.set_mig_mode(False)) is DriverStatus.IN_USE
    gpu.destroy(instance.id)
    gpu.set_mig_mode(False)
    assert gpu.devices == {gpu.uuid}
    assert status_of(lambda: gpu.create("2g.12gb")) is DriverStatus.NOT_SUPPORTED


def test_devices_are_found_by_uuid():
    """The hardware knows the GPU and the instance of a device while it exists."""
    gpu = make_gpu()
    hardware = Hardware({"n1": [gpu]})
    instance = gpu.create("1g.5gb")
    assert hardware.gpu_of("n1", instance.uuid) is gpu
    assert hardware.instance("n1", instance.uuid) == instance
    gpu.destroy(instance.id)
    assert hardware.gpu_of("n1", instance.uuid) is None
    assert hardware.gpus("elsewhere") == ()
