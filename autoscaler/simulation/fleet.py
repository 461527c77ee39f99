"""A fleet as it is described by people: nodes, their GPUs and how these are cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.configuration import (
    Entries,
    initial_configurations,
    node_configuration,
)
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.profile import GpuModel, require_model
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.policy.policy import Driver
from autoscaler.ports import RawObject
from autoscaler.simulation.hardware import DriverError, Hardware, SimulatedGpu
from autoscaler.simulation.mig_parted import orders


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are alike.

    Parameters
    ----------
    names
        Names of the nodes.
    model
        Key of the GPU model, e.g. ``a100-40gb``.
    layout
        Profile counts of each GPU in index order; ``None`` for MIG off.
    cpu, memory_gib
        Ordinary resources of each node.
    driver
        Who cuts the GPUs. MIG manager is kept away from nodes of the agent.
    """

    names: tuple[str, ...]
    model: str
    layout: tuple[Counts | None, ...]
    strategy: Strategy = Strategy.MIXED
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    cpu: int = 256
    memory_gib: int = 2048
    driver: Driver = Driver.MIG_MANAGER

    @property
    def gpu_model(self) -> GpuModel:
        """The GPU model; ConfigError when there is none of that name."""
        return require_model(self.model)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All GPU nodes of a cluster."""

    groups: tuple[NodeGroup, ...]

    def __post_init__(self) -> None:
        names = self.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"node {twice[0]} is described twice")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all nodes, in the order of description."""
        return tuple(name for group in self.groups for name in group.names)

    @property
    def strategies(self) -> dict[str, Strategy]:
        """MIG strategy by node."""
        return {name: group.strategy for group in self.groups for name in group.names}

    @property
    def agent_nodes(self) -> tuple[str, ...]:
        """Names of the nodes that an agent cuts."""
        by_agent = (group for group in self.groups if group.driver is Driver.AGENT)
        return tuple(name for group in by_agent for name in group.names)


def numbered(prefix: str, number: int, first: int = 1) -> tuple[str, ...]:
    """Return names such as ``gpu-01`` to ``gpu-12``."""
    return tuple(f"{prefix}-{index:02d}" for index in range(first, first + number))


def build_hardware(fleet: Fleet) -> Hardware:
    """Return the GPUs of a fleet, cut as described and as the driver would place it."""
    gpus: dict[str, list[SimulatedGpu]] = {}
    for group in fleet.groups:
        for name in group.names:
            gpus[name] = [
                _gpu(name, index, group.gpu_model, counts)
                for index, counts in enumerate(group.layout)
            ]
    return Hardware(gpus)


def node_body(group: NodeGroup, name: str, address: str) -> RawObject:
    """Return a node as it is before its GPU operands have started."""
    config_name, _ = node_configuration(group.gpu_model, group.layout)
    driver = {"nvidia.com/mig.config": config_name}
    if group.driver is Driver.AGENT:
        driver = {"nvidia.com/gpu.deploy.mig-manager": "false"}
    amounts = {"cpu": str(group.cpu), "memory": f"{group.memory_gib}Gi", "pods": "250"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/mig.capable": "true",
        **driver,
        **group.labels,
    }
    return {
        "metadata": {"name": name, "labels": labels, "annotations": dict(group.annotations)},
        "spec": {"taints": [dict(taint) for taint in group.taints]} if group.taints else {},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "capacity": amounts,
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {
                "kubeletVersion": "v1.33.0",
                "osImage": "Simulated",
                "kernelVersion": "6.8.0",
                "containerRuntimeVersion": "containerd://2.0.0",
                "architecture": "amd64",
                "operatingSystem": "linux",
            },
        },
    }


def configurations(fleet: Fleet) -> dict[str, Entries]:
    """Return what the configuration file holds from the start, by name."""
    found = initial_configurations()
    for group in fleet.groups:
        name, entries = node_configuration(group.gpu_model, group.layout)
        found.setdefault(name, entries)
    return dict(sorted(found.items()))


def _gpu(node: str, index: int, model: GpuModel, counts: Counts | None) -> SimulatedGpu:
    gpu = SimulatedGpu(node, index, model, mig_enabled=counts is not None)
    if counts:
        for place in _driver_places(model, counts).instances:
            gpu.create(place.profile, place.start)
    return gpu


def _driver_places(model: GpuModel, counts: Counts) -> Geometry:
    """Return where instances end up that are created without a placement."""
    for order in orders(counts):
        trial = SimulatedGpu("trial", 0, model)
        if _creates_all(trial, order):
            return trial.geometry
    raise ConfigError(f"one {model.key} cannot hold {counts}")


def _creates_all(gpu: SimulatedGpu, order: Sequence[str]) -> bool:
    try:
        for profile in order:
            gpu.create(profile)
    except DriverError:
        return False
    return True
