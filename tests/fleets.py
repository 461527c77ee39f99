"""Fleets for tests: policies, ConfigMaps and metrics beside nodes and pods, and what
the assessment makes of them. Valid by default, as in ``builders``."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from autoscaler.adapters.kubernetes.nodes import node_from
from autoscaler.adapters.kubernetes.pods import pod_from
from autoscaler.domain.cluster.marks import INVENTORY
from autoscaler.domain.cluster.objects import (
    ConfigMap,
    InstanceSample,
    MetricsView,
    Node,
    Pod,
    PodRef,
)
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.demand.requests import demand_of
from autoscaler.domain.fleet.assessment import Memory, assess
from autoscaler.domain.fleet.snapshot import FleetNode, Snapshot
from autoscaler.domain.policy.policy import Metadata, Policy, Pool
from autoscaler.domain.reasons import Reason
from tests.builders import A100, NOW_S, CountsOf, LayoutOf, model, observation, placed

NOTHING_KNOWN = Memory()


def pool(name: str = "pool", **changes: Any) -> Pool:
    """Return a pool of all GPU nodes."""
    return Pool.model_validate({"name": name, **changes})


def policy(*pools: Pool, **changes: Any) -> Policy:
    """Return a policy of these pools; one of all GPU nodes when none is given."""
    own = Policy(
        api_version="mig-autoscaler.io/v1alpha1",
        kind="MigPolicy",
        metadata=Metadata(name="test"),
        pools=pools or (pool(),),
    )
    return own.model_copy(update=changes)


def config_map(
    configurations: Mapping[str, Any], name: str = "mig-autoscaler-config", **changes: Any
) -> ConfigMap:
    """Return a ConfigMap with these configurations in mig-parted's form."""
    text = json.dumps({"version": "v1", "mig-configs": dict(configurations)})
    return replace(ConfigMap("gpu-operator", name, data={"config.yaml": text}), **changes)


def entry(devices: str | list[int], counts: CountsOf | None) -> dict[str, Any]:
    """Return one entry of a configuration; None is MIG off."""
    if counts is None:
        return {"devices": devices, "mig-enabled": False}
    return {"devices": devices, "mig-enabled": True, "mig-devices": dict(counts)}


def sample(
    index: int = 0, pod: str | None = None, profile: str = "1g.5gb", **changes: Any
) -> InstanceSample:
    """Return a fresh sample of an idle instance, with the pod of the default namespace."""
    own = InstanceSample(
        node="node-a",
        gpu_uuid=f"GPU-{index}",
        gpu_index=index,
        instance_id="1",
        profile=profile,
        busy=False,
        sampled_at_s=NOW_S - 10.0,
        pod=None if pod is None else PodRef("default", pod),
    )
    return replace(own, **changes)


def metrics(*samples: InstanceSample, **changes: Any) -> MetricsView:
    """Return what Prometheus said; instances get ids of their own."""
    numbered = tuple(replace(s, instance_id=str(i)) for i, s in enumerate(samples))
    return replace(MetricsView(NOW_S, instances=numbered), **changes)


def inventory(
    layout: LayoutOf, key: str = A100, pods: Mapping[int, str] | None = None
) -> dict[str, str]:
    """Return the annotation of an agent's report.

    ``pods`` names holders as namespace/name by number of the instance on the node.
    """
    holders, number, gpus = dict(pods or {}), 0, []
    for index, counts in enumerate(layout):
        instances = []
        for instance in placed(counts, key).instances if counts else ():
            place = {
                "profile": instance.profile,
                "start": instance.start,
                "size": instance.size,
            }
            instances.append({**place, "pod": holders.get(number)})
            number += 1
        gpus.append(
            {
                "index": index,
                "uuid": f"GPU-{index}",
                "model": model(key).products[0],
                "migEnabled": counts is not None,
                "instances": instances,
            }
        )
    return {INVENTORY: json.dumps({"driver": "580.1", "gpus": gpus})}


def assessed(
    *objects: Node | Pod,
    under: Policy | None = None,
    metrics: MetricsView | None = None,
    memory: Memory = NOTHING_KNOWN,
    **changes: Any,
) -> Snapshot:
    """Return the snapshot of these objects."""
    seen = observation(*objects, **changes)
    return assess(seen, under or policy(), metrics, NOW_S, memory)


def demanded(
    *objects: Node | Pod,
    under: Policy | None = None,
    metrics: MetricsView | None = None,
    **changes: Any,
) -> Demand:
    """Return the demand of these objects."""
    seen, rules = observation(*objects, **changes), under or policy()
    return demand_of(assess(seen, rules, metrics, NOW_S), seen, rules, metrics, NOW_S)


def only(snapshot: Snapshot) -> FleetNode:
    """Return the only node of all pools."""
    (node,) = snapshot.nodes
    return node


def reasons(node: FleetNode) -> set[Reason]:
    """Return the reasons of a node's holds."""
    return {hold.reason for hold in node.holds}


def api_nodes(text: str, now_s: float = NOW_S) -> tuple[Node, ...]:
    """Return nodes written as in ``kubectl get -o yaml``; old and ready by default."""
    return tuple(_old(node_from(raw), now_s) for raw in yaml.safe_load_all(text))


def _old(node: Node, now_s: float) -> Node:
    ready = True if node.ready is None and node.ready_since_s is None else node.ready
    return replace(
        node,
        uid=node.uid or f"uid-{node.name}",
        ready=ready,
        created_s=node.created_s or now_s - 86400.0,
    )


def api_pods(text: str, now_s: float = NOW_S) -> tuple[Pod, ...]:
    """Return pods written as in ``kubectl get -o yaml``; ten minutes old by default."""
    found = (pod_from(raw) for raw in yaml.safe_load_all(text))
    return tuple(
        replace(p, uid=p.uid or f"uid-{p.name}", created_s=p.created_s or now_s - 600.0)
        for p in found
    )
