"""Field cases of changes that go wrong: MIG manager, kubelet, and other people."""

import pytest

from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result
from autoscaler.ports import NODES, PODS
from autoscaler.simulation.controllers.operands import EXPORTER
from autoscaler.simulation.prometheus_server import PrometheusServer
from tests.loops import (
    Replica,
    annotations,
    auto_policy,
    create_pod,
    is_closed,
    metrics_of,
    mutations,
    world_with_namespace,
)
from tests.worlds import (
    CONFIG,
    HALVES,
    ONE,
    PAUSED,
    PLUGIN_SWITCH,
    SEVENS,
    STATE,
    THREE,
    devices,
    label,
    pod,
    set_labels,
    task,
)

SMALL, LARGE = "all-1g.5gb", "all-3g.20gb"
MANAGER_SWITCH = "nvidia.com/gpu.deploy.mig-manager"
NVIDIA = {"runtimeClassName": "nvidia"}


def rolling_world(*gpus, until_s=0, policy=None, **changes):
    """Return a node with small jobs waiting and the loop that changes it for them."""
    world = world_with_namespace(*(gpus or (HALVES,)), **changes)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90000.0) for i in range(7)])
    replica = Replica(world, policy or auto_policy())
    world.run_for(until_s)
    return world, replica


def quarantine_of(world, name="n1"):
    """Return the quarantine on a node."""
    return Quarantine.from_text(annotations(world, name)["mig-autoscaler.io/quarantine"])


def wait_for_record(world, replica):
    """Let the world go on until the first rollout has ended."""
    for _ in range(300):
        if replica.records:
            return
        world.run_for(30)
    raise AssertionError("no rollout has ended")


