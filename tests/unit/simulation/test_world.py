"""The embedded cluster as a whole: bring-up, fleets, figures."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError, InvariantError
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.ports import PODS
from autoscaler.simulation.controllers.pods import needs_of
from autoscaler.simulation.figures import Sample, Series
from autoscaler.simulation.fleet import Fleet, NodeGroup, build_hardware, numbered
from autoscaler.simulation.timing import Timing
from autoscaler.simulation.world import World, WorldSettings
from tests.worlds import (
    HALVES,
    MIXED,
    ONE,
    SEVENS,
    START_S,
    STATE,
    THREE,
    WHOLE,
    devices,
    geometries,
    label,
    layout,
    make_world,
    task,
)


def test_cluster_is_ready_when_its_run_begins():
    """With ordinary delays every node advertises its GPUs and says success."""
    world = make_world(MIXED, HALVES, nodes=numbered("gpu", 3), timing=Timing(seed=5))
    assert world.clock.now_s() == START_S
    for name in ("gpu-01", "gpu-02", "gpu-03"):
        assert devices(world, name)[THREE] == 3
        assert label(world, STATE, name) == "success"
        assert label(world, "nvidia.com/gpu.product", name) == "NVIDIA-A100-SXM4-40GB"


def test_models_strategies_and_modes_can_be_mixed():
    """Each group has its own; a GPU with MIG off is a whole one."""
    groups = (
        NodeGroup(("a",), "h100-80gb", layout({"1g.10gb": 7}, None)),
        NodeGroup(("b",), "a30-24gb", layout({"2g.12gb": 2}), strategy=Strategy.SINGLE),
    )
    world = World(Fleet(groups), WorldSettings(start_s=START_S))
    assert devices(world, "a") == {"nvidia.com/mig-1g.10gb": 7, "nvidia.com/gpu": 1}
    assert devices(world, "b") == {"nvidia.com/gpu": 2}
    assert label(world, "nvidia.com/mig.config", "b") == "all-2g.12gb"


def test_instances_lie_where_the_driver_would_put_them():
    """The starting layout is made in an order that works, without placements."""
    fleet = Fleet((NodeGroup(("n1",), "a100-40gb", layout(MIXED)),))
    (gpu,) = build_hardware(fleet).gpus("n1")
    assert str(gpu.geometry) == "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"


def test_impossible_fleets_are_refused():
    """A name twice, an unknown model, instances that do not fit."""
    group = NodeGroup(("n1",), "a100-40gb", layout(HALVES))
    with pytest.raises(ConfigError, match="n1 is described twice"):
        Fleet((group, group))
    with pytest.raises(ConfigError, match="v100 is no GPU model"):
        build_hardware(Fleet((NodeGroup(("n1",), "v100", layout(HALVES)),)))
    with pytest.raises(ConfigError, match="cannot hold"):
        build_hardware(Fleet((NodeGroup(("n1",), "a100-40gb", layout({"3g.20gb": 3})),)))


def test_nothing_depends_on_being_scraped():
    """A cluster without Prometheus goes the same way, request by request."""
    worlds = make_world(HALVES), make_world(HALVES, scrapes=None)
    for world in worlds:
        world.submit([task(f"job-{i}", {THREE: 1}, run_s=100.0) for i in range(3)])
        world.run_for(400.0)
    scraped, other = (world.store.requests.entries(is_write) for world in worlds)
    assert len(scraped) > 3
    assert scraped == other
    with pytest.raises(InvariantError, match="no Prometheus"):
        _ = worlds[1].metrics


def is_write(entry):
    """Say whether a request could change something."""
    return entry.mutating


def test_figures_of_a_short_run():
    """Two halves serve three jobs: one waits for 100 s."""
    world = make_world(HALVES)
    world.submit([task(f"job-{i}", {THREE: 1}, run_s=100.0) for i in range(3)])
    world.run_for(250)
    waits = sorted(p.wait_s for p in world.observer.pods)
    assert waits == [0.0, 0.0, 100.0]
    served = world.observer.served_slices(START_S, START_S + 250)
    assert served == pytest.approx(3 * 3 * 100)
    assert world.observer.served_slices(START_S + 150, START_S + 250) == pytest.approx(3 * 50)
    assert world.observer.mean_queue(START_S, START_S + 100) == pytest.approx(1.0)
    assert world.observer.queue.samples == (
        Sample(START_S, Counts({THREE: 1})),
        Sample(START_S + 100, Counts()),
    )
    assert world.observer.layouts["n1"][-1].amounts == Counts({THREE: 2})
    assert geometries(world) == ["3g.20gb@0 3g.20gb@4"]


def test_unserved_pod_has_no_times():
    """It waits to the end, and its outcome says so."""
    world = make_world(HALVES)
    world.submit([task("never", {ONE: 1}), task("whole", {WHOLE: 1}, arrival_s=START_S + 10)])
    world.run_for(100)
    assert [(p.wait_s, p.outcome) for p in world.observer.pods] == [(None, "Pending")] * 2
    assert world.observer.queue.samples[-1].amounts == Counts({ONE: 1, WHOLE: 1})


def test_series_keeps_changes_only():
    """Equal amounts are not repeated; one moment has one sample."""
    series = Series()
    series.add(1.0, {"a": 2})
    series.add(2.0, {"a": 0})
    series.add(3.0, {"a": 2}, -1)
    series.add(3.0, {"b": 1})
    assert series.samples == (Sample(1.0, Counts({"a": 2})), Sample(3.0, Counts({"b": 1})))


def test_needs_of_a_pod_with_helpers():
    """Init containers count by the largest, sidecars beside everything that follows."""

    def container(number: int, **more):
        return {"name": "c", "resources": {"limits": {ONE: str(number)}}, **more}

    pod = {
        "spec": {
            "initContainers": [
                container(1, restartPolicy="Always"),
                container(4),
                container(2),
            ],
            "containers": [container(1), container(2)],
        }
    }
    assert needs_of(pod).devices == ((ONE, 5),)
    plain = {"spec": {"containers": [container(0)]}}
    assert needs_of(plain).devices == ()


def test_pods_of_every_kind_of_quantity_are_understood():
    """Amounts may carry any of the usual suffixes."""
    requests = {"cpu": "1500m", "memory": "2Gi"}
    pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    needs = needs_of(pod)
    assert (needs.cpu_milli, needs.memory_bytes) == (1500, 2 << 30)


def test_requests_of_the_founder_and_the_controllers_can_be_told_apart():
    """The log of the store names who wrote."""
    world = make_world(SEVENS)
    world.client("someone").list(PODS)
    agents = {entry.user_agent for entry in world.store.requests.entries()}
    assert agents == {"kubectl", "simulation", "someone"}
    assert world.store.requests.num_mutating("someone") == 0
