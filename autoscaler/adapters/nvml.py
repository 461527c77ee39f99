"""The GPUs of this node through NVML, NVIDIA's management library.

Instances are created at places, never where the driver would put them, and looked up
afresh for each act. Whatever is half done by a crash between two calls is gone on with:
a GPU instance without a compute instance is completed or destroyed.
"""

import re
from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Self

import pynvml

from autoscaler.adapters.nvml_calls import ComputeProfile, Handle, NvmlCalls, ProfileInfo
from autoscaler.adapters.nvml_errors import NOT_SUPPORTED, meaning_of
from autoscaler.domain.cluster.board import Board, BoardInstance
from autoscaler.domain.errors import Diverged, NotFound, Refused
from autoscaler.domain.mig.geometry import GpuInstance
from autoscaler.domain.mig.profile import models_for_product

ODD_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]")


def nothing_to_refresh() -> None:
    """Leave device nodes to whoever else makes them."""


@dataclass(frozen=True, slots=True)
class Device:
    """A board as it is asked: its handle is of this moment only."""

    handle: Handle
    index: int
    uuid: str
    product: str

    @property
    def what(self) -> str:
        """How messages name it."""
        return f"GPU {self.index} ({self.uuid})"


@dataclass(frozen=True, slots=True)
class Found:
    """A GPU instance with its handles."""

    handle: Handle
    instance: BoardInstance
    computes: tuple[Handle, ...]


