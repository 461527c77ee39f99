"""Kubelet: admission, the life of pods, and what it believes about devices."""

from dataclasses import replace

import pytest

from autoscaler.ports import NODES, PODS
from autoscaler.simulation.controllers.devices import DeviceManager, DevicesUnavailable
from autoscaler.simulation.controllers.operands import DEVICE_PLUGIN
from autoscaler.simulation.controllers.pods import EXIT, PROCESS, STOP_SECONDS
from autoscaler.simulation.timing import Span
from autoscaler.simulation.workload import pod_body
from tests.worlds import (
    HALVES,
    ONE,
    OPERATOR,
    PLUGIN_SWITCH,
    PROMPT,
    SEVENS,
    START_S,
    STATE,
    THREE,
    apply_configuration,
    cordon,
    devices,
    geometries,
    label,
    make_world,
    node,
    operands,
    pod,
    pods,
    set_labels,
    task,
)


def bind(world, name: str, requests, **changes) -> None:
    """Create a pod that is bound already, as if it had slipped past a cordon."""
    body = pod_body(task(name, requests, **changes))
    body["spec"]["nodeName"] = "n1"
    world.platform.client.create(PODS, "jobs", body)


def test_pod_runs_for_its_time_and_gives_its_device_back():
    """It starts after its delay, succeeds after its run time, and frees the device."""
    world = make_world(HALVES, timing=replace(PROMPT, pod_start=Span(2, 2)))
    world.submit([task("job", {THREE: 1}, run_s=100.0)])
    world.run_for(3)
    assert pod(world, "job")["status"]["phase"] == "Running"
    manager = world.devices.of("n1")
    uid = pod(world, "job")["metadata"]["uid"]
    (device,) = manager.devices_of(uid)
    assert world.hardware.gpu_of("n1", device).is_in_use(device)
    world.run_for(100)
    assert pod(world, "job")["status"]["phase"] == "Succeeded"
    assert manager.devices_of(uid) == ()
    (times,) = world.observer.pods
    assert (times.bound_s, times.started_s, times.ended_s) == (
        START_S,
        START_S + 2,
        START_S + 102,
    )


def test_pod_without_its_device_is_rejected_for_good():
    """Bound while the device plugin is away: UnexpectedAdmissionError, which is final."""
    world = make_world(HALVES)
    set_labels(world, {PLUGIN_SWITCH: "paused-for-mig-change"})
    world.run_for(60)
    assert devices(world) == {THREE: 0}
    bind(world, "late", {THREE: 1})
    world.run_for(1)
    status = pod(world, "late")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "UnexpectedAdmissionError")
    assert "Requested: 1, Available: 0" in status["message"]


def test_node_without_cpu_rejects_a_pod():
    """Ordinary resources are checked as well."""
    world = make_world(HALVES, cpu=4)
    bind(world, "large", {}, cpu_milli=8000)
    world.run_for(1)
    assert pod(world, "large")["status"]["reason"] == "OutOfcpu"


def test_pod_that_heeds_the_signal_ends_before_its_grace_is_over():
    """The pod object stays until the pod has ended."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=None, annotations={STOP_SECONDS: "12"})])
    world.run_for(5)
    world.platform.client.delete(PODS, "jobs", "job")
    world.run_for(11)
    assert pod(world, "job")["metadata"]["deletionTimestamp"]
    world.run_for(2)
    assert pods(world) == {}
    assert not any(gpu.is_in_use(d) for gpu in world.hardware.gpus("n1") for d in gpu.devices)


def test_pod_that_ignores_the_signal_is_killed_when_its_grace_is_over():
    """The grace period of 30 s is the limit."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=None, annotations={STOP_SECONDS: "500"})])
    world.run_for(5)
    world.platform.client.delete(PODS, "jobs", "job")
    world.run_for(29)
    assert list(pods(world)) == ["job"]
    world.run_for(2)
    assert pods(world) == {}


def test_stuck_pod_ends_when_the_fault_is_cleared():
    """A pod that cannot be killed holds its device until then."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=None)])
    world.run_for(5)
    world.faults.stuck_pods.add("jobs/job")
    world.platform.client.delete(PODS, "jobs", "job")
    world.run_for(300)
    assert list(pods(world)) == ["job"]
    world.faults.stuck_pods.clear()
    world.run_for(2)
    assert pods(world) == {}


def test_program_may_fail():
    """An exit code other than zero is a failed pod."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, annotations={EXIT: "1"})])
    world.run_for(101)
    assert pod(world, "job")["status"]["phase"] == "Failed"


