"""Containers of a pod and what each asks for."""

from collections.abc import Mapping
from sys import intern

from autoscaler.adapters.kubernetes.quantities import milli_units, whole_number, whole_units
from autoscaler.adapters.kubernetes.reading import (
    amount_of,
    amounts_at,
    mapping_at,
    sequence_at,
    text_at,
)
from autoscaler.domain.cluster.objects import Container


def containers_from(spec: Mapping[str, object], faults: list[str]) -> tuple[Container, ...]:
    """Return init containers first, then the others, each in the order of the spec."""
    init = [
        _container_from(raw, "initContainers", faults)
        for raw in sequence_at(spec, "initContainers", faults, "spec.")
    ]
    main = [
        _container_from(raw, "containers", faults)
        for raw in sequence_at(spec, "containers", faults, "spec.")
    ]
    return (*init, *main)


def _container_from(raw: Mapping[str, object], key: str, faults: list[str]) -> Container:
    name = text_at(raw, "name")
    path = f"spec.{key}[{name}].resources."
    resources = mapping_at(raw, "resources", faults, path)
    requests = mapping_at(resources, "requests", faults, path)
    limits = mapping_at(resources, "limits", faults, path)
    # The API server fills in requests from limits, so a stored pod has both; a pod
    # that someone wrote by hand may have limits only.
    asked = {**limits, **requests} if limits else requests
    init = key == "initContainers"
    path += "requests"
    return Container(
        name=intern(name),
        requests=amounts_at(asked, whole_number, faults, path),
        cpu_milli=_amount(asked, "cpu", faults, path),
        memory_bytes=_amount(asked, "memory", faults, path),
        init=init,
        sidecar=init and raw.get("restartPolicy") == "Always",
    )


def _amount(asked: Mapping[str, object], resource: str, faults: list[str], path: str) -> int:
    if resource not in asked:
        return 0
    read = milli_units if resource == "cpu" else whole_units
    return amount_of(asked[resource], read, faults, f"{path}[{resource}]") or 0