class NvmlDriver:
    """The GPU driver of this node.

    Parameters
    ----------
    refresh
        Makes device nodes and the description of devices what the instances are.
    nvml
        The client's module.
    """

    def __init__(
        self,
        refresh: Callable[[], None] = nothing_to_refresh,
        nvml: Any = pynvml,  # Any: the client has no types
    ) -> None:
        self._refresh = refresh
        self._nvml = nvml
        self._calls = NvmlCalls(nvml)
        self._profiles: dict[str, tuple[ProfileInfo, ...]] = {}
        self._computes: dict[tuple[str, int], tuple[ComputeProfile, ...]] = {}
        self._calls.ask("start NVML", nvml.nvmlInit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of NVML."""
        self._calls.ask("end NVML", self._nvml.nvmlShutdown)

    def version(self) -> str:
        """Return the version of the driver."""
        version: str = self._calls.ask(
            "ask for the driver's version", self._nvml.nvmlSystemGetDriverVersion
        )
        return version

    def read(self) -> tuple[Board, ...]:
        """Return all boards as they are now, in index order."""
        number = self._calls.ask("count GPUs", self._nvml.nvmlDeviceGetCount)
        return tuple(self._board(index) for index in range(number))

    def destroy(self, board: str, instance: BoardInstance) -> None:
        """Destroy a GPU instance with all in it."""
        device = self._device_of(board)
        found = next((f for f in self._instances(device) if f.instance.id == instance.id), None)
        if found is None or found.instance.place != instance.place:
            raise NotFound(f"{device.what}: {instance.place} is not there")
        nvml, what = self._nvml, f"{device.what}: destroy {instance.place}"
        for compute in found.computes:
            self._calls.ask(what, nvml.nvmlComputeInstanceDestroy, compute)
        self._calls.ask(what, nvml.nvmlGpuInstanceDestroy, found.handle)

    def create(self, board: str, place: GpuInstance) -> BoardInstance:
        """Create a GPU instance at a place, with its compute instance."""
        device = self._device_of(board)
        found = next((f for f in self._instances(device) if f.instance.place == place), None)
        if found is not None and not found.instance.is_bare:
            return found.instance
        profile = self._profile_named(device, place.profile)
        handle = found.handle if found else self._create_at(device, profile, place)
        full = self._full_compute(device, profile, handle)
        call = self._nvml.nvmlGpuInstanceCreateComputeInstance
        self._calls.ask(f"{device.what}: complete {place}", call, handle, full.id)
        return self._found(device, profile, handle).instance

    def refresh(self) -> None:
        """Have device nodes and the description of devices made."""
        self._refresh()

    def _board(self, index: int) -> Board:
        call = self._nvml.nvmlDeviceGetHandleByIndex
        handle = self._calls.ask(f"find GPU {index}", call, index)
        device = self._describe(handle, index)
        enabled = self._is_mig_enabled(device)
        found = self._instances(device) if enabled else ()
        instances = sorted((f.instance for f in found), key=lambda i: i.place)
        return Board(index, device.uuid, device.product, enabled, tuple(instances))

    def _describe(self, handle: Handle, index: int) -> Device:
        ask, nvml = self._calls.ask, self._nvml
        uuid = ask(f"name GPU {index}", nvml.nvmlDeviceGetUUID, handle)
        name = ask(f"ask what GPU {index} is", nvml.nvmlDeviceGetName, handle)
        # As feature discovery writes it into its label.
        product = ODD_CHARACTERS.sub("", name.strip().replace(" ", "-"))
        return Device(handle, index, uuid, product)

    def _device_of(self, uuid: str) -> Device:
        ask, nvml = self._calls.ask, self._nvml
        handle = ask(f"find {uuid}", nvml.nvmlDeviceGetHandleByUUID, uuid)
        index = ask(f"number {uuid}", nvml.nvmlDeviceGetIndex, handle)
        return self._describe(handle, index)

    def _is_mig_enabled(self, device: Device) -> bool:
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(device.handle)
        except self._nvml.NVMLError as error:
            if error.value == NOT_SUPPORTED:
                return False
            raise meaning_of(error.value, f"{device.what}: ask for its MIG mode") from error
        return bool(current == self._nvml.NVML_DEVICE_MIG_ENABLE)

    def _profiles_of(self, device: Device) -> tuple[ProfileInfo, ...]:
        """Return the profiles of a board, which stay the same as long as it is there."""
        if device.uuid not in self._profiles:
            found = tuple(self._calls.profiles(device.handle, device.what))
            self._profiles[device.uuid] = tuple(_named(p, device.product) for p in found)
        return self._profiles[device.uuid]

    def _profile_named(self, device: Device, name: str) -> ProfileInfo:
        profiles = self._profiles_of(device)
        profile = next((p for p in profiles if p.name == name), None)
        if profile is None:
            known = ", ".join(p.name for p in profiles)
            raise Refused(f"{device.what}: {name} is none of its profiles ({known})")
        return profile

    def _instances(self, device: Device) -> list[Found]:
        return [
            self._found(device, profile, handle)
            for profile in self._profiles_of(device)
            for handle in self._calls.gpu_instances(device.handle, profile, device.what)
        ]

    def _found(self, device: Device, profile: ProfileInfo, handle: Handle) -> Found:
        ask, nvml, what = self._calls.ask, self._nvml, f"{device.what}: look at an instance"
        info = ask(what, nvml.nvmlGpuInstanceGetInfo, handle)
        computes: list[Handle] = []
        sizes: list[int] = []
        for own in self._computes_of(device, profile, handle):
            these = self._calls.compute_instances(handle, own, device.what)
            computes += these
            sizes += [own.slices] * len(these)
        is_split = bool(sizes) and sizes != [profile.slices]
        name = f"{sizes[0]}c.{profile.name}" if is_split else profile.name
        devices = tuple(ask(what, self._mig_uuid, compute) for compute in computes)
        place = GpuInstance(info.placement.start, info.placement.size, name)
        return Found(handle, BoardInstance(info.id, place, devices), tuple(computes))

    def _mig_uuid(self, compute: Handle) -> str:
        info = self._nvml.nvmlComputeInstanceGetInfo(compute)
        uuid: str = self._nvml.nvmlDeviceGetUUID(info.device)
        return uuid

    def _computes_of(
        self, device: Device, profile: ProfileInfo, handle: Handle
    ) -> tuple[ComputeProfile, ...]:
        """Return the compute profiles that instances of a profile have, always the same."""
        key = (device.uuid, profile.id)
        if key not in self._computes:
            found = self._calls.compute_profiles(handle, device.what)
            # Two profiles may name the same kind; each instance must be met once.
            self._computes[key] = tuple({own.id: own for own in found}.values())
        return self._computes[key]

    def _full_compute(
        self, device: Device, profile: ProfileInfo, handle: Handle
    ) -> ComputeProfile:
        for own in self._computes_of(device, profile, handle):
            if own.slices == profile.slices:
                return own
        raise Diverged(f"{device.what}: no compute instance takes all of {profile.name}")

    def _create_at(self, device: Device, profile: ProfileInfo, place: GpuInstance) -> Handle:
        wanted = self._nvml.c_nvmlGpuInstancePlacement_t(place.start, place.size)
        call = self._nvml.nvmlDeviceCreateGpuInstanceWithPlacement
        what = f"{device.what}: create {place}"
        return self._calls.ask(what, call, device.handle, profile.id, byref(wanted))


def _named(profile: ProfileInfo, product: str) -> ProfileInfo:
    """Return a profile with the name that the table has for it, where the driver tells none."""
    if profile.name:
        return profile
    for model in models_for_product(product):
        for known in model.profiles:
            if known.gi_profile_id == profile.id:
                return ProfileInfo(profile.id, known.name, profile.slices, profile.most)
    raise Refused(f"{product}: the driver has no name for profile {profile.id}, nor have we")
