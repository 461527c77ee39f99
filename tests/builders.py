"""Values for tests: valid by default, so a test states only what it is about.

A layout is a list with one entry a GPU: profile counts, or None for MIG off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from autoscaler.domain.cluster.objects import Container, Node, Observation, Pod, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.domain.demand.holder import Holder
from autoscaler.domain.fleet.snapshot import FleetNode, Gpu, Snapshot
from autoscaler.domain.mig.configuration import node_configuration
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.placement import place
from autoscaler.domain.mig.profile import GpuModel, Profile, load_models
from autoscaler.domain.mig.resource import resource_name, supply_of
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.plan.plan import GpuChange, NodeChange, Plan, Price
from autoscaler.domain.policy.policy import Driver

CountsOf = Mapping[str, int]
LayoutOf = Sequence[CountsOf | None]

DATA = Path(__file__).parent / "data"
A100 = "a100-40gb"
SEVEN_SMALL: CountsOf = MappingProxyType({"1g.5gb": 7})
NOTHING: CountsOf = MappingProxyType({})
NOW_S = 1_700_000_000.0


def model(key: str = A100) -> GpuModel:
    """Return a GPU model of the table."""
    return next(m for m in load_models() if m.key == key)


def toy_model(
    slots: int, shapes: Mapping[str, tuple[tuple[int, ...], int]], **changes: Any
) -> GpuModel:
    """Return a made-up model; shapes are starts and size by profile name.

    Changes are those of every profile.
    """
    profiles = tuple(
        Profile(name, 1, size, starts, max_instances=len(starts), **changes)
        for name, (starts, size) in shapes.items()
    )
    return GpuModel("toy", "", "toy", 1, slots, slots, profiles=profiles)


def gpu(
    index: int = 0,
    counts: CountsOf | None = SEVEN_SMALL,
    held: CountsOf = NOTHING,
    **changes: Any,
) -> Gpu:
    """Return a GPU with these instances, of which some are held; None is MIG off."""
    own = Gpu(
        index=index,
        mig_enabled=counts is not None,
        counts=Counts(counts),
        held=Counts(held),
    )
    return replace(own, **changes)


def placed(counts: CountsOf, key: str = A100) -> Geometry:
    """Return a geometry with these counts on a GPU of a model."""
    geometry = place(model(key), Counts(counts))
    assert geometry is not None, f"{key} cannot hold {counts}"
    return geometry


def node(
    name: str = "node-a",
    layout: LayoutOf = (SEVEN_SMALL,),
    key: str = A100,
    strategy: Strategy = Strategy.MIXED,
    **changes: Any,
) -> Node:
    """Return a node that advertises a layout as the GPU operator's parts would."""
    gpus = [None if counts is None else Counts(counts) for counts in layout]
    config_name, _ = node_configuration(model(key), gpus)
    labels = {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.count": str(len(gpus)),
        "nvidia.com/gpu.product": model(key).products[0],
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.config": config_name,
        "nvidia.com/mig.config.state": "success",
        "nvidia.com/mig.strategy": str(strategy),
    }
    amounts = supply_of(gpus, strategy)
    own = Node(
        name=name,
        uid=f"uid-{name}",
        resource_version="1",
        created_s=NOW_S - 86400.0,
        ready_since_s=NOW_S - 86400.0,
        labels={**labels, **dict(changes.pop("labels", {}))},
        allocatable=amounts,
        capacity=amounts,
    )
    return replace(own, **changes)


def pod(
    name: str = "pod-a",
    requests: CountsOf | str = "1g.5gb",
    node: str | None = None,
    **changes: Any,
) -> Pod:
    """Return a pod: unschedulable, or running where a node is given.

    Requests are a profile name, of which it asks one, or amounts by resource name.
    """
    amounts = {resource_name(requests): 1} if isinstance(requests, str) else requests
    bound = node is not None
    own = Pod(
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        node=node,
        phase="Running" if bound else "Pending",
        unschedulable=not bound,
        ready=bound,
        created_s=NOW_S - 600.0,
        started_s=NOW_S - 500.0 if bound else None,
        containers=(Container("main", Counts(amounts)),),
    )
    return replace(own, **changes)


def fleet_node(
    name: str = "node-a",
    layout: LayoutOf = (SEVEN_SMALL,),
    held: Sequence[CountsOf] = (),
    key: str = A100,
    **changes: Any,
) -> FleetNode:
    """Return a node of a pool as the planner sees it.

    ``held`` has one entry a GPU, from the first on: what pods hold on it.
    """
    strategy = changes.get("strategy", Strategy.MIXED)
    pinned = [*held, *({} for _ in layout[len(held) :])]
    gpus = tuple(gpu(i, layout[i], pinned[i]) for i in range(len(layout)))
    own = FleetNode(
        node=node(name, layout, key, strategy),
        pool="pool",
        model=model(key),
        driver=Driver.MIG_MANAGER,
        strategy=strategy,
        gpus=gpus,
        supply=supply_of([None if c is None else Counts(c) for c in layout], strategy),
        allocated=supply_of([Counts(counts) for counts in held], strategy),
    )
    return replace(own, **changes)


