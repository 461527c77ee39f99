"""A cluster, the replicas of the product on it, and everybody else who has a hand in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.outside import Outside
from autoscaler.control.setting import leadership_for
from autoscaler.control.starting import Basis, Starter
from autoscaler.domain.cluster.objects import MetricsView, PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.errors import Unavailable
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.mig.configuration import node_configuration
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.plan.plan import Eviction, GpuChange, NodeChange, Plan, Price
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.gating.gate import Standing
from autoscaler.ports import DISRUPTION_BUDGETS, REPLICA_SETS, Clock, Metrics, ObjectClient
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import StoreClient
from autoscaler.simulation.world import World
from tests.chaos.audit import Audit, Rules, journal_of
from tests.loops import (
    Killed,
    Replica,
    annotations,
    auto_policy,
    is_closed,
    world_with_namespace,
)
from tests.worlds import (
    CONFIG,
    HALVES,
    ONE,
    THREE,
    cordon,
    devices,
    label,
    node,
    pods,
    task,
)

SMALL, LARGE = "all-1g.5gb", "all-3g.20gb"
SEVEN = Counts({"1g.5gb": 7})


@dataclass
class Stage:
    """One world under audit.

    Parameters
    ----------
    replicas
        All that ever ran, by user agent.
    """

    world: World
    audit: Audit
    replicas: dict[str, Replica] = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        """The policy in force for all replicas."""
        return self.audit.rules.policy

    def edit(self, policy: Policy) -> None:
        """Put another policy in force."""
        self.audit.rules.policy = policy
        for replica in self.replicas.values():
            replica.policy = policy

    def join(
        self,
        name: str = "replica-1",
        identity: str = "",
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        client: ObjectClient | None = None,
    ) -> Replica:
        """Start a replica."""
        self.audit.actors[name] = identity or name
        replica = Replica(
            self.world,
            self.policy,
            name,
            metrics=metrics,
            identity=identity,
            clock=clock,
            client=client,
        )
        self.replicas[name] = replica
        return replica

    def run(self, seconds: float) -> None:
        """Let the world go on, and check what was done."""
        self.world.run_for(seconds)
        self.audit.check()

    def rest(self, limit_s: float = 20_000.0, pace_s: float = 30.0) -> None:
        """Let the world go on until no rollout is open and the last one is told of."""
        end_s = self.world.clock.now_s() + limit_s
        self.run(pace_s)
        while self.is_busy() and self.world.clock.now_s() < end_s:
            self.run(pace_s)
        self.run(2 * pace_s)

    def is_busy(self) -> bool:
        """Say whether any node carries a journal."""
        return any(journal_of(node(self.world, n)) is not None for n in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes there are."""
        return self.world.fleet.names

    def cordon(self, name: str = "n1", *, closed: bool = True) -> None:
        """Cordon or uncordon a node as a person does.

        A cordon on top of ours changes nothing, so nobody can know of it.
        """
        if closed and is_closed(self.world, name):
            return
        cordon(self.world, name, closed=closed)
        people = self.audit.rules.closed_by_people
        people.add(name) if closed else people.discard(name)

    def kill_at(self, number: int, point: Point, name: str = "replica-1") -> Rule:
        """Have a replica die at its n-th mutating request from now."""

        def die(_: Request) -> None:
            raise Killed

        def is_own_write(request: Request) -> bool:
            return request.is_mutating and request.user_agent == name

        return self.world.store.faults.add(
            Rule(point, Fault(call=die), is_own_write, skip=number)
        )

    def shape(self) -> dict[str, Any]:
        """Return what must be the same, whatever happened on the way."""
        return {
            name: (
                label(self.world, CONFIG, name),
                {key: n for key, n in devices(self.world, name).items() if n},
                is_closed(self.world, name),
                sorted(annotations(self.world, name)),
            )
            for name in self.names
        } | {"pods": phases(self.world)}


@dataclass
class Watch:
    """A replica's clock, which may be set to another time."""

    world_clock: VirtualClock
    skew_s: float = 0.0

    def now_s(self):
        """Return what it shows."""
        return self.world_clock.now_s() + self.skew_s

    def monotonic_s(self):
        """Return what no setting changes."""
        return self.world_clock.monotonic_s()

    def sleep(self, seconds):
        """Wait."""
        self.world_clock.sleep(seconds)


