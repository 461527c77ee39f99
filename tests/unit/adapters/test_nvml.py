"""The NVML adapter where a driver is old, a board is odd, or a call fails."""

from dataclasses import replace

import pynvml
import pytest

from autoscaler.adapters.nvml import NvmlDriver
from autoscaler.adapters.nvml_errors import MEANINGS, NAMES, meaning_of
from autoscaler.domain.errors import InUse, NoRoom, NotFound, Refused, Unavailable
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.simulation.hardware import SimulatedGpu
from tests.builders import model
from tests.nvml_library import NOT_SUPPORTED, Code, Library, binding, nvml_driver

SMALL = GpuInstance(0, 1, "1g.5gb")
INFO_V = "nvmlDeviceGetGpuInstanceProfileInfoV"
FUNCTION_NOT_FOUND = 13


def board(*profiles, **changes):
    """Return one simulated board with these instances."""
    gpu = SimulatedGpu("n1", 0, model(), **changes)
    for profile in profiles:
        gpu.create(profile)
    return gpu


def failing(name, code):
    """Return a hook that lets one function return a code."""

    def fail(called):
        if called == name:
            raise Code(code)

    return fail


def test_codes_have_nvidias_names():
    """As the binding spells them."""
    for code, name in NAMES.items():
        assert getattr(pynvml, f"NVML_ERROR_{name}") == code
    assert set(MEANINGS) <= set(NAMES)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (2, Refused),
        (3, Refused),
        (4, Refused),
        (6, NotFound),
        (9, Unavailable),
        (10, Unavailable),
        (15, Refused),
        (16, Refused),
        (18, Unavailable),
        (19, InUse),
        (23, NoRoom),
        (999, Refused),
        (12345, Refused),
    ],
)
def test_each_code_means_one_thing(code, kind):
    """A lost board is a no for good, a driver that loads is not."""
    error = meaning_of(code, "look")
    assert type(error) is kind
    assert str(error).startswith("look: NVML says ")
    assert f"({code})" in str(error)


def test_no_error_of_the_binding_crosses_the_port():
    """Whatever function fails, with whatever code."""
    gpu = board("1g.5gb")
    for code in (1, 2, 4, 15, 19, 23, 999):
        driver, library = nvml_driver((gpu,))
        driver.read()
        for name in sorted(set(library.calls) - {"nvmlInitWithFlags"}):
            driver, library = nvml_driver((gpu,))
            library.before = failing(name, code)
            if code == 2 and "ProfileInfo" in name:
                continue
            with pytest.raises((Refused, Unavailable)) as caught:
                driver.version(), driver.read()
            assert NAMES[code] in str(caught.value)


def test_a_node_without_a_driver_is_unavailable():
    """The library may be there before the driver is loaded."""
    library = Library([])
    library.before = failing("nvmlInitWithFlags", 9)
    with pytest.raises(Unavailable, match="DRIVER_NOT_LOADED"):
        NvmlDriver(nvml=binding(library))


@pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND])
def test_an_old_driver_that_tells_no_names_is_read_by_the_table(code):
    """The profile's id names it on its board."""
    gpu = board("3g.20gb", "1g.5gb+me")
    driver, library = nvml_driver((gpu,))
    library.before = failing(INFO_V, code)
    (own,) = driver.read()
    assert str(own.geometry) == "3g.20gb@0 1g.5gb+me@4"
    driver.create(gpu.uuid, GpuInstance(5, 1, "1g.5gb"))
    assert str(gpu.geometry) == "3g.20gb@0 1g.5gb+me@4 1g.5gb@5"


def test_an_old_driver_on_an_unknown_board_is_refused():
    """Nobody has a name for its profiles."""
    strange = replace(model(), products=("NVIDIA-X1",))
    driver, library = nvml_driver((SimulatedGpu("n1", 0, strange),))
    library.before = failing(INFO_V, FUNCTION_NOT_FOUND)
    with pytest.raises(Refused, match="NVIDIA-X1: the driver has no name for profile 19"):
        driver.read()