def test_holder_without_process_does_not_save_its_instance():
    """Its instance is destroyed under it, and it fails in the end."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=600.0, annotations={PROCESS: "false"})])
    world.run_for(1)
    apply_configuration(world, SEVENS)
    world.run_for(200)
    assert label(world, STATE) == "success"
    assert geometries(world)[0].startswith("1g.5gb@0")
    assert pod(world, "job")["status"]["phase"] == "Running"
    world.run_for(400)
    assert pod(world, "job")["status"]["phase"] == "Failed"


def test_plugin_that_saw_old_instances_hands_out_what_is_gone():
    """Containers cannot be created on devices that no longer exist."""
    world = make_world(HALVES)
    for instance in world.hardware.gpus("n1")[0].instances:
        world.hardware.gpus("n1")[0].destroy(instance.id)
    world.submit([task("job", {THREE: 1}, arrival_s=START_S + 1)])
    world.run_for(5)
    status = pod(world, "job")["status"]
    assert status["phase"] == "Pending"
    waiting = status["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerError"


def test_silent_kubelet_turns_the_node_unknown_and_catches_up():
    """Nothing starts or ends on the node meanwhile."""
    world = make_world(HALVES)
    world.faults.not_ready.add("n1")
    world.run_for(1)
    ready = [c for c in node(world)["status"]["conditions"] if c["type"] == "Ready"]
    assert ready[0]["status"] == "Unknown"
    bind(world, "job", {THREE: 1})
    world.run_for(30)
    assert pod(world, "job")["status"]["phase"] == "Pending"
    world.faults.not_ready.clear()
    world.run_for(1)
    assert pod(world, "job")["status"]["phase"] == "Running"


def test_cordon_does_not_keep_the_device_plugin_away():
    """DaemonSet pods come back on a cordoned node; a foreign taint keeps them away."""
    world = make_world(HALVES)
    cordon(world)
    (name,) = operands(world, DEVICE_PLUGIN)
    world.platform.client.delete(PODS, OPERATOR, name)
    world.run_for(40)
    assert len(operands(world, DEVICE_PLUGIN)) == 1
    taint = {"key": "example.com/own", "effect": "NoSchedule"}
    world.platform.client.patch(NODES, None, "n1", {"spec": {"taints": [taint]}})
    world.run_for(60)
    assert operands(world, DEVICE_PLUGIN) == []
    assert devices(world) == {THREE: 0}


def test_unhealthy_devices_stay_out_until_the_plugin_restarts():
    """Allocatable is less than capacity."""
    world = make_world(HALVES, HALVES)
    world.faults.unhealthy_gpus.add(("n1", 0))
    (name,) = operands(world, DEVICE_PLUGIN)
    world.platform.client.delete(PODS, OPERATOR, name)
    world.run_for(60)
    assert devices(world) == {THREE: 2}
    assert devices(world, part="capacity") == {THREE: 4}


def test_devices_are_given_whole_or_not_at_all():
    """A pod of two resources gets none when one of them is short."""
    manager = DeviceManager(seed=1, grace_s=300)
    manager.register({ONE: ["a"], THREE: ["b", "c"]})
    with pytest.raises(DevicesUnavailable, match="Requested: 3, Available: 2"):
        manager.allocate("pod", [(ONE, 1), (THREE, 3)])
    assert manager.devices_of("pod") == ()
    manager.allocate("pod", [(ONE, 1), (THREE, 2)])
    assert sorted(manager.devices_of("pod")) == ["a", "b", "c"]
    with pytest.raises(DevicesUnavailable, match="unregistered"):
        manager.allocate("other", [("nvidia.com/mig-2g.10gb", 1)])


def test_stopped_plugin_keeps_its_capacity_for_a_while():
    """Allocatable drops at once, capacity after the grace, and the key stays."""
    manager = DeviceManager(seed=1, grace_s=300)
    manager.register({ONE: ["a", "b"]})
    manager.allocate("pod", [(ONE, 1)])
    manager.stop(1000.0)
    assert manager.amounts() == {ONE: (2, 0)}
    assert manager.next_due_s() == 1300.0
    assert not manager.forget_due(1299.0)
    assert manager.forget_due(1300.0)
    assert manager.amounts() == {ONE: (0, 0)}
    manager.register({ONE: ["b", "c"]})
    assert manager.amounts() == {ONE: (2, 2)}
    assert manager.next_due_s() is None