@dataclass
class BlindMetrics:
    """Metrics that can be had and show nothing: no pod's seat is known from them."""

    world: World
    is_away: bool = False

    def observe(self) -> MetricsView:
        """Return an empty view."""
        if self.is_away:
            raise Unavailable("Prometheus is away")
        return MetricsView(self.world.clock.now_s())

    def holders_since(self, node: str, since_s: float) -> MetricsView:
        """Return no sample."""
        del node, since_s
        return self.observe()


def open_by_hand(
    stage: Stage, name: str = "n1", *, evict: Sequence[PodRef] = (), after: Counts = SEVEN
) -> None:
    """Close a node for a change of all its GPUs that evicts these pods.

    The change is opened by the product's own code under the Lease, which is given up.
    """
    world, agent = stage.world, "person"
    stage.audit.actors[agent] = agent
    cluster = KubernetesCluster(StoreClient(world.store, agent), world.clock)
    outside = Outside(cluster, world.clock, identity=agent)
    leadership = leadership_for(outside, stage.policy)
    assert leadership is not None
    assert leadership.ensure().is_leader
    snapshot = assess(cluster.observe(), stage.policy, None, world.clock.now_s())
    plan = plan_for(snapshot, name, evict, after)
    basis = Basis(stage.policy, Standing(by_hand=True))
    opened = Starter(outside, leadership, basis).start(plan, plan.changes)
    assert [p.error for p in opened] == [""]
    leadership.release()


def plan_for(snapshot: Snapshot, name: str, evict: Sequence[PodRef], after: Counts) -> Plan:
    """Return a plan that cuts all GPUs of one node alike."""
    own = snapshot.node(name)
    assert own is not None
    assert own.model is not None
    layout = (after,) * len(own.gpus)
    change = NodeChange(
        node=name,
        uid=own.node.uid,
        pool=own.pool or "",
        observed=observed_hash(own, range(len(layout))),
        config_name=node_configuration(own.model, layout)[0],
        gpus=tuple(GpuChange(g.index, g.counts, after) for g in own.gpus),
        layout=layout,
        resources=supply_of(layout),
        evictions=tuple(Eviction(pod, "for room") for pod in evict),
        price=Price(rule=1.0),
    )
    return Plan("by-hand", snapshot.observed_at_s, "test", "", "auto", changes=(change,))


def create_service(
    world: World, name: str = "web", replicas: int = 2, profile: str = THREE, **pod: Any
) -> None:
    """Have a ReplicaSet keep pods that hold an instance each."""
    labels = {"app": name}
    container = {"name": "main", "image": "x", "resources": {"limits": {profile: "1"}}}
    spec = {"containers": [container], **pod.pop("spec", {})}
    template = {"metadata": {"labels": labels, **pod}, "spec": spec}
    body = {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }
    world.platform.client.create(REPLICA_SETS, "jobs", body)


def create_budget(world: World, name: str, app: str, **spec: Any) -> None:
    """Create a PodDisruptionBudget for the pods of a service."""
    body = {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }
    world.platform.client.create(DISRUPTION_BUDGETS, "jobs", body)


def refs_on(world: World, name: str = "n1") -> tuple[PodRef, ...]:
    """Return the jobs' pods on a node."""
    return tuple(
        PodRef("jobs", p["metadata"]["name"], p["metadata"]["uid"])
        for p in pods(world).values()
        if p["spec"].get("nodeName") == name
    )


def phases(world: World) -> dict[str, int]:
    """Return how many pods are in each phase."""
    found = [p["status"]["phase"] for p in pods(world).values()]
    return {phase: found.count(phase) for phase in sorted(set(found))}


def stage_of(
    *gpus: Mapping[str, int] | None, policy: Policy | None = None, jobs: int = 7, **changes: Any
) -> Stage:
    """Return nodes cut in halves, small jobs waiting, and the auditor on watch."""
    budget = changes.pop("budget", 1)
    world = world_with_namespace(*(gpus or (HALVES,)), **changes)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90_000.0) for i in range(jobs)])
    rules = Rules(policy or auto_policy(), nodes=budget)
    return Stage(world, Audit(world, rules))
