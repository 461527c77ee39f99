"""The real loop on an embedded cluster, for tests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.adapters.prometheus.metrics import PrometheusMetrics
from autoscaler.control.loop import Loop
from autoscaler.control.outcome import CycleOutcome
from autoscaler.control.outside import Outside
from autoscaler.domain.policy.policy import Mode, Policy, Prometheus
from autoscaler.ports import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PODS,
    Clock,
    Metrics,
    ObjectClient,
    PastDemand,
)
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.prometheus_server import PrometheusServer
from autoscaler.simulation.store import StoreClient
from autoscaler.simulation.world import World
from tests.fleets import policy
from tests.worlds import ONE, THREE, TWO, WHOLE, make_world, node

NAMESPACE = "mig-autoscaler"
STATUS = "mig-autoscaler-status"
KNOWN = (ONE, TWO, THREE, WHOLE)
# Fast enough for a test, and still every wait is there.
QUICK = {"rollout": {"warmUp": "1s"}, "planning": {"persistence": "30s", "minGain": 0.0}}


def auto_policy(mode: Mode = Mode.AUTO, **changes: Any) -> Policy:
    """Return a policy that acts; sections are given as in a policy file."""
    fields = policy().model_dump(by_alias=True) | {"mode": mode}
    for key, value in {**QUICK, **changes}.items():
        old = fields.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        fields[key] = {**old, **value} if both else value
    return Policy.model_validate(fields)


class Killed(Exception):
    """Ends a replica in the middle of a request, as a power cut would."""


@dataclass
class Replica:
    """One replica of the product on a world: a participant of its engine.

    Parameters
    ----------
    name
        What the request log shows.
    identity
        What its Lease says; by default its name.
    clock
        Its own clock, where that differs from the world's.
    client
        Its way to the API server; by default the store itself.
    history
        What it knows of the past; nothing by default.
    outcomes
        Of all cycles so far.
    """

    world: World
    policy: Policy
    name: str = "replica-1"
    interval_s: float = 30.0
    metrics: Metrics | None = None
    identity: str = ""
    clock: Clock | None = None
    client: ObjectClient | None = None
    history: PastDemand | None = None
    outcomes: list[CycleOutcome] = field(default_factory=list)
    is_alive: bool = True

    def __post_init__(self) -> None:
        client = self.client or StoreClient(self.world.store, self.name)
        clock = self.clock or self.world.clock
        cluster = KubernetesCluster(client, clock)
        identity = self.identity or self.name
        outside = Outside(cluster, clock, self.metrics, identity, history=self.history)
        self.loop = Loop(outside, lambda: self.policy)
        self._next_s = self.world.clock.now_s()
        self.world.engine.add(self)

    def step(self) -> float | None:
        """Run a cycle when one is due."""
        if not self.is_alive:
            return None
        now_s = self.world.clock.now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + self.interval_s
            try:
                self.outcomes.append(self.loop.step())
            except Killed:
                self.is_alive = False
                return None
        return self._next_s

    def states(self, name: str = "n1") -> list[str]:
        """Return the states a node's rollout went through, as cycles saw them."""
        found = [o.journals[name].state.value for o in self.outcomes if name in o.journals]
        return list(dict.fromkeys(found))

    @property
    def records(self) -> list[Any]:
        """Rollouts that ended while this replica looked."""
        return [record for outcome in self.outcomes for record in outcome.records]


def world_with_namespace(*gpus: Mapping[str, int] | None, **changes: Any) -> World:
    """Return a started cluster with the product's namespace."""
    world = make_world(*gpus, **changes)
    world.platform.client.create(NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
    return world


def mutations(world: World, name: str = "replica-1") -> list[Any]:
    """Return the mutating requests of a replica."""
    return [r for r in world.store.requests.entries() if r.mutating and r.user_agent == name]


def kill_at_write(world: World, number: int, point: Point, name: str = "replica-1") -> Rule:
    """Have a replica die at its n-th mutating request, before or after it is applied."""

    def die(_: Request) -> None:
        raise Killed

    def is_own_write(request: Request) -> bool:
        return request.is_mutating and request.user_agent == name

    return world.store.faults.add(Rule(point, Fault(call=die), is_own_write, skip=number))


def annotations(world: World, name: str = "n1") -> dict[str, str]:
    """Return a node's annotations."""
    return dict(node(world, name)["metadata"].get("annotations") or {})


def annotate(world: World, name: str, **values: str | None) -> None:
    """Set annotations of ours on a node, by their last part."""
    own = {f"mig-autoscaler.io/{key}": value for key, value in values.items()}
    world.platform.client.patch(NODES, None, name, {"metadata": {"annotations": own}})


def is_closed(world: World, name: str = "n1") -> bool:
    """Say whether a node is cordoned."""
    return bool(node(world, name)["spec"].get("unschedulable"))


def status_of(world: World) -> dict[str, Any]:
    """Return the status that the product keeps in its ConfigMap."""
    found = world.platform.client.get(CONFIG_MAPS, NAMESPACE, STATUS)
    return json.loads(found["data"]["status.json"])


def metrics_of(world: World, server: PrometheusServer) -> PrometheusMetrics:
    """Return the real metrics adapter on a world's Prometheus."""
    settings = Prometheus(url=server.url)
    return PrometheusMetrics(settings, world.clock, lambda: KNOWN)


def create_pod(world: World, name: str, **spec: Any) -> None:
    """Create a pod that runs until it is deleted, unless told otherwise.

    ``node`` binds it at once; ``owner`` is a kind and a name; ``requests`` amounts.
    """
    owner, node_name = spec.pop("owner", None), spec.pop("node", None)
    requests = {k: str(n) for k, n in spec.pop("requests", {}).items()}
    metadata: dict[str, Any] = {"name": name, "namespace": "jobs"}
    metadata["annotations"] = spec.pop("annotations", {})
    if owner is not None:
        kind, owner_name = owner
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": "u-1"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    container = {"name": "main", "image": "busybox", "resources": {"limits": requests}}
    body = {"containers": [container], **spec}
    if node_name is not None:
        body["nodeName"] = node_name
    world.platform.client.create(PODS, "jobs", {"metadata": metadata, "spec": body})