def test_e01_a_wedged_manager_is_repaired_once_the_pod_ends():
    """The paused operands come back, the label goes away and back, the rest succeeds."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90000.0) for i in range(7)])
    world.faults.stuck_operands.add(("n1", EXPORTER))
    replica = Replica(world, auto_policy())
    world.run_for(1700)
    assert (label(world, STATE), label(world, PLUGIN_SWITCH)) == ("pending", PAUSED)
    world.faults.stuck_operands.clear()
    world.run_for(1500)
    assert "repairing" in replica.states()
    assert [r.result for r in replica.records] == [Result.DONE]
    assert (devices(world)[ONE], is_closed(world)) == (7, False)


def test_e01_a_manager_that_stays_wedged_leads_back():
    """Nothing was cut yet, so the previous configuration is there again at once."""
    world = world_with_namespace(HALVES, nodes=("n1", "n2"))
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90000.0) for i in range(7)])
    world.faults.stuck_operands.add(("n1", EXPORTER))
    replica = Replica(world, auto_policy(disruption={"budgets": {"nodes": 2, "perHour": 9}}))
    wait_for_record(world, replica)
    record = replica.records[0]
    assert (record.node, record.result) == ("n1", Result.ROLLED_BACK)
    assert not [o for o in replica.outcomes[:-1] if "n2" in o.journals]
    assert (label(world, CONFIG), is_closed(world)) == (LARGE, False)
    assert quarantine_of(world).attempt == 1
    assert {n: k for n, k in devices(world).items() if k} == {THREE: 2}


def test_e02_pods_that_asked_for_nothing_are_waited_for():
    """A pod of the NVIDIA runtime class may use any GPU of the node."""
    world, replica = rolling_world(until_s=40)
    create_pod(world, "dbg-0", node="n1", owner=("ReplicaSet", "dbg"), **NVIDIA)
    world.run_for(400)
    assert replica.states() == ["closed", "draining"] or replica.states() == ["draining"]
    assert "jobs/dbg-0" in replica.outcomes[-1].progress[0].wait.message
    assert label(world, CONFIG) == LARGE
    world.platform.client.delete(PODS, "jobs", "dbg-0")
    world.run_for(400)
    assert [r.result for r in replica.records] == [Result.DONE]


def test_e02_a_daemon_set_that_uses_gpus_ends_the_rollout_by_name():
    """It would never leave, so nothing waits for it."""
    world, replica = rolling_world(until_s=40)
    create_pod(world, "node-stats-x1", node="n1", owner=("DaemonSet", "node-stats"), **NVIDIA)
    world.run_for(60)
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert "node-stats-x1" in replica.records[0].message
    assert (is_closed(world), label(world, CONFIG)) == (False, LARGE)


def test_e02_boards_in_use_by_nobody_known_end_in_quarantine():
    """No blind retry, no further drain; what is left of the node may be used."""
    world, replica = rolling_world()
    gpu = world.hardware.gpus("n1")[0]
    gpu.open_process(gpu.instances[-1].uuid, "ghost")
    wait_for_record(world, replica)
    assert replica.records[0].result is Result.QUARANTINED
    evicted = {r.name for r in mutations(world) if r.subresource == "eviction"}
    assert evicted <= {name for name in evicted if name.startswith("nvidia-mig-manager")}
    assert quarantine_of(world).result is Result.QUARANTINED
    assert (is_closed(world), devices(world)[THREE]) == (False, 1)


def test_e03_e04_gpus_without_mig_mode_keep_it_off():
    """Turning it on clears every GPU of the node; that is for people."""
    world, replica = rolling_world(None, HALVES)
    world.run_for(400)
    record = replica.records[0]
    assert record.result is Result.DONE
    assert [gpu.mig_enabled for gpu in world.hardware.gpus("n1")] == [False, True]
    assert {n: k for n, k in devices(world).items() if k} == {"nvidia.com/gpu": 1, ONE: 7}


def test_e05_a_kubelet_that_stops_during_the_change_is_normal():
    """Nothing is evicted, nothing undone; it is waited for."""
    world, replica = rolling_world(until_s=155)
    world.faults.not_ready.add("n1")
    world.run_for(200)
    assert replica.states()[-1] == "applying"
    assert replica.records == []
    world.faults.not_ready.clear()
    world.run_for(200)
    assert [r.result for r in replica.records] == [Result.DONE]


def test_e07_nobody_answers_the_label():
    """After five minutes the label reads as before and the node is open."""
    world, replica = rolling_world(until_s=40)
    set_labels(world, {MANAGER_SWITCH: "false"})
    world.run_for(500)
    assert [r.result for r in replica.records] == [Result.NO_RESPONSE]
    assert (label(world, CONFIG), is_closed(world)) == (LARGE, False)
    assert quarantine_of(world).reason == "NoMigManager"


def test_e08_pods_that_cannot_start_after_the_change_close_the_node_again():
    """And it is left alone, and no other node is cut for the same pods."""
    world, replica = rolling_world()
    world.run_for(300)
    assert [r.result for r in replica.records] == [Result.DONE]
    waiting = {"waiting": {"reason": "CreateContainerError"}}
    for name in ("job-0", "job-1", "job-2"):
        status = {"name": "main", "state": waiting, "ready": False, "image": "", "imageID": ""}
        body = {"status": {"phase": "Pending", "containerStatuses": [status]}}
        world.platform.client.patch(PODS, "jobs", name, body, "status")
    world.run_for(60)
    assert is_closed(world)
    assert quarantine_of(world).reason == "StartFailures"


@pytest.mark.parametrize("at_s", [160, 200])
def test_e09_a_foreign_value_is_accepted_and_the_node_left_alone(at_s):
    """Two writers would cut the node for ever."""
    world, replica = rolling_world(until_s=at_s)
    set_labels(world, {CONFIG: "all-2g.10gb"})
    world.run_for(1500)
    assert [r.result for r in replica.records] == [Result.FOREIGN]
    assert (label(world, CONFIG), is_closed(world)) == ("all-2g.10gb", False)
    assert devices(world)["nvidia.com/mig-2g.10gb"] == 3
    entry = quarantine_of(world)
    assert (entry.reason, entry.until_s - entry.since_s) == ("ForeignConfig", 86400.0)


def test_e10_a_second_owner_that_appears_ends_the_rollout():
    """Before the label everything can be undone."""
    world, replica = rolling_world(until_s=40)
    body = {"metadata": {"annotations": {"hami.io/node-nvidia-register": "x"}}}
    world.platform.client.patch(NODES, None, "n1", body)
    world.run_for(60)
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert replica.records[0].message.startswith("TwoOwners")
    assert set(annotations(world)) == {"hami.io/node-nvidia-register"}


def test_e11_a_young_node_is_left_alone():
    """Nothing starts within the warm-up."""
    policy = auto_policy(rollout={"warmUp": "10m"})
    world, replica = rolling_world(until_s=250, policy=policy)
    assert not replica.outcomes[-1].journals
    assert "WarmingUp" in {h.reason.value for h in replica.outcomes[-1].view.snapshot.holds}
    world.run_for(500)
    assert [r.result for r in replica.records] == [Result.DONE]


def test_e13_a_binding_that_arrives_after_the_cordon_is_waited_for():
    """The API server does not refuse it; the label waits until the job is over."""
    world, replica = rolling_world(until_s=32)
    assert is_closed(world)
    create_pod(world, "late-0", node="n1", requests={THREE: 1}, owner=("Job", "late"))
    world.run_for(500)
    assert replica.outcomes[-1].progress[0].wait.reason.value == "DeviceHolders"
    assert (label(world, CONFIG), pod(world, "late-0")["status"]["phase"]) == (LARGE, "Running")
    world.platform.client.delete(PODS, "jobs", "late-0")
    world.run_for(300)
    assert [r.result for r in replica.records] == [Result.DONE]


def test_e13_a_job_that_outlives_the_limit_ends_the_rollout():
    """The node is open again, the job ran on, and the node rests."""
    world, replica = rolling_world(until_s=32)
    create_pod(world, "late-0", node="n1", requests={THREE: 1}, owner=("Job", "late"))
    world.run_for(1300)
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert "jobs/late-0" in replica.records[0].message
    assert (is_closed(world), label(world, CONFIG)) == (False, LARGE)
    assert pod(world, "late-0")["status"]["phase"] == "Running"


def test_a_pod_on_another_gpu_runs_on_when_metrics_prove_where_it_sits():
    """Only the GPU that changes must be empty."""
    world = world_with_namespace(HALVES, SEVENS)
    for index in range(7):
        create_pod(world, f"old-{index}", requests={ONE: 1}, owner=("ReplicaSet", "old"))
    with PrometheusServer(world.metrics.api) as server:
        world.run_for(60)
        world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
        replica = Replica(world, auto_policy(), metrics=metrics_of(world, server))
        world.run_for(600)
    assert [r.result for r in replica.records] == [Result.DONE]
    assert devices(world)[ONE] == 14
    assert {pod(world, f"old-{i}")["status"]["phase"] for i in range(7)} == {"Running"}


def test_without_metrics_such_a_node_is_not_labelled():
    """A label proves where a pod sits; without it the whole node must be empty."""
    world = world_with_namespace(HALVES, SEVENS)
    for index in range(7):
        create_pod(world, f"old-{index}", requests={ONE: 1}, owner=("ReplicaSet", "old"))
    world.run_for(60)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
    replica = Replica(world, auto_policy())
    world.run_for(600)
    assert not [r for r in replica.records if r.result is Result.DONE]
    assert {n: k for n, k in devices(world).items() if k} == {THREE: 2, ONE: 7}
