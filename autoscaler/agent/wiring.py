"""Puts an agent together from a client of the API and the two ports of its node."""

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.agent.node_agent import NodeAgent
from autoscaler.agent.turn import AgentPorts, AgentSettings
from autoscaler.ports import Clock, GpuDriver, ObjectClient, PodResources


def new_agent(
    node: str,
    client: ObjectClient,
    *,
    driver: GpuDriver,
    pods: PodResources,
    clock: Clock,
) -> NodeAgent:
    """Return the agent of a node, just started."""
    ports = AgentPorts(KubernetesCluster(client, clock), driver, pods, clock)
    return NodeAgent(ports, AgentSettings(node))
