"""Inventory: what the node agent reports of a node's GPUs, in an annotation.

It is the one source that says which instance is where and who holds it. A report that
cannot be read is refused as a whole: half a report would be a guess.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from autoscaler.domain.cluster.board import Board
from autoscaler.domain.cluster.marks import INVENTORY
from autoscaler.domain.cluster.objects import Node, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.geometry import Geometry, GpuInstance

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InventoryGpu:
    """One GPU of a report.

    Parameters
    ----------
    index, uuid
        Position in PCI bus order, and NVML's name of the board.
    product
        Product as its label would say it.
    mig_enabled
        MIG mode.
    geometry
        Its instances with their placements.
    holders
        Pod and instance for each instance that a pod holds.
    """

    index: int
    uuid: str
    product: str
    mig_enabled: bool
    geometry: Geometry = Geometry()
    holders: tuple[tuple[PodRef, GpuInstance], ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """GPUs of a node, in index order: 0, 1, 2 and so on."""

    gpus: tuple[InventoryGpu, ...]

    @property
    def layout(self) -> tuple[Counts | None, ...]:
        """Profile counts of every GPU; ``None`` for MIG off."""
        return tuple(gpu.geometry.counts if gpu.mig_enabled else None for gpu in self.gpus)

    @property
    def products(self) -> tuple[str, ...]:
        """Different products, sorted."""
        return tuple(sorted({gpu.product for gpu in self.gpus}))

    def index_of(self, uuid: str) -> int | None:
        """Return the index of a board, ``None`` when it is not here."""
        return next((gpu.index for gpu in self.gpus if uuid and gpu.uuid == uuid), None)


def render_inventory(
    driver: str, boards: Iterable[Board], holders: Mapping[str, PodRef]
) -> str:
    """Return the report on a node's GPUs: compact, the same for the same GPUs.

    Parameters
    ----------
    driver
        Version of the GPU driver.
    boards
        All GPUs of the node. Instances without a compute instance are left out, because
        no pod can have them.
    holders
        The pod that holds a device, by the device's UUID.
    """
    rows = [_row(board, holders) for board in sorted(boards, key=lambda b: b.index)]
    return json.dumps({"driver": driver, "gpus": rows}, separators=(",", ":"))


def _row(board: Board, holders: Mapping[str, PodRef]) -> dict[str, object]:
    instances = []
    for instance in board.instances:
        if instance.is_bare:
            continue
        place = instance.place
        holder = next((holders[d] for d in instance.devices if d in holders), None)
        row: dict[str, object] = {
            "profile": place.profile,
            "start": place.start,
            "size": place.size,
            "id": instance.id,
            "uuid": instance.devices[0],
        }
        instances.append(row if holder is None else {**row, "pod": str(holder)})
    return {
        "index": board.index,
        "uuid": board.uuid,
        "model": board.product,
        "migEnabled": board.mig_enabled,
        "instances": instances,
    }


def inventory_of(node: Node) -> Inventory | None:
    """Return the report on a node, ``None`` when there is none.

    Raises
    ------
    ConfigError
        When it cannot be read; the message names the key.
    """
    text = node.annotations.get(INVENTORY)
    return None if text is None else parse_inventory(text)


# Most reports are the same from one look to the next.
@lru_cache(maxsize=4096)
def parse_inventory(text: str) -> Inventory:
    """Read a report.

    Raises
    ------
    ConfigError
        When it is no JSON, lacks a field or has one of the wrong type, when indexes
        have gaps, or instances overlap; the message names the key.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the inventory is not JSON: {error}") from error
    rows = _field(document, "gpus", list, "")
    gpus = tuple(_gpu(row, f"gpus[{i}]") for i, row in enumerate(rows))
    indexes = sorted(gpu.index for gpu in gpus)
    if not gpus or indexes != list(range(len(gpus))):
        raise ConfigError(f"gpus: indexes must be 0 to n-1, each once; they are {indexes}")
    return Inventory(tuple(sorted(gpus, key=lambda gpu: gpu.index)))


def _gpu(row: object, path: str) -> InventoryGpu:
    enabled = _field(row, "migEnabled", bool, path)
    rows = _field(row, "instances", list, path) if _has(row, "instances") else []
    if rows and not enabled:
        raise ConfigError(f"{path}.instances: must be empty where MIG is off")
    places = [f"{path}.instances[{i}]" for i in range(len(rows))]
    found = [_instance(item, place) for item, place in zip(rows, places, strict=True)]
    try:
        geometry = Geometry(tuple(instance for instance, _ in found))
    except ValueError as error:
        raise ConfigError(f"{path}.instances: {error}") from error
    return InventoryGpu(
        index=_field(row, "index", int, path),
        uuid=_field(row, "uuid", str, path) if _has(row, "uuid") else "",
        product=_field(row, "model", str, path),
        mig_enabled=enabled,
        geometry=geometry,
        holders=tuple((pod, instance) for instance, pod in found if pod is not None),
    )


def _instance(row: object, path: str) -> tuple[GpuInstance, PodRef | None]:
    try:
        instance = GpuInstance(
            start=_field(row, "start", int, path),
            size=_field(row, "size", int, path),
            profile=_field(row, "profile", str, path),
        )
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    if not _has(row, "pod"):
        return instance, None
    namespace, slash, name = _field(row, "pod", str, path).partition("/")
    if not (namespace and slash and name):
        raise ConfigError(f"{path}.pod: must be namespace/name")
    return instance, PodRef(namespace, name)


def _has(row: object, key: str) -> bool:
    return isinstance(row, dict) and row.get(key) not in (None, "")


def _field(row: object, key: str, kind: type[T], path: str) -> T:
    place = f"{path}.{key}" if path else key
    if not isinstance(row, dict):
        raise ConfigError(f"{path or 'the inventory'}: must be a JSON object")
    value = row.get(key)
    # JSON's true is no number, though Python takes it for one.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{place}: must be {kind.__name__}, is {json.dumps(value)}")
    return value
