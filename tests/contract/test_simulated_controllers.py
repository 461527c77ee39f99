"""The simulated controllers need nothing but an object client: here one over HTTP."""

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.kubernetes.credentials import Connection, connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.simulation.api_server import ApiServer
from autoscaler.simulation.fleet import Fleet, NodeGroup
from autoscaler.simulation.world import World, WorldSettings
from tests.worlds import (
    HALVES,
    ONE,
    PROMPT,
    SEVENS,
    START_S,
    STATE,
    THREE,
    apply_configuration,
    devices,
    label,
    layout,
    pod,
    task,
)


def test_cluster_works_over_http_as_in_process():
    """Bring-up, a job, and a change of the instances, each through real requests."""
    servers: list[ApiServer] = []
    connections: list[Connection] = []

    def connect(store, agent: str) -> HttpObjectClient:
        if not servers:
            servers.append(ApiServer(store).start())
        connections.append(connect_to(servers[0].url))
        return HttpObjectClient(connections[-1], SystemClock(), manager=agent)

    fleet = Fleet((NodeGroup(("n1",), "a100-40gb", layout(HALVES)),))
    try:
        world = World(fleet, WorldSettings(start_s=START_S, timing=PROMPT), connect)
        world.submit([task("job", {THREE: 1}, run_s=100.0)])
        world.run_for(50)
        assert pod(world, "job")["status"]["phase"] == "Running"
        world.run_for(60)
        assert pod(world, "job")["status"]["phase"] == "Succeeded"
        apply_configuration(world, SEVENS)
        world.run_for(200)
        assert label(world, STATE) == "success"
        assert devices(world) == {ONE: 7, THREE: 0}
        agents = {entry.user_agent.split("/")[0] for entry in world.store.requests.entries()}
        assert "simulation" in agents
    finally:
        for connection in connections:
            connection.pool.clear()
        for server in servers:
            server.stop()
