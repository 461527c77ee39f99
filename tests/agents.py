"""The node agent on a desk: real boards' manners, one node of the API, and nobody else.

The agent and its driver are the real ones; below the driver is the stand-in of NVIDIA's
library. A device plugin starts anew whenever its pod is evicted, as its DaemonSet sees to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoscaler.adapters.nvml import NvmlDriver
from autoscaler.agent.node_agent import NodeAgent
from autoscaler.agent.turn import AgentPorts, AgentSettings, Turn
from autoscaler.domain.cluster.marks import INVENTORY, ROLLOUT
from autoscaler.domain.cluster.objects import Node, Owner, Pod, PodRef
from autoscaler.domain.errors import Conflict
from autoscaler.domain.journal.journal_json import journal_to_text
from autoscaler.domain.journal.rollout import Journal, Layout, State
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.policy.policy import Driver
from autoscaler.domain.rollout.agent_report import Report, report_of
from autoscaler.ports import NodePatch
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.hardware import SimulatedGpu, cut
from tests.builders import NOW_S, model, node, pod
from tests.nvml_library import Library, binding
from tests.rollouts import journal

PLUGIN = "nvidia-device-plugin-daemonset"
OPERATOR = "gpu-operator"


class Killed(Exception):
    """Ends the agent's process in the middle of a call."""


def operand(app: str = PLUGIN, uid: str = "uid-plugin-0", **changes: object) -> Pod:
    """Return a pod of one of the operator's DaemonSets on the node."""
    own = pod(app, {}, node="node-a", namespace=OPERATOR, uid=uid, labels={"app": app})
    return replace(own, owner=Owner("DaemonSet", app), **changes)


@dataclass
class Desk:
    """One node, its operator's pods and its boards, as the ports show them.

    Parameters
    ----------
    holders
        What kubelet has given to whom.
    before
        Called before each call of the API or of NVML, with its name.
    advertised
        Devices that the present device plugin found when it started.
    """

    gpus: tuple[SimulatedGpu, ...]
    node: Node
    pods: tuple[Pod, ...]
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(NOW_S))
    given: dict[str, PodRef] = field(default_factory=dict)
    before: Callable[[str], None] = lambda name: None
    advertised: frozenset[str] = frozenset()
    evicted: list[PodRef] = field(default_factory=list)
    written: list[NodePatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.library = Library(self.gpus)
        self.library.before = lambda name: self.before(name)
        self.binding = binding(self.library)

    # The API server.

    def read_node(self, name: str) -> Node:
        self.before("read_node")
        return self.node

    def pods_on(self, name: str) -> tuple[Pod, ...]:
        self.before("pods_on")
        return self.pods

    def patch_node(self, name: str, patch: NodePatch) -> Node:
        self.before("patch_node")
        if patch.resource_version not in {"", self.node.resource_version}:
            raise Conflict(f"{name} has changed")
        self.written.append(patch)
        self.edit(patch.annotations)
        return self.node

    def evict(self, ref: PodRef) -> None:
        self.before("evict")
        found = next((p for p in self.pods if p.uid == ref.uid), None)
        if found is None:
            return
        self.evicted.append(ref)
        number = 1 + int(found.uid.rpartition("-")[2])
        successor = replace(found, uid=f"{found.uid.rpartition('-')[0]}-{number}")
        self.pods = (*(p for p in self.pods if p is not found), successor)
        if found.labels["app"] == PLUGIN:
            self.advertised = self.devices

    # Kubelet.

    def holders(self) -> Mapping[str, PodRef]:
        self.before("holders")
        return dict(self.given)

    # What tests do and see.

    def edit(self, annotations: Mapping[str, str | None]) -> None:
        """Write annotations of the node; a new version of it is there."""
        merged = {**self.node.annotations, **annotations}
        self.node = replace(
            self.node,
            annotations={k: v for k, v in merged.items() if v is not None},
            resource_version=str(1 + int(self.node.resource_version)),
        )

    def ask(self, own: Journal | None) -> None:
        """Write a journal, or remove it."""
        self.edit({ROLLOUT: None if own is None else journal_to_text(own)})

    @property
    def devices(self) -> frozenset[str]:
        """All devices there are."""
        return frozenset(d for gpu in self.gpus for d in gpu.devices)

    @property
    def report(self) -> Report | None:
        """The agent's answer on the node."""
        return report_of(self.node)

    @property
    def inventory(self) -> str:
        """The inventory on the node."""
        return self.node.annotations.get(INVENTORY, "")

    @property
    def geometries(self) -> list[str]:
        """What each board holds."""
        return [str(gpu.geometry) for gpu in self.gpus]

    def start_agent(self) -> NodeAgent:
        """Return an agent whose process has just started."""
        driver = NvmlDriver(nvml=self.binding)
        ports = AgentPorts(self, driver, self, self.clock)
        return NodeAgent(ports, AgentSettings("node-a"))

    def run(self, agent: NodeAgent | None = None, turns: int = 200) -> NodeAgent:
        """Give turns until the agent waits for a change; time passes as it asks."""
        agent = agent or self.start_agent()
        for _ in range(turns):
            turn = agent.step()
            if turn.again_at_s == float("inf"):
                return agent
            self.clock.move_to(turn.again_at_s)
        raise AssertionError(f"no rest within {turns} turns: {self.report}")

    def turns(self, number: int, agent: NodeAgent | None = None) -> list[Turn]:
        """Give some turns to an agent, by default a new one."""
        agent = agent or self.start_agent()
        taken = []
        for _ in range(number):
            taken.append(agent.step())
            if taken[-1].again_at_s < float("inf"):
                self.clock.move_to(taken[-1].again_at_s)
        return taken


def desk(*geometries: Geometry | None, **changes: object) -> Desk:
    """Return a node whose boards hold these; ``None`` is MIG off."""
    gpus = []
    for index, geometry in enumerate(geometries):
        gpu = SimulatedGpu("node-a", index, model(), mig_enabled=geometry is not None)
        if geometry is not None:
            cut(gpu, geometry)
        gpus.append(gpu)
    own = Desk(tuple(gpus), node(), (operand(),), **changes)
    own.advertised = own.devices
    return own


def order(
    before: Sequence[Geometry | None],
    target: Sequence[Geometry | None],
    state: State = State.APPLYING,
    **changes: object,
) -> Journal:
    """Return a rollout of the agent; the GPUs that differ change."""
    gpus = tuple(i for i in range(len(before)) if before[i] != target[i])
    own = journal(
        state,
        before=layout_of(before),
        target=layout_of(target),
        driver=Driver.AGENT,
        gpus=gpus,
        rollback_name="",
    )
    return replace(own, **changes)


def layout_of(places: Sequence[Geometry | None]) -> Layout:
    """Return the layout of these geometries."""
    counts = tuple(None if g is None else g.counts for g in places)
    return Layout("as-test", counts, supply_of(counts), tuple(places))