def snapshot(*nodes: FleetNode, **changes: Any) -> Snapshot:
    """Return a fleet; one idle node when none is given."""
    fleet = tuple(sorted(nodes or (fleet_node(),), key=lambda n: n.name))
    totals: dict[str, int] = {}
    for own in fleet:
        totals[own.pool] = totals.get(own.pool, 0) + 1
    holds = tuple(sorted(hold for own in fleet for hold in own.holds))
    return replace(Snapshot(NOW_S, fleet, holds, pools_total=totals), **changes)


def observation(*objects: Node | Pod, **changes: Any) -> Observation:
    """Return one complete pass over the API server with these nodes and pods."""
    own = Observation(
        observed_at_s=NOW_S,
        nodes=tuple(sorted((o for o in objects if isinstance(o, Node)), key=lambda n: n.name)),
        pods=tuple(sorted((o for o in objects if isinstance(o, Pod)), key=lambda p: p.ref)),
    )
    return replace(own, **changes)


def raw_node(name: str = "gpu-1", **status: Any) -> dict[str, Any]:
    """Return a node as the API takes it: an idle one with seven small instances."""
    amounts = {"cpu": "96", "memory": "512Gi", "pods": "110", "nvidia.com/mig-1g.5gb": "7"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [ready],
            **status,
        },
    }


def raw_pod(
    name: str = "train", resources: CountsOf | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a pod as the API takes it: one container with one small instance."""
    amounts = {"nvidia.com/mig-1g.5gb": 1} if resources is None else resources
    limits = {resource: str(number) for resource, number in amounts.items()}
    container = {"name": "main", "image": "train:1", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "train"}},
        "spec": {"containers": [container], **spec},
    }


def raw_budget(name: str = "train", allowed: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a disruption budget over the pods of ``raw_pod``, and what it allows now."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}, **spec},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 1 + allowed,
        },
    }


def api_node(name: str = "node-a", **parts: Any) -> dict[str, Any]:
    """Return a node as the API gives it; labels, annotations, spec, status override."""
    amounts = {"cpu": "64", "memory": "256Gi", "nvidia.com/mig-1g.5gb": "7"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2030-01-10T08:00:00Z",
            "labels": {"kubernetes.io/hostname": name, **parts.get("labels", {})},
            "annotations": dict(parts.get("annotations", {})),
        },
        "spec": dict(parts.get("spec", {})),
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            **parts.get("status", {}),
        },
    }


def api_pod(name: str = "pod-a", **parts: Any) -> dict[str, Any]:
    """Return a pod as the API gives it, with one instance and on no node.

    Metadata, spec and status override.
    """
    amounts = {"nvidia.com/mig-1g.5gb": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": "2030-01-10T09:00:00Z",
            **parts.get("metadata", {}),
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/main",
                    "resources": {"limits": amounts, "requests": amounts},
                }
            ],
            **parts.get("spec", {}),
        },
        "status": {"phase": "Pending", **parts.get("status", {})},
    }


def change(name: str = "node-a", **changes: Any) -> NodeChange:
    """Return a worthwhile change of a node's only GPU, from small instances to two 3g."""
    after = Counts({"3g.20gb": 2})
    own = NodeChange(
        node=name,
        uid=f"uid-{name}",
        pool="pool",
        observed="",
        config_name="all-3g.20gb",
        gpus=(GpuChange(0, Counts(SEVEN_SMALL), after),),
        layout=(after,),
        resources=Counts({"nvidia.com/mig-3g.20gb": 2}),
        price=Price(waiting_avoided=3000.0, out_of_service=1000.0),
        estimated_s=300.0,
    )
    return replace(own, **changes)


def plan(*proposed: NodeChange, **changes: Any) -> Plan:
    """Return a plan of these changes; one when none is given."""
    own = Plan("plan-1", NOW_S, "x", "hash", "auto", changes=proposed or (change(),))
    return replace(own, **changes)


def waiting(
    asked: str | CountsOf,
    number: int = 1,
    nodes: Sequence[str] = ("node-a",),
    **changes: Any,
) -> DemandGroup:
    """Return so many alike pods that wait, oldest first.

    Each asks for one instance of a profile, or for instances by profile.
    """
    amounts = {asked: 1} if isinstance(asked, str) else asked
    bundle = Counts({resource_name(name): count for name, count in amounts.items()})
    prefix = changes.pop(
        "prefix", "-".join(f"{count}x{name}" for name, count in amounts.items())
    )
    pods = tuple(PodRef("default", f"{prefix}-{index:03d}") for index in range(number))
    return replace(DemandGroup(bundle, frozenset(nodes), pods=pods), **changes)


def holder(
    name: str = "serve-1",
    profile: str = "1g.5gb",
    node: str = "node-a",
    gpu: int = 0,
    **changes: Any,
) -> Holder:
    """Return a pod that holds one instance, and may be evicted and run anywhere."""
    own = Holder(
        pod=PodRef("default", name),
        node=node,
        gpu=gpu,
        held=Counts({profile: 1}),
        bundle=Counts({resource_name(profile): 1}),
        lost_work_s=100.0,
        eligible=frozenset({"node-a", "node-b"}),
    )
    return replace(own, **changes)
