"""What ``kubectl get -o json`` prints, built by hand: valid by default."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import (
    initial_configurations,
    node_configuration,
    render_configurations,
)
from autoscaler.domain.mig.resource import resource_name, supply_of
from tests.builders import A100, CountsOf, LayoutOf, model

AT = "2030-01-10T12:00:00Z"
LONG_AGO = "2030-01-01T00:00:00Z"
SEVEN: CountsOf = {"1g.5gb": 7}
TWO_BIG: CountsOf = {"3g.20gb": 2}
Raw = dict[str, Any]


def dump_node(
    name: str = "gpu-1", layout: LayoutOf = (SEVEN,), key: str = A100, **parts: Any
) -> Raw:
    """Return a node whose GPUs hold a layout, as the GPU operator leaves it.

    ``labels``, ``annotations``, ``spec``, ``status`` override; a label of None is away.
    """
    counts = [None if gpu is None else Counts(gpu) for gpu in layout]
    amounts = {name: str(number) for name, number in supply_of(counts).items()}
    resources = {"cpu": "96", "memory": "1024Gi", "pods": "110", **amounts}
    labels: dict[str, str | None] = {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.count": str(len(counts)),
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": model(key).products[0],
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.config": node_configuration(model(key), counts)[0],
        "nvidia.com/mig.config.state": "success",
        "nvidia.com/mig.strategy": "mixed",
    }
    labels |= parts.get("labels", {})
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": LONG_AGO,
            "labels": {key: value for key, value in labels.items() if value is not None},
            "annotations": parts.get("annotations", {}),
        },
        "spec": parts.get("spec", {}),
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [ready],
            **parts.get("status", {}),
        },
    }


def dump_pod(
    name: str = "train-1", requests: CountsOf | str = "3g.20gb", node: str = "", **parts: Any
) -> Raw:
    """Return a pod that waits, or runs where a node is given.

    Requests are a profile, of which it asks one, or amounts by resource name.
    """
    amounts = {resource_name(requests): 1} if isinstance(requests, str) else requests
    limits = {name: str(number) for name, number in amounts.items()}
    waiting = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": f"0/1 nodes are available: 1 Insufficient {next(iter(amounts), 'cpu')}.",
    }
    state: Raw = {"phase": "Pending", "conditions": [waiting]}
    if node:
        ready = {"type": "Ready", "status": "True"}
        state = {"phase": "Running", "startTime": "2030-01-10T11:00:00Z", "conditions": [ready]}
    spec: Raw = {
        "containers": [
            {"name": "main", "image": "x", "resources": {"limits": limits, "requests": limits}}
        ],
        "terminationGracePeriodSeconds": 30,
        **({"nodeName": node} if node else {}),
        **parts.get("spec", {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "creationTimestamp": "2030-01-10T11:00:00Z",
            **parts.get("metadata", {}),
        },
        "spec": spec,
        "status": {**state, **parts.get("status", {})},
    }


def dump_configurations(
    layouts: Sequence[LayoutOf] = (), key: str = A100, **metadata: Any
) -> Raw:
    """Return our ConfigMap with the initial configurations and those of some layouts."""
    entries = dict(initial_configurations())
    for layout in layouts:
        counts = [None if gpu is None else Counts(gpu) for gpu in layout]
        name, own = node_configuration(model(key), counts)
        entries[name] = own
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mig-autoscaler-config", "namespace": "gpu-operator", **metadata},
        "data": {"config.yaml": render_configurations(entries)},
    }


def dump_list(*objects: Mapping[str, Any]) -> Raw:
    """Return what kubectl prints for several objects."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def write_dump(folder: Path, *objects: Mapping[str, Any], name: str = "dump.json") -> str:
    """Write objects as kubectl would and return the path."""
    path = folder / name
    path.write_text(json.dumps(dump_list(*objects), indent=1))
    return str(path)
