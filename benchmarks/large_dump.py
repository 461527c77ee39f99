"""A dump of a large cluster, as kubectl prints it, drawn by seed.

Nodes are cut in a few common ways and mostly in use; more pods wait than there is room
for. Objects carry what real ones carry beside the parts that matter, because reading
past that is what takes the time.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.configuration import (
    initial_configurations,
    node_configuration,
    render_configurations,
)
from autoscaler.domain.mig.profile import require_model
from autoscaler.domain.mig.resource import resource_name, supply_of

Raw = dict[str, Any]
A100 = "a100-40gb"
PRODUCT = "NVIDIA-A100-SXM4-40GB"
AT = "2030-01-10T12:00:00Z"
LONG_AGO = "2029-11-01T08:00:00Z"
# How GPUs are cut, and how often.
CUTS = (
    ({"1g.5gb": 7}, 4),
    ({"2g.10gb": 3, "1g.5gb": 1}, 2),
    ({"3g.20gb": 2}, 3),
    ({"4g.20gb": 1, "3g.20gb": 1}, 1),
    ({"7g.40gb": 1}, 2),
)
# What waiting pods ask for, and how often.
ASKED = {"1g.5gb": 3, "2g.10gb": 3, "3g.20gb": 5, "4g.20gb": 1, "7g.40gb": 2}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a cluster; every part of it depends on the seed alone."""

    nodes: int = 200
    gpus: int = 8
    pods: int = 6000
    busy: float = 0.7
    seed: int = 1


def write_large_dump(path: Path, size: Size) -> None:
    """Write the dump of a cluster as one JSON list, indented as kubectl does it."""
    items = list(objects(size))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4)
    path.write_text(text)


def objects(size: Size) -> Iterator[Raw]:
    """Yield nodes, pods, disruption budgets and the ConfigMap."""
    random = Random(size.seed)
    model = require_model(A100)
    entries = dict(initial_configurations())
    number = 0
    for index in range(size.nodes):
        cuts = random.choices([c for c, _ in CUTS], [w for _, w in CUTS], k=2)
        layout = [Counts(cuts[gpu % 2]) for gpu in range(size.gpus)]
        name, own = node_configuration(model, layout)
        entries[name] = own
        yield node(f"gpu-{index:04d}", name, layout)
        for profile in Counter({p: n for c in layout for p, n in c.items()}):
            total = sum(c[profile] for c in layout)
            for _ in range(total):
                if number < size.pods * 0.8 and random.random() < size.busy:
                    number += 1
                    yield pod(number, profile, f"gpu-{index:04d}")
    while number < size.pods:
        number += 1
        yield pod(number, random.choices(list(ASKED), list(ASKED.values()))[0])
    for team in range(20):
        yield budget(team)
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mig-autoscaler-config", "namespace": "gpu-operator"},
        "data": {"config.yaml": render_configurations(entries)},
    }


def node(name: str, config: str, layout: list[Counts]) -> Raw:
    """Return a node with its images, conditions and labels."""
    amounts = {key: str(number) for key, number in supply_of(layout).items()}
    resources = {
        "cpu": "256",
        "ephemeral-storage": "1773092Mi",
        "memory": "2113481268Ki",
        "pods": "250",
        **amounts,
    }
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "1048576",
            "creationTimestamp": LONG_AGO,
            "labels": {
                "kubernetes.io/hostname": name,
                "nvidia.com/gpu.count": str(len(layout)),
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": PRODUCT,
                "nvidia.com/gpu.memory": "40960",
                "nvidia.com/mig.capable": "true",
                "nvidia.com/mig.config": config,
                "nvidia.com/mig.config.state": "success",
                "nvidia.com/mig.strategy": "mixed",
                **{f"feature.node.kubernetes.io/cpu-{i}": "true" for i in range(60)},
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"bare://{name}"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "allocatable": resources,
            "capacity": resources,
            "conditions": [
                {
                    "type": kind,
                    "status": str(kind == "Ready"),
                    "reason": "KubeletHasEnough",
                    "message": "kubelet is posting ready status",
                    "lastHeartbeatTime": AT,
                    "lastTransitionTime": LONG_AGO,
                }
                for kind in kinds
            ],
            "images": [
                {"names": [f"registry.example/image-{i}@sha256:{i:064x}"], "sizeBytes": 10**9}
                for i in range(50)
            ],
            "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Ubuntu 24.04 LTS"},
        },
    }


def pod(number: int, profile: str, on: str = "") -> Raw:
    """Return a pod that runs on a node, or waits, with its volumes and statuses."""
    amounts = {resource_name(profile): "1"}
    resources = {"limits": {**amounts, "memory": "32Gi"}, "requests": {**amounts, "cpu": "4"}}
    name, team = f"train-{number:05d}-0", number % 20
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": AT}]
    if on:
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": AT})
    else:
        conditions[0] |= {
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/200 nodes are available: 200 Insufficient {resource_name(profile)}.",
        }
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
        for key in ("not-ready", "unreachable")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"team-{team:02d}",
            "uid": f"uid-{name}",
            "resourceVersion": str(2000000 + number),
            "creationTimestamp": f"2030-01-10T{number % 11:02d}:{number % 60:02d}:00Z",
            "labels": {"app": f"train-{number % 200}", "team": f"team-{team:02d}"},
            "annotations": {"prometheus.io/scrape": "true", "checksum": f"{number:064x}"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": f"train-{number:05d}",
                    "uid": f"job-{number}",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:2030.1",
                    "command": ["python", "-m", "train"],
                    "env": [{"name": f"SETTING_{i}", "value": str(i)} for i in range(12)],
                    "resources": resources,
                    "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets"}],
                }
            ],
            "priority": 0,
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "tolerations": tolerations,
            "volumes": [{"name": "token", "projected": {"sources": [{"configMap": {}}]}}],
            **({"nodeName": on} if on else {}),
        },
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": conditions,
            "qosClass": "Burstable",
            **({"startTime": AT, "podIP": "10.1.2.3"} if on else {}),
        },
    }


def budget(team: int) -> Raw:
    """Return a disruption budget of one application."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"train-{team}", "namespace": f"team-{team:02d}"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": f"train-{team}"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 1, "expectedPods": 2},
    }


def main(path: str, *numbers: str) -> None:
    """Write a dump; the numbers are those of the size, in its order."""
    nodes, gpus, pods, busy, seed = numbers
    size = Size(int(nodes), int(gpus), int(pods), float(busy), int(seed))
    write_large_dump(Path(path), size)


if __name__ == "__main__":
    main(*sys.argv[1:])
