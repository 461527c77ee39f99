"""Without metrics a node is not closed for a change that could never be made."""

from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.reasons import Reason
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.loops import Replica, auto_policy, metrics_of, world_with_namespace
from tests.worlds import HALVES, SEVENS, THREE, devices, task

FOUR = "nvidia.com/mig-4g.20gb"


def partly_busy_world():
    """Return a node of one GPU that a job holds for long and one idle GPU; a pod waits."""
    world = world_with_namespace(HALVES, SEVENS, nodes=("n1",))
    world.submit([task("long", {THREE: 1}, run_s=None)])
    world.run_for(300)
    world.submit([task("waits", {FOUR: 1}, run_s=None)])
    return world


def test_the_node_stays_open_and_the_plan_says_what_is_missing():
    """It would be closed until the drain is given up, again and again."""
    world = partly_busy_world()
    replica = Replica(world, auto_policy())
    world.run_for(1800)
    assert replica.records == []
    assert replica.states() == []
    plan = replica.outcomes[-1].plan
    (change,) = plan.changes
    assert Reason.METRICS_MISSING in {block.reason for block in change.blocked_by}
    assert devices(world)[THREE] == 2


def test_with_metrics_the_idle_gpu_is_cut_beside_the_job():
    """So it is the metrics that make the difference."""
    world = partly_busy_world()
    with PrometheusServer(world.metrics.api) as server:
        replica = Replica(world, auto_policy(), metrics=metrics_of(world, server))
        world.run_for(1200)
    assert [record.result for record in replica.records] == [Result.DONE]
    assert devices(world)[FOUR] == 1
    assert devices(world)[THREE] >= 2


def test_an_empty_node_is_cut_without_metrics():
    """Nobody has to be shown anywhere where nobody is."""
    world = world_with_namespace(HALVES, SEVENS, nodes=("n1",))
    world.submit([task("waits", {FOUR: 1}, run_s=None)])
    replica = Replica(world, auto_policy())
    world.run_for(900)
    assert [record.result for record in replica.records] == [Result.DONE]
