"""A whole embedded cluster: store, controllers and engine, wired and started.

The same controllers can act on another API server: only this module knows that the
objects are in memory.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from autoscaler.domain.cluster.placeholder import PRIORITY_CLASS
from autoscaler.domain.errors import ConfigError, InvariantError
from autoscaler.domain.mig.configuration import render_configurations
from autoscaler.ports import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    ObjectClient,
    RawObject,
)
from autoscaler.simulation.apiserver.resources import CLUSTER_POLICIES
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.controllers.agents import AgentFactory, Agents
from autoscaler.simulation.controllers.config_mount import ConfigMount
from autoscaler.simulation.controllers.device_plugin import DevicePlugin
from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.disruption import DisruptionController
from autoscaler.simulation.controllers.feature_discovery import FeatureDiscovery
from autoscaler.simulation.controllers.jobs import JobController
from autoscaler.simulation.controllers.kubelet import Kubelet
from autoscaler.simulation.controllers.mig_manager import MigManager
from autoscaler.simulation.controllers.node_status import NodeStatus
from autoscaler.simulation.controllers.operands import Operator
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pod_cleaner import PodCleaner
from autoscaler.simulation.controllers.replica_sets import ReplicaSetController
from autoscaler.simulation.controllers.scheduler import Scheduler, SchedulerSettings
from autoscaler.simulation.engine import Controller, Engine
from autoscaler.simulation.figures import Observer
from autoscaler.simulation.fleet import Fleet, build_hardware, configurations, node_body
from autoscaler.simulation.metrics.dcgm import ScrapeSettings
from autoscaler.simulation.metrics_source import MetricsSource
from autoscaler.simulation.store import Store, StoreClient
from autoscaler.simulation.timing import Timing
from autoscaler.simulation.workload import NAMESPACE, Submitter, Task

CONTROLLER_AGENT = "simulation"
NODE_AGENT = "mig-autoscaler-agent"
Connect = Callable[[Store, str], ObjectClient]
# Whoever set the cluster up: a person, as far as managed fields tell.
FOUNDER_AGENT = "kubectl"

PLACEHOLDER_PRIORITY = 1
# As the manifests have it: before pods without a priority, and nobody has to go for it.
PLACEHOLDER_CLASS: RawObject = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": PRIORITY_CLASS, "uid": "placeholder-class"},
    "value": PLACEHOLDER_PRIORITY,
    "preemptionPolicy": "Never",
}


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A priority that pods may have.

    Parameters
    ----------
    preempts
        Whether pods of lower priority have to go where these fit nowhere else.
    """

    name: str
    value: int
    preempts: bool = True

    @property
    def body(self) -> RawObject:
        """The object that the API server has."""
        policy = "PreemptLowerPriority" if self.preempts else "Never"
        return {
            "metadata": {"name": self.name},
            "value": self.value,
            "preemptionPolicy": policy,
        }


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """How the embedded cluster is set up.

    Parameters
    ----------
    start_s
        Epoch second at which the run begins; the cluster is brought up before it.
    bring_up_s
        How long before.
    scrapes
        How Prometheus scrapes the cluster; ``None`` for no Prometheus, which is a good part
        of the work of a long run that nobody asks about.
    config_map
        ConfigMap that the MIG manager reads, in the operator's namespace.
    namespaces
        Created beside the operator's.
    placeholder_priority
        Value of the PriorityClass of placeholders.
    finished_ttl_s
        How long finished pods stay.
    agent
        Makes the node agents, where the fleet has nodes that one cuts.
    """

    start_s: float
    timing: Timing = field(default_factory=Timing)
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    scrapes: ScrapeSettings | None = field(default_factory=ScrapeSettings)
    bring_up_s: float = 300.0
    operator_namespace: str = "gpu-operator"
    config_map: str = "mig-autoscaler-config"
    namespaces: tuple[str, ...] = (NAMESPACE,)
    priority_classes: tuple[PriorityClass, ...] = ()
    placeholder_priority: int = PLACEHOLDER_PRIORITY
    finished_ttl_s: float = 300.0
    agent: AgentFactory | None = None


