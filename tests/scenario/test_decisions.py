"""Decisions carried out on the embedded cluster: evictions, and nodes of one profile."""

from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.loops import Replica, auto_policy, is_closed, metrics_of, world_with_namespace
from tests.worlds import CONFIG, ONE, SEVENS, WHOLE, devices, label, pods, task

GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"
EVICTING = {"eviction": {"enabled": True, "jobs": True}, "cooldown": "1m"}


def small_jobs_world():
    """Return two nodes of one GPU each, on both of which a small Job runs for long."""
    world = world_with_namespace(SEVENS, nodes=("n1", "n2"))
    for number, name in enumerate(("n1", "n2")):
        own = {"node_selector": {"kubernetes.io/hostname": name}} if number else {}
        world.submit([task(f"small-{number}", {ONE: 1}, run_s=None, as_job=True, **own)])
        world.run_for(60)
    return world


def where(world):
    """Return the node of each pod that asks for devices, by the name of its Job."""
    found = {}
    for name, pod in pods(world).items():
        if pod["status"]["phase"] in {"Running", "Pending"}:
            found[name.rsplit("-", 1)[0]] = pod["spec"].get("nodeName")
    return found


def test_a_small_pod_moves_so_that_a_large_job_gets_a_whole_gpu():
    """Compaction: it is evicted, runs beside the other one, and its GPU becomes whole."""
    world = small_jobs_world()
    assert where(world) == {"small-0": "n1", "small-1": "n2"}
    with PrometheusServer(world.metrics.api) as server:
        own = auto_policy(disruption=EVICTING)
        replica = Replica(world, own, metrics=metrics_of(world, server))
        world.submit([task("large", {WHOLE: 1}, run_s=None, as_job=True)])
        world.run_for(900)
    assert [record.result for record in replica.records] == [Result.DONE]
    assert where(world) == {"small-0": "n2", "small-1": "n2", "large": "n1"}
    assert not is_closed(world, "n1")
    evicted = [
        request
        for request in world.store.requests.entries()
        if request.subresource == "eviction" and request.user_agent == replica.name
    ]
    assert len(evicted) == 1


def test_a_node_of_strategy_single_becomes_what_a_pod_selects():
    """Its product label changes with its instances, and the waiting pods run there."""
    world = world_with_namespace(SEVENS, SEVENS, strategy=Strategy.SINGLE)
    assert devices(world)[GPU] == 14
    base = (label(world, PRODUCT) or "").partition("-MIG-")[0]
    wish = {PRODUCT: f"{base}-MIG-3g.20gb"}
    world.submit(
        [task(f"job-{i}", {GPU: 1}, run_s=5000.0, node_selector=wish) for i in range(3)]
    )
    fields = auto_policy().model_dump(by_alias=True)
    pools = ({**fields["pools"][0], "strategy": Strategy.SINGLE},)
    replica = Replica(world, auto_policy(pools=pools))
    world.run_for(900)
    assert [record.result for record in replica.records] == [Result.DONE]
    assert (label(world, CONFIG), devices(world)[GPU]) == ("all-3g.20gb", 4)
    assert [p["status"]["phase"] for p in pods(world).values()] == ["Running"] * 3
    assert not is_closed(world)