def test_a_board_that_knows_no_mig_is_whole():
    """Its driver does not support the question."""
    driver, library = nvml_driver((board(),))
    library.before = failing("nvmlDeviceGetMigMode", NOT_SUPPORTED)
    (own,) = driver.read()
    assert (own.mig_enabled, own.instances) == (False, ())


def test_an_instance_that_someone_has_split_has_another_name():
    """It is no profile of ours, and every device of it may have a holder."""
    gpu = board("3g.20gb")
    driver, library = nvml_driver((gpu,))
    (made,) = gpu.instances
    library.splits[gpu.uuid, made.id] = (1, 2)
    (own,) = driver.read()[0].instances
    assert own.place.profile == "1c.3g.20gb"
    assert own.devices == (made.uuid, f"{made.uuid}-1")


def test_one_small_compute_instance_is_a_split_too():
    """The rest of the instance could be anyone's."""
    gpu = board("3g.20gb")
    driver, library = nvml_driver((gpu,))
    library.splits[gpu.uuid, gpu.instances[0].id] = (2,)
    assert driver.read()[0].instances[0].place.profile == "2c.3g.20gb"


def test_a_destruction_that_stops_half_way_is_gone_on_with():
    """The compute instance is gone and the GPU instance in use: the next try ends it."""
    gpu = board("1g.5gb")
    driver, library = nvml_driver((gpu,))
    (own,) = driver.read()[0].instances
    library.before = failing("nvmlGpuInstanceDestroy", 19)
    with pytest.raises(InUse):
        driver.destroy(gpu.uuid, own)
    (bare,) = driver.read()[0].instances
    assert (bare.place, bare.is_bare) == (SMALL, True)
    library.before = lambda name: None
    driver.destroy(gpu.uuid, bare)
    assert gpu.gpu_instances == ()


def test_a_creation_that_stops_half_way_is_gone_on_with():
    """The GPU instance is there without a compute instance: the next try completes it."""
    gpu = board()
    driver, library = nvml_driver((gpu,))
    library.before = failing("nvmlGpuInstanceCreateComputeInstance", 999)
    with pytest.raises(Refused):
        driver.create(gpu.uuid, SMALL)
    assert (len(gpu.gpu_instances), gpu.instances) == (1, ())
    library.before = lambda name: None
    assert driver.create(gpu.uuid, SMALL).devices == (gpu.instances[0].uuid,)
    assert len(gpu.gpu_instances) == 1


def test_instances_are_only_created_at_a_place():
    """The driver's own choice can block what comes after it."""
    gpu = board()
    driver, library = nvml_driver((gpu,))
    for place in (GpuInstance(4, 4, "3g.20gb"), GpuInstance(0, 2, "2g.10gb")):
        driver.create(gpu.uuid, place)
    for start in (2, 3):
        driver.create(gpu.uuid, GpuInstance(start, 1, "1g.5gb"))
    assert str(gpu.geometry) == "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"
    assert "nvmlDeviceCreateGpuInstance" not in library.calls


def test_the_mode_is_never_written():
    """A change of it would take every instance of the node."""
    gpu = board("1g.5gb")
    driver, library = nvml_driver((gpu,))
    driver.destroy(gpu.uuid, driver.read()[0].instances[0])
    driver.create(gpu.uuid, SMALL)
    assert "nvmlDeviceSetMigMode" not in library.calls


def test_a_refresh_is_the_one_that_was_given():
    """And NVML is let go of at the end."""
    library, asked = Library([board()]), []
    with NvmlDriver(lambda: asked.append(1), binding(library)) as driver:
        driver.refresh()
    assert (asked, library.calls[-1]) == ([1], "nvmlShutdown")


def test_a_name_is_written_as_its_label_is():
    """Spaces are dashes, and odd characters are dropped."""
    strange = replace(model(), products=("NVIDIA-H100 (TM) NVL",))
    driver, _ = nvml_driver((SimulatedGpu("n1", 0, strange),))
    assert driver.read()[0].product == "NVIDIA-H100-TM-NVL"