class World:
    """The embedded cluster, brought up and ready at ``settings.start_s``.

    Parameters
    ----------
    connect
        Returns the client through which the controllers act; one in process by default.
        With another one changes are found by listing.
    """

    def __init__(
        self, fleet: Fleet, settings: WorldSettings, connect: Connect | None = None
    ) -> None:
        self._connect: Connect = connect or StoreClient
        self.fleet = fleet
        self.settings = settings
        self.clock = VirtualClock(settings.start_s - settings.bring_up_s)
        self.store = Store(self.clock.now_s, wait=self.clock.sleep)
        self.hardware = build_hardware(fleet)
        self.devices = NodeDevices(settings.timing.seed, settings.timing.endpoint_grace_s)
        self.platform = Platform(
            client=self.client(CONTROLLER_AGENT),
            clock=self.clock,
            timing=settings.timing,
            namespace=settings.operator_namespace,
            version=self.store.version_of,
            by_list=connect is not None,
        )
        self.faults = self.platform.faults
        self.engine = Engine(self.clock, lambda: self.store.version)
        self._create_objects()
        self.observer = Observer(self.platform, self._whole_gpu_slices())
        self.submitter = Submitter(self.platform)
        self._metrics = None if settings.scrapes is None else self._scraped(settings.scrapes)
        self.scheduler = Scheduler(self.platform, settings.scheduler)
        self._add_controllers()
        self.engine.run_until(settings.start_s)

    @property
    def metrics(self) -> MetricsSource:
        """The Prometheus of the cluster; InvariantError where there is none."""
        if self._metrics is None:
            raise InvariantError("nothing scrapes this cluster, so it has no Prometheus")
        return self._metrics

    def client(self, user_agent: str) -> ObjectClient:
        """Return a client of the store under a name that its request log shows."""
        return self._connect(self.store, user_agent)

    def submit(self, tasks: Iterable[Task]) -> None:
        """Have tasks submitted when they are due."""
        self.submitter.add(tasks)

    def run_until(self, time_s: float) -> None:
        """Let the cluster go on up to an epoch second."""
        self.engine.run_until(time_s)

    def run_for(self, seconds: float) -> None:
        """Let the cluster go on for some seconds."""
        self.engine.run_until(self.clock.now_s() + seconds)

    def _add_controllers(self) -> None:
        platform, hardware, devices = self.platform, self.hardware, self.devices
        strategies = self.fleet.strategies
        mount = ConfigMount(platform, self.settings.config_map)
        controllers: tuple[Controller, ...] = (
            self.submitter,
            Operator(platform),
            JobController(platform),
            ReplicaSetController(platform),
            MigManager(platform, hardware, mount),
            DevicePlugin(platform, hardware, devices, strategies),
            FeatureDiscovery(platform, hardware, strategies),
            NodeStatus(platform, devices),
            self.scheduler,
            Kubelet(platform, hardware, devices),
            *self._make_agents(),
            DisruptionController(platform),
            PodCleaner(platform, self.settings.finished_ttl_s),
            *(() if self._metrics is None else (self._metrics,)),
            self.observer,
        )
        for controller in controllers:
            self.engine.add(controller)

    def _scraped(self, scrapes: ScrapeSettings) -> MetricsSource:
        return MetricsSource(self.platform, self.hardware, self.devices, scrapes)

    def _make_agents(self) -> Iterable[Agents]:
        """Return the node agents, started, if the fleet has any."""
        names, factory = self.fleet.agent_nodes, self.settings.agent
        if not names:
            return ()
        if factory is None:
            raise ConfigError(f"node {names[0]} is cut by an agent, and none is given")
        client = self.client(NODE_AGENT)
        agents = Agents(
            self.platform, client, factory, hardware=self.hardware, devices=self.devices
        )
        for name in names:
            agents.start(name)
        return (agents,)

    def _create_objects(self) -> None:
        client, operator = self.client(FOUNDER_AGENT), self.settings.operator_namespace
        for name in (operator, *self.settings.namespaces):
            client.create(NAMESPACES, None, {"metadata": {"name": name}})
        # It has a uid of its own, so that it does not change those of all that follows.
        self.store.load([{**PLACEHOLDER_CLASS, "value": self.settings.placeholder_priority}])
        for own in self.settings.priority_classes:
            client.create(PRIORITY_CLASSES, None, own.body)
        client.create(CONFIG_MAPS, operator, self._config_map())
        client.create(CLUSTER_POLICIES, None, self._cluster_policy())
        number = 0
        for group in self.fleet.groups:
            for name in group.names:
                number += 1
                address = f"10.0.{number // 250}.{number % 250 + 1}"
                client.create(NODES, None, node_body(group, name, address))

    def _config_map(self) -> RawObject:
        text = render_configurations(configurations(self.fleet))
        return {"metadata": {"name": self.settings.config_map}, "data": {"config.yaml": text}}

    def _cluster_policy(self) -> RawObject:
        manager = {"enabled": True, "config": {"name": self.settings.config_map}}
        return {"metadata": {"name": "cluster-policy"}, "spec": {"migManager": manager}}

    def _whole_gpu_slices(self) -> int:
        return max((g.gpu_model.compute_slices for g in self.fleet.groups), default=7)
