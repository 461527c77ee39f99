"""Jobs, ReplicaSets, disruption budgets and clean-up."""

import pytest

from autoscaler.domain.errors import Unavailable
from autoscaler.ports import DISRUPTION_BUDGETS, JOBS, NODES, PODS, REPLICA_SETS
from autoscaler.simulation.controllers.disruption import desired_healthy
from autoscaler.simulation.controllers.pods import EXIT, STOP_SECONDS
from tests.worlds import HALVES, SEVENS, THREE, make_world, pods, task


def evict(world, name: str) -> None:
    body = {"metadata": {"name": name, "namespace": "jobs"}}
    world.platform.client.post(PODS, "jobs", name, "eviction", body)


def replica_set(world, replicas: int, requests=None) -> None:
    resources = {"limits": {key: str(number) for key, number in (requests or {}).items()}}
    container = {"name": "main", "image": "server", "resources": resources}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "server"}},
        "template": {
            "metadata": {"labels": {"app": "server"}, "annotations": {STOP_SECONDS: "5"}},
            "spec": {"containers": [container]},
        },
    }
    world.platform.client.create(
        REPLICA_SETS, "jobs", {"metadata": {"name": "server"}, "spec": spec}
    )


def budget(world, **spec) -> None:
    body = {
        "metadata": {"name": "server"},
        "spec": {"selector": {"matchLabels": {"app": "server"}}, **spec},
    }
    world.platform.client.create(DISRUPTION_BUDGETS, "jobs", body)


def status(world, kind, name: str):
    return world.platform.client.get(kind, "jobs", name)["status"]


def test_evicted_job_starts_again_from_the_beginning():
    """Its pod is replaced and runs for the whole time again."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, as_job=True, run_s=100.0)])
    world.run_for(50)
    (first,) = pods(world)
    evict(world, first)
    world.run_for(5)
    (second,) = pods(world)
    assert second != first
    assert status(world, JOBS, "job")["active"] == 1
    world.run_for(90)
    assert status(world, JOBS, "job")["active"] == 1
    world.run_for(15)
    done = status(world, JOBS, "job")
    assert (done["succeeded"], done["conditions"][0]["type"]) == (1, "Complete")
    assert [p.outcome for p in world.observer.pods] == ["Deleted", "Succeeded"]


def test_job_gives_up_after_its_backoff_limit():
    """Seven failures are one too many."""
    world = make_world(HALVES)
    failing = task("job", {}, as_job=True, run_s=1.0, annotations={EXIT: "1"})
    world.submit([failing])
    world.run_for(60)
    done = status(world, JOBS, "job")
    assert (done["failed"], done["conditions"][0]["type"]) == (7, "Failed")
    assert len(pods(world)) == 7


def test_deleted_job_takes_its_pod_along():
    """The pod belongs to it."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, as_job=True, run_s=None)])
    world.run_for(5)
    world.platform.client.delete(JOBS, "jobs", "job")
    world.run_for(5)
    assert pods(world) == {}


def test_replica_set_keeps_its_number():
    """Evicted pods are replaced, surplus ones removed, the status is kept."""
    world = make_world(SEVENS)
    replica_set(world, 3)
    world.run_for(2)
    assert len(pods(world)) == 3
    assert status(world, REPLICA_SETS, "server")["readyReplicas"] == 3
    evict(world, next(iter(pods(world))))
    world.run_for(1)
    assert len(pods(world)) == 4
    world.run_for(6)
    assert len(pods(world)) == 3
    world.platform.client.patch(REPLICA_SETS, "jobs", "server", {"spec": {"replicas": 1}})
    world.run_for(6)
    assert len(pods(world)) == 1


def test_budget_allows_only_as_many_as_are_healthy_beyond_it():
    """One of three may go; the next one only when the replacement is ready."""
    world = make_world(HALVES, HALVES)
    replica_set(world, 3, {THREE: 1})
    budget(world, minAvailable=2)
    world.run_for(2)
    names = sorted(pods(world))
    assert status(world, DISRUPTION_BUDGETS, "server")["disruptionsAllowed"] == 1
    evict(world, names[0])
    with pytest.raises(Unavailable, match="disruption budget"):
        evict(world, names[1])
    world.run_for(2)
    assert status(world, DISRUPTION_BUDGETS, "server")["disruptionsAllowed"] == 1
    evict(world, names[1])


def test_budget_of_nothing_allows_nothing():
    """Without a matching pod there is nothing to disrupt."""
    world = make_world(HALVES)
    budget(world, maxUnavailable=1)
    world.run_for(1)
    found = status(world, DISRUPTION_BUDGETS, "server")
    assert (found["expectedPods"], found["disruptionsAllowed"]) == (0, 0)
    assert found["observedGeneration"] == 1


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"minAvailable": 2}, 5, 2),
        ({"minAvailable": "50%"}, 5, 3),
        ({"maxUnavailable": 1}, 5, 4),
        ({"maxUnavailable": "30%"}, 5, 3),
        ({"maxUnavailable": 9}, 5, 0),
        ({}, 5, 1),
    ],
)
def test_desired_number_of_healthy_pods(spec, expected, desired):
    """Percentages are rounded up, as Kubernetes does."""
    assert desired_healthy(spec, expected) == desired


def test_finished_pods_go_after_their_time():
    """They stay for a while, so that readers can see how they ended."""
    world = make_world(HALVES, finished_ttl_s=60.0)
    world.submit([task("job", {THREE: 1}, run_s=10.0)])
    world.run_for(65)
    assert list(pods(world)) == ["job"]
    world.run_for(10)
    assert pods(world) == {}


def test_pods_of_a_lost_node_go_with_it():
    """Nothing is left that seems to hold a device."""
    world = make_world(HALVES, nodes=("n1", "n2"))
    world.submit([task("job", {THREE: 1}, run_s=None)])
    world.run_for(5)
    world.platform.client.delete(NODES, None, "n1")
    world.run_for(5)
    assert pods(world) == {}
    assert {p["spec"]["nodeName"] for p in pods(world, "gpu-operator").values()} == {"n2"}
