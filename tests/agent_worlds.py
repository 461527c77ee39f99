"""Embedded clusters whose nodes are cut by the node agent, and who watches over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoscaler.agent.node_agent import NodeAgent
from autoscaler.agent.turn import Turn
from autoscaler.agent.wiring import new_agent
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.world import NODE_AGENT, World
from tests.loops import Killed, auto_policy, is_closed, world_with_namespace
from tests.worlds import pods

POOLS = ({"name": "p", "driver": Driver.AGENT},)


@dataclass
class Mortal:
    """An agent that DaemonSet and kubelet start anew some seconds after it died."""

    make: Any
    clock: Any
    down_s: float = 20.0
    deaths: int = 0

    def __post_init__(self) -> None:
        self.agent: NodeAgent = self.make()

    def step(self) -> Turn:
        try:
            return self.agent.step()
        except Killed:
            self.deaths += 1
            self.agent = self.make()
            return Turn("died", self.clock.now_s() + self.down_s)


def mortal_agent(node: str, client: Any, **ports: Any) -> Mortal:
    """Return an agent that outlives its deaths."""
    return Mortal(lambda: new_agent(node, client, **ports), ports["clock"])


def agent_world(*gpus: Mapping[str, int] | None, **changes: Any) -> World:
    """Return a started cluster whose nodes have agents and no MIG manager."""
    return world_with_namespace(*gpus, driver=Driver.AGENT, agent=mortal_agent, **changes)


def agent_policy(**changes: Any) -> Any:
    """Return a policy of one pool, cut by the agent."""
    return auto_policy(**{"pools": POOLS} | changes)


@dataclass
class Guard:
    """Looks at every moment for what must never be; a participant of the engine.

    Attributes
    ----------
    faults
        What was seen.
    """

    world: World
    faults: list[str] = field(default_factory=list)
    closed_s: float = 0.0
    _since_s: float = 0.0

    def __post_init__(self) -> None:
        self._since_s = self.world.clock.now_s()
        self._was_closed = False
        self.world.engine.add(self)

    def step(self) -> None:
        """Compare pods, kubelet and boards as they are now."""
        for name in self.world.fleet.names:
            self._look_at_devices(name)
        self._look_at_pods()
        now_s = self.world.clock.now_s()
        if self._was_closed:
            self.closed_s += now_s - self._since_s
        self._since_s = now_s
        self._was_closed = any(is_closed(self.world, n) for n in self.world.fleet.names)

    def _look_at_devices(self, name: str) -> None:
        """An open node gives out nothing that is not there."""
        if is_closed(self.world, name):
            return
        manager = self.world.devices.of(name)
        known = {d for e in manager._endpoints.values() for d in e.usable}
        real = {d for gpu in self.world.hardware.gpus(name) for d in gpu.devices}
        if known - real:
            self.note(f"{name} is open and offers {sorted(known - real)}, which are gone")

    def _look_at_pods(self) -> None:
        """Running pods have their devices, and nobody was rejected."""
        for name, pod in pods(self.world).items():
            node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
            if pod["status"].get("reason") == "UnexpectedAdmissionError":
                self.note(f"{name} was rejected")
            if pod["status"]["phase"] != "Running":
                continue
            for device in self.world.devices.of(node).devices_of(uid):
                gpu = self.world.hardware.gpu_of(node, device)
                if gpu is None or not gpu.is_in_use(device):
                    self.note(f"{name} runs and has lost {device}")

    def note(self, text: str) -> None:
        """Keep what was seen, once."""
        if text not in self.faults:
            self.faults.append(text)


def agent_writes(world: World) -> list[Any]:
    """Return the mutating requests of the agents."""
    return [
        r for r in world.store.requests.entries() if r.mutating and r.user_agent == NODE_AGENT
    ]
