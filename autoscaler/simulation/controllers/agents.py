"""The node agents of all nodes that are cut by one.

The agents themselves are the real ones and are handed in; here they get simulated GPUs,
their turns, and the time that their acts take.
"""

from math import inf
from typing import Protocol

from autoscaler.domain.cluster.marks import INVENTORY, ROLLOUT
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.ports import (
    NODES,
    PODS,
    Clock,
    GpuDriver,
    ObjectClient,
    PodResources,
    RawObject,
)
from autoscaler.simulation.controllers.devices import NodeDevices
from autoscaler.simulation.controllers.informer import Notice
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    annotations_of,
    is_finished,
    is_ready,
    is_terminating,
    name_of,
    namespace_of,
    node_of,
    uid_of,
)
from autoscaler.simulation.controllers.timers import Timers
from autoscaler.simulation.hardware import Hardware
from autoscaler.simulation.nvml import SimulatedNvml, SimulatedPodResources

ABSENT_S = 5.0


class AgentTurn(Protocol):
    """What an agent says of its turn."""

    @property
    def again_at_s(self) -> float:
        """When it wants the next one; infinity when only a change matters."""
        ...


class Agent(Protocol):
    """An agent of one node."""

    def step(self) -> AgentTurn:
        """Take one turn."""
        ...


class AgentFactory(Protocol):
    """Makes the agent of a node; called again where one is to start anew."""

    def __call__(
        self,
        node: str,
        client: ObjectClient,
        *,
        driver: GpuDriver,
        pods: PodResources,
        clock: Clock,
    ) -> Agent:
        """Return an agent that has just started."""
        ...


class Agents:
    """Runs the agents of some nodes.

    Parameters
    ----------
    client
        Under the name that the agents have in the request log.
    factory
        Makes the agents.
    """

    def __init__(
        self,
        platform: Platform,
        client: ObjectClient,
        factory: AgentFactory,
        *,
        hardware: Hardware,
        devices: NodeDevices,
    ) -> None:
        self._platform = platform
        self._client = client
        self._factory = factory
        self._hardware = hardware
        self._devices = devices
        self._names: dict[str, PodRef] = {}
        self._drivers: dict[str, SimulatedNvml] = {}
        self._agents: dict[str, Agent] = {}
        self._node_feed = platform.informers.of(NODES).subscribe()
        self._pod_feed = platform.informers.of(PODS).subscribe()
        self._timers: Timers[str] = Timers()

    def start(self, node: str) -> None:
        """Start the agent of a node, in place of one that may run."""
        gpus = self._hardware.gpus(node)
        driver = self._drivers[node] = SimulatedNvml(gpus, self._platform.timing)
        pods = SimulatedPodResources(gpus, self._devices.of(node), self._names)
        self._agents[node] = self._factory(
            node, self._client, driver=driver, pods=pods, clock=self._platform.clock
        )
        self._wake(node)

    def step(self) -> float | None:
        """Give turns to those for whom something has changed or is due."""
        for notice in self._pod_feed.take():
            self._follow(notice)
        for notice in self._node_feed.take():
            if _question(notice.old) != _question(notice.new):
                self._wake(notice.key[1])
        for node in self._timers.pop_due(self._platform.now_s()):
            self._give_turn(node)
        return self._timers.next_s()

    def _follow(self, notice: Notice) -> None:
        """Keep the names of pods, and wake agents whose pods come, go or become ready."""
        pod = notice.new or notice.old
        if pod is None:
            return
        if notice.new is None:
            self._names.pop(uid_of(pod), None)
        else:
            self._names[uid_of(pod)] = PodRef(namespace_of(pod), name_of(pod))
        is_operand = namespace_of(pod) == self._platform.namespace
        state = _operand_state if is_operand else _state
        if state(notice.old) != state(notice.new):
            self._wake(node_of(pod))

    def _wake(self, node: str) -> None:
        if node not in self._agents:
            return
        now_s = self._platform.now_s()
        at_s = self._platform.after(self._platform.timing.agent, "agent", node, now_s)
        due_s = self._timers.at_s(node)
        if due_s is None or at_s < due_s:
            self._timers.set(node, at_s)

    def _give_turn(self, node: str) -> None:
        now_s, driver = self._platform.now_s(), self._drivers[node]
        if node in self._platform.faults.silent_agents:
            self._timers.set(node, now_s + ABSENT_S)
            return
        turn = self._agents[node].step()
        # What the driver was asked to do takes its time before anything else is done.
        free_s, driver.spent_s = now_s + driver.spent_s, 0.0
        again_s = max(turn.again_at_s, free_s)
        if again_s < inf:
            self._timers.set(node, again_s)


def _question(node: RawObject | None) -> tuple[object, ...]:
    """Return what of a node makes its agent look; its own writes do not."""
    present = annotations_of(node) if node is not None else {}
    return present.get(ROLLOUT), INVENTORY in present


def _state(pod: RawObject | None) -> tuple[object, ...]:
    """Return what of a pod tells whether it holds devices, and where."""
    return () if pod is None else (node_of(pod), is_finished(pod))


def _operand_state(pod: RawObject | None) -> tuple[object, ...]:
    """Return what of an operator's pod its successor is waited for by."""
    return () if pod is None else (node_of(pod), is_ready(pod), is_terminating(pod))
