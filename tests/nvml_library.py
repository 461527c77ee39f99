"""A stand-in for NVIDIA's shared library, below NVIDIA's own Python binding.

The binding is the real one, in a copy of its module: its structs, its wrappers and its
error classes run as on a node. Only the functions of the library itself are made here,
with the names and arguments of C, from simulated GPUs and the table of profiles.
"""

# ruff: noqa: N802 (the functions have the names they have in C)

import importlib.util
import sys
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_void_p, cast
from functools import cache, partial
from typing import Any

import pynvml

from autoscaler.adapters.nvml import NvmlDriver
from autoscaler.domain.mig.profile import Profile
from autoscaler.simulation.hardware import DriverError, Instance, SimulatedGpu

INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 2, 3, 6, 7
# Compute instance profiles: index and id alike, and their slices.
COMPUTE = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7}


class Code(Exception):
    """Ends a call with a return code."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


def nothing(name: str) -> None:
    """Let a call happen."""


class Library:
    """The functions of the shared library.

    Attributes
    ----------
    before
        Called with the name of each function before it acts; may raise ``Code``.
    splits
        Compute slices of each compute instance of a GPU instance, by board and id,
        where they are not one of full size.
    """

    def __init__(self, gpus: Sequence[SimulatedGpu], version: str = "580.95.05") -> None:
        self.gpus = list(gpus)
        self.version = version
        self.before: Callable[[str], None] = nothing
        self.splits: dict[tuple[str, int], tuple[int, ...]] = {}
        self.calls: list[str] = []
        self._things: dict[int, tuple[Any, ...]] = {}
        self._addresses: dict[tuple[Any, ...], int] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        method = type(self).__dict__.get(f"c_{name}")
        if method is None:
            raise AttributeError(name)
        return partial(self._call, name, method)

    def _call(self, name: str, method: Callable[..., None], *args: Any) -> int:
        self.calls.append(name)
        try:
            self.before(name)
            method(self, *args)
        except Code as code:
            return code.value
        except DriverError as error:
            return int(error.status)
        return 0

    # What handles stand for.

    def _address(self, *thing: Any) -> int:
        if thing not in self._addresses:
            address = 0x1000 + 16 * len(self._addresses)
            self._addresses[thing] = address
            self._things[address] = thing
        return self._addresses[thing]

    def _thing(self, handle: Any) -> tuple[Any, ...]:
        found = self._things.get(cast(handle, c_void_p).value or 0)
        if found is None:
            raise Code(INVALID_ARGUMENT)
        return found

    def _gpu(self, handle: Any) -> SimulatedGpu:
        thing = self._thing(handle)
        return thing[1]

    def _instance(self, handle: Any) -> tuple[SimulatedGpu, Instance]:
        _, gpu, instance_id = self._thing(handle)[:3]
        found = next((i for i in gpu.gpu_instances if i.id == instance_id), None)
        if found is None:
            raise Code(INVALID_ARGUMENT)
        return gpu, found

    def _computes(self, gpu: SimulatedGpu, instance: Instance) -> tuple[int, ...]:
        """Return the slices of each compute instance."""
        profile = gpu.model.profile(instance.profile)
        assert profile is not None
        whole = (profile.compute_slices,) if instance.uuid else ()
        return self.splits.get((gpu.uuid, instance.id), whole)

    # The library itself.

    def c_nvmlInitWithFlags(self, flags: int) -> None:
        del flags

    def c_nvmlShutdown(self) -> None:
        pass

    def c_nvmlSystemGetDriverVersion(self, buffer: Any, size: Any) -> None:
        buffer.value = self.version.encode()

    def c_nvmlDeviceGetCount_v2(self, count: Any) -> None:
        count._obj.value = len(self.gpus)

    def c_nvmlDeviceGetHandleByIndex_v2(self, index: Any, out: Any) -> None:
        put(out, self._address("gpu", self.gpus[index.value]))

    def c_nvmlDeviceGetHandleByUUID(self, uuid: Any, out: Any) -> None:
        found = next((g for g in self.gpus if g.uuid.encode() == uuid.value), None)
        if found is None:
            raise Code(NOT_FOUND)
        put(out, self._address("gpu", found))

    def c_nvmlDeviceGetIndex(self, handle: Any, out: Any) -> None:
        out._obj.value = self.gpus.index(self._gpu(handle))

    def c_nvmlDeviceGetUUID(self, handle: Any, buffer: Any, size: Any) -> None:
        thing = self._thing(handle)
        buffer.value = (thing[1].uuid if thing[0] == "gpu" else thing[1]).encode()

    def c_nvmlDeviceGetName(self, handle: Any, buffer: Any, size: Any) -> None:
        # The label is made of the name; no name of a board has a dash after its maker.
        own = self._gpu(handle).model
        product = own.products[0] if own.products else own.key
        buffer.value = product.replace("NVIDIA-", "NVIDIA ", 1).encode()

    def c_nvmlDeviceGetMigMode(self, handle: Any, current: Any, pending: Any) -> None:
        current._obj.value = pending._obj.value = int(self._gpu(handle).mig_enabled)

    # Profiles.

    def _profile(self, gpu: SimulatedGpu, **wanted: int) -> Profile:
        if not gpu.mig_enabled:
            raise Code(NOT_SUPPORTED)
        ((key, value),) = wanted.items()
        for profile in gpu.model.profiles:
            if getattr(profile, key) == value:
                return profile
        raise Code(NOT_SUPPORTED)

    def c_nvmlDeviceGetGpuInstanceProfileInfoV(self, handle: Any, index: int, out: Any) -> None:
        profile = self._profile(self._gpu(handle), nvml_profile_index=index)
        out._obj.name = f"MIG {profile.name}".encode()
        self._describe(profile, out._obj)

    def c_nvmlDeviceGetGpuInstanceProfileInfo(self, handle: Any, index: int, out: Any) -> None:
        self._describe(self._profile(self._gpu(handle), nvml_profile_index=index), out._obj)

    def _describe(self, profile: Profile, info: Any) -> None:
        info.id = profile.gi_profile_id
        info.sliceCount = profile.compute_slices
        info.instanceCount = profile.max_instances
        info.memorySizeMB = profile.memory_mib or 0

    def c_nvmlDeviceGetGpuInstancePossiblePlacements_v2(
        self, handle: Any, profile_id: int, array: Any, count: Any
    ) -> None:
        profile = self._profile(self._gpu(handle), gi_profile_id=profile_id)
        if array is not None:
            raise Code(INVALID_ARGUMENT)
        count._obj.value = len(profile.starts)

    # GPU instances.

    def c_nvmlDeviceGetGpuInstances(
        self, handle: Any, profile_id: int, array: Any, count: Any
    ) -> None:
        gpu = self._gpu(handle)
        name = self._profile(gpu, gi_profile_id=profile_id).name
        found = [i for i in gpu.gpu_instances if i.profile == name]
        if len(found) > len(array):
            raise Code(INSUFFICIENT_SIZE)
        fill(array, [self._address("gi", gpu, i.id, i.placement) for i in found])
        count._obj.value = len(found)

    def c_nvmlGpuInstanceGetInfo(self, handle: Any, out: Any) -> None:
        gpu, instance = self._instance(handle)
        profile = gpu.model.profile(instance.profile)
        assert profile is not None
        out._obj.id = instance.id
        out._obj.profileId = profile.gi_profile_id
        out._obj.placement.start = instance.placement.start
        out._obj.placement.size = instance.placement.size

    def c_nvmlDeviceCreateGpuInstanceWithPlacement(
        self, handle: Any, profile_id: int, placement: Any, out: Any
    ) -> None:
        gpu = self._gpu(handle)
        profile = self._profile(gpu, gi_profile_id=profile_id)
        if placement._obj.size != profile.memory_slices:
            raise Code(INVALID_ARGUMENT)
        made = gpu.create_gpu_instance(profile.name, placement._obj.start)
        put(out, self._address("gi", gpu, made.id, made.placement))

    def c_nvmlGpuInstanceDestroy(self, handle: Any) -> None:
        gpu, instance = self._instance(handle)
        gpu.destroy_gpu_instance(instance.id)

    # Compute instances.

    def c_nvmlGpuInstanceGetComputeInstanceProfileInfoV(
        self, handle: Any, index: int, engines: int, out: Any
    ) -> None:
        gpu, instance = self._instance(handle)
        slices = (gpu.model.profile(instance.profile) or gpu.model.whole_gpu).compute_slices
        if engines or COMPUTE.get(index, slices + 1) > slices:
            raise Code(NOT_SUPPORTED)
        out._obj.id = index
        out._obj.sliceCount = COMPUTE[index]
        out._obj.instanceCount = slices // COMPUTE[index]

    def c_nvmlGpuInstanceGetComputeInstances(
        self, handle: Any, profile_id: int, array: Any, count: Any
    ) -> None:
        gpu, instance = self._instance(handle)
        sizes = self._computes(gpu, instance)
        found = [n for n, size in enumerate(sizes) if COMPUTE[profile_id] == size]
        fill(array, [self._address("ci", gpu, instance.id, n) for n in found])
        count._obj.value = len(found)

    def c_nvmlComputeInstanceGetInfo_v2(self, handle: Any, out: Any) -> None:
        _, instance = self._instance(handle)
        number = self._thing(handle)[3]
        uuid = f"{instance.uuid}-{number}" if number else instance.uuid
        out._obj.id = number
        put_field(out, "device", self._address("mig", uuid))

    def c_nvmlGpuInstanceCreateComputeInstance(
        self, handle: Any, profile_id: int, out: Any
    ) -> None:
        gpu, instance = self._instance(handle)
        profile = gpu.model.profile(instance.profile)
        if profile is None or COMPUTE[profile_id] != profile.compute_slices:
            raise Code(INVALID_ARGUMENT)
        gpu.create_compute_instance(instance.id)
        put(out, self._address("ci", gpu, instance.id, 0))

    def c_nvmlComputeInstanceDestroy(self, handle: Any) -> None:
        gpu, instance = self._instance(handle)
        gpu.destroy_compute_instance(instance.id)


def put(out: Any, address: int) -> None:
    """Write a handle to where it was asked for."""
    cast(out, POINTER(c_void_p))[0] = address


def put_field(out: Any, name: str, address: int) -> None:
    """Write a handle into a field of a struct."""
    kind = type(out._obj).__dict__[name]
    struct = cast(out, c_void_p).value or 0
    cast(c_void_p(struct + kind.offset), POINTER(c_void_p))[0] = address


def fill(array: Any, addresses: Sequence[int]) -> None:
    """Write handles into an array."""
    for number, address in enumerate(addresses):
        cast(array, POINTER(c_void_p))[number] = address


@cache
def _module() -> Any:
    """Return a copy of NVIDIA's binding, apart from the one that everybody imports."""
    spec = importlib.util.spec_from_file_location("pynvml_on_a_stand_in", pynvml.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # The binding maps codes to its classes when it is loaded, by its entry in this table.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Binding:
    """The binding on one library: it is told anew before each call which one it has loaded."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        module = _module()
        module.nvmlLib = self._library
        module._nvmlGetFunctionPointer_cache.clear()
        return getattr(module, name)


def binding(library: Library) -> Any:
    """Return NVIDIA's binding as if it had loaded this library."""
    return Binding(library)


def nvml_driver(gpus: Sequence[SimulatedGpu]) -> tuple[NvmlDriver, Library]:
    """Return the real driver adapter on a stand-in of the library."""
    library = Library(gpus)
    return NvmlDriver(nvml=binding(library)), library
