"""NVML's calls on instances, with its structs and errors turned into our own values.

The client is NVIDIA's untyped binding, so this is the edge where types end. Handles are
never kept: they die with the instance, and ids are used again.
"""

from collections.abc import Callable, Iterator
from ctypes import byref, c_uint
from dataclasses import dataclass
from typing import Any, TypeVar

from autoscaler.adapters.nvml_errors import (
    ARGUMENT_VERSION_MISMATCH,
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    meaning_of,
)

T = TypeVar("T")
Handle = Any  # an opaque pointer of the untyped client

ABSENT = frozenset({NOT_SUPPORTED, INVALID_ARGUMENT})
# A driver older than the versioned call, whose struct has no name.
UNVERSIONED = frozenset({FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH, NOT_SUPPORTED})


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """A GPU instance profile of a board.

    Parameters
    ----------
    id
        What NVML's other calls take.
    name
        NVIDIA's name; empty where the driver does not tell it.
    slices
        Compute slices.
    most
        Most instances of it that a list may hold.
    """

    id: int
    name: str
    slices: int
    most: int


@dataclass(frozen=True, slots=True)
class ComputeProfile:
    """A compute instance profile of a GPU instance."""

    id: int
    slices: int
    most: int


class NvmlCalls:
    """The calls, on one copy of the client's module.

    Parameters
    ----------
    nvml
        The module ``pynvml``.
    """

    def __init__(self, nvml: Any) -> None:  # Any: the client has no types
        self.nvml = nvml

    def ask(self, what: str, call: Callable[..., T], *args: object) -> T:
        """Make a call; its error becomes one of ours and says what was asked."""
        try:
            return call(*args)
        except self.nvml.NVMLError as error:
            raise meaning_of(error.value, what) from error

    def profiles(self, device: Handle, what: str) -> Iterator[ProfileInfo]:
        """Yield the profiles of a board."""
        for index in range(self.nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
            info = self._profile_info(device, index, what)
            if info is None:
                continue
            # The number of instances can be wrong (A30), that of placements is not.
            most = max(self._num_placements(device, info.id, what), info.instanceCount, 1)
            # The binding decodes the texts of the versioned struct by itself.
            name = str(getattr(info, "name", "")).removeprefix("MIG ").strip()
            yield ProfileInfo(info.id, name, info.sliceCount, most)

    def gpu_instances(self, device: Handle, profile: ProfileInfo, what: str) -> list[Handle]:
        """Return the GPU instances of a profile."""
        what = f"{what}: list the instances of profile {profile.id}"
        count, array = c_uint(0), (self.nvml.c_nvmlGpuInstance_t * profile.most)()
        call = self.nvml.nvmlDeviceGetGpuInstances
        self.ask(what, call, device, profile.id, array, byref(count))
        return [array[i] for i in range(count.value)]

    def compute_profiles(self, gpu_instance: Handle, what: str) -> Iterator[ComputeProfile]:
        """Yield the compute instance profiles of a GPU instance that share its engines."""
        shared = self.nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
        call = self.nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo
        for index in range(self.nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            asked = f"{what}: ask for compute profile {index}"
            info = self._or_absent(asked, call, gpu_instance, index, shared)
            if info is not None:
                yield ComputeProfile(info.id, info.sliceCount, max(info.instanceCount, 1))

    def compute_instances(
        self, gpu_instance: Handle, profile: ComputeProfile, what: str
    ) -> list[Handle]:
        """Return the compute instances of a profile in a GPU instance."""
        what = f"{what}: list the compute instances of profile {profile.id}"
        count, array = c_uint(0), (self.nvml.c_nvmlComputeInstance_t * profile.most)()
        call = self.nvml.nvmlGpuInstanceGetComputeInstances
        self.ask(what, call, gpu_instance, profile.id, array, byref(count))
        return [array[i] for i in range(count.value)]

    def _num_placements(self, device: Handle, profile_id: int, what: str) -> int:
        what, count = f"{what}: list the placements of profile {profile_id}", c_uint(0)
        call = self.nvml.nvmlDeviceGetGpuInstancePossiblePlacements
        self.ask(what, call, device, profile_id, None, byref(count))
        return count.value

    def _profile_info(self, device: Handle, index: int, what: str) -> Any:  # Any: a C struct
        """Return a profile by index, ``None`` where this board has none of it."""
        what, call = (
            f"{what}: ask for profile {index}",
            self.nvml.nvmlDeviceGetGpuInstanceProfileInfo,
        )
        try:
            return call(device, index, 2)
        except self.nvml.NVMLError as error:
            if error.value not in UNVERSIONED | ABSENT:
                raise meaning_of(error.value, what) from error
        return self._or_absent(what, call, device, index, 1)

    def _or_absent(self, what: str, call: Callable[..., T], *args: object) -> T | None:
        try:
            return call(*args)
        except self.nvml.NVMLError as error:
            if error.value in ABSENT:
                return None
            raise meaning_of(error.value, what) from error
