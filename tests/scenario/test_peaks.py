"""A peak that is announced half an hour ahead finds its instances ready."""

from datetime import UTC, datetime

import pytest

from autoscaler.domain.cluster.marks import PEAK
from autoscaler.ports import NAMESPACES
from autoscaler.simulation.apiserver.resources import CRON_JOBS
from autoscaler.simulation.timing import Timing
from tests.loops import Replica, auto_policy, is_closed, world_with_namespace
from tests.worlds import HALVES, ONE, SEVENS, START_S, THREE, devices, pods, task

NODES = ("n1", "n2")
# Half an hour after the start, at a full minute: 22:44 on a Tuesday.
PEAK_S = START_S + 1840.0
AMOUNT = 4


def clock(at_s):
    """Return a time of day in UTC."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%H:%M")


def make_world(gpu=SEVENS):
    """Return two idle nodes of one GPU with ordinary delays, in small instances if not told."""
    return world_with_namespace(gpu, nodes=NODES, timing=Timing(seed=11))


def by_policy(world):
    """Announce the peak in the policy."""
    span = {"start": clock(PEAK_S), "end": clock(PEAK_S + 7200)}
    peak = {"name": "release", **span, "profiles": {"3g.20gb": AMOUNT}}
    return auto_policy(demand={"scheduled": (peak,)})


def by_namespace(world):
    """Announce it on the namespace of the jobs, once."""
    times = [datetime.fromtimestamp(s, UTC).isoformat() for s in (PEAK_S, PEAK_S + 7200)]
    text = f"3g.20gb={AMOUNT} {times[0]}/{times[1]}"
    body = {"metadata": {"annotations": {PEAK: text}}}
    world.platform.client.patch(NAMESPACES, None, "jobs", body)
    return auto_policy()


def by_cron_job(world):
    """Have a CronJob whose next run asks for the instances."""
    limits = {"cpu": "1", THREE: "1"}
    container = {"name": "main", "image": "busybox", "resources": {"limits": limits}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"spec": {"parallelism": AMOUNT, "completions": AMOUNT, "template": template}}
    hour, minute = clock(PEAK_S).split(":")
    spec = {"schedule": f"{int(minute)} {int(hour)} * * *", "jobTemplate": job}
    body = {"metadata": {"name": "nightly", "namespace": "jobs"}, "spec": spec}
    world.platform.client.create(CRON_JOBS, "jobs", body)
    return auto_policy()


def nobody(world):
    """Announce nothing."""
    return auto_policy()


def ready(world):
    """Return how many instances for the peak are there, on nodes that are open."""
    offered = (devices(world, name) for name in NODES if not is_closed(world, name))
    return sum(own.get(THREE, 0) for own in offered)


def waits_s(world):
    """Return how long each pod of the peak waited for a node, in whole seconds."""
    found = []
    for pod in pods(world).values():
        conditions = pod["status"].get("conditions") or []
        bound = [c for c in conditions if (c["type"], c["status"]) == ("PodScheduled", "True")]
        times = (pod["metadata"]["creationTimestamp"], bound[0]["lastTransitionTime"])
        start, end = (datetime.fromisoformat(text) for text in times)
        found.append((end - start).total_seconds())
    return found


def run_peak(announce):
    """Return a world in which the peak came, as announced, and how many were ready."""
    world = make_world()
    replica = Replica(world, announce(world))
    world.run_until(PEAK_S)
    there = ready(world)
    world.submit(
        [task(f"peak-{i}", {THREE: 1}, arrival_s=PEAK_S, run_s=3600.0) for i in range(AMOUNT)]
    )
    world.run_until(PEAK_S + 120)
    return world, replica, there


@pytest.mark.parametrize("announce", [by_policy, by_namespace, by_cron_job])
def test_a_peak_announced_half_an_hour_ahead_finds_its_instances_ready(announce):
    """Both nodes are re-cut, one after the other, before anyone asks."""
    world, _, there = run_peak(announce)
    assert there == AMOUNT
    assert max(waits_s(world)) <= 1


def test_without_an_announcement_the_pods_of_the_peak_wait():
    """So it is the announcement that makes the difference."""
    world, _, there = run_peak(nobody)
    assert there == 0
    assert all(pod["spec"].get("nodeName") is None for pod in pods(world).values())


def test_nothing_is_cut_again_while_the_peak_lasts():
    """Its pods are part of it: they are not asked for a second time."""
    world, replica, _ = run_peak(by_policy)
    world.run_until(PEAK_S + 1800)
    assert len(replica.records) == len(NODES)
    assert ready(world) == AMOUNT


def test_a_peak_gives_way_to_pods_that_wait():
    """Instances that are there for it are cut for pods that can have no other."""
    world = make_world(HALVES)
    world.submit([task(f"small-{i}", {ONE: 1}, run_s=None) for i in range(14)])
    replica = Replica(world, by_policy(world))
    world.run_until(PEAK_S)
    assert len(replica.records) == len(NODES)
    assert all(pod["spec"].get("nodeName") for pod in pods(world).values())
