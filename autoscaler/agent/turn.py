"""What an agent is given, and what it says of one turn."""

from dataclasses import dataclass
from math import inf

from autoscaler.ports import Clock, ClusterApi, GpuDriver, PodResources


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """What the agent reaches beyond itself."""

    cluster: ClusterApi
    driver: GpuDriver
    pods: PodResources
    clock: Clock


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent of one node.

    Parameters
    ----------
    node
        Name of its node.
    retry_s
        Pause after something that may be otherwise by itself soon.
    report_s
        Shortest time between two inventories while nobody waits for one: pods come and
        go, and each inventory is a write to the API server.
    orphan_s
        Age from which an instance that was found without compute instance at the start
        is taken for the rest of a crash: another tool may be between its two calls.
    """

    node: str
    retry_s: float = 5.0
    report_s: float = 10.0
    orphan_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent did, and when it wants the next turn.

    Parameters
    ----------
    again_at_s
        Epoch seconds; infinity when only a change of the node or its pods matters.
    """

    did: str
    again_at_s: float = inf
