"""The scheduler: who goes where, who waits and why, who must make room."""

from dataclasses import replace

from autoscaler.ports import NODES, PODS, PRIORITY_CLASSES
from autoscaler.simulation.controllers.pods import condition
from autoscaler.simulation.controllers.scheduler import SchedulerSettings, Scoring
from autoscaler.simulation.timing import Span
from autoscaler.simulation.workload import pod_body
from autoscaler.simulation.world import PriorityClass
from tests.worlds import (
    HALVES,
    ONE,
    PROMPT,
    SEVENS,
    START_S,
    THREE,
    WHOLE,
    cordon,
    make_world,
    pod,
    pods,
    task,
)


def home(world, name: str) -> str:
    return pod(world, name)["spec"].get("nodeName", "")


def message(world, name: str) -> str:
    scheduled = condition(pod(world, name), "PodScheduled")
    assert scheduled is not None
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
    return scheduled["message"]


def create(world, body) -> None:
    world.platform.client.create(PODS, "jobs", body)


def test_pods_spread_over_the_least_allocated_nodes():
    """The freest node is taken, by name where several are alike."""
    world = make_world(HALVES, nodes=("n1", "n2"))
    world.submit([task(f"job-{i}", {THREE: 1}) for i in range(3)])
    world.run_for(1)
    assert [home(world, f"job-{i}") for i in range(3)] == ["n1", "n2", "n1"]


def test_pods_can_be_packed_instead():
    """With the other scoring the fullest node that fits is taken."""
    packed = SchedulerSettings(scoring=Scoring.MOST_ALLOCATED)
    world = make_world(HALVES, nodes=("n1", "n2"), scheduler=packed)
    world.submit([task(f"job-{i}", {THREE: 1}) for i in range(3)])
    world.run_for(1)
    assert [home(world, f"job-{i}") for i in range(3)] == ["n1", "n1", "n2"]


def test_message_names_every_reason_as_the_real_one_does():
    """Counts of nodes by reason, sorted, with the words on preemption behind."""
    world = make_world(HALVES, nodes=("n1", "n2", "n3"))
    cordon(world, "n3")
    world.submit([task("job", {ONE: 1})])
    world.run_for(1)
    assert message(world, "job") == (
        f"0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient {ONE}. "
        "preemption: 0/3 nodes are available: 2 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_waiting_pod_starts_when_a_device_is_given_back():
    """The end of one job lets the next one in, oldest first."""
    world = make_world({"7g.40gb": 1})
    world.submit([task("first", {WHOLE: 1}, run_s=50.0)])
    world.submit([task(f"job-{i}", {WHOLE: 1}, arrival_s=START_S + 1 + i) for i in range(2)])
    world.run_for(40)
    assert home(world, "job-0") == home(world, "job-1") == ""
    world.run_for(21)
    assert home(world, "job-0") == "n1"
    assert home(world, "job-1") == ""


def test_waiting_pod_starts_when_a_node_is_opened():
    """An uncordon is enough."""
    world = make_world(HALVES)
    cordon(world)
    world.submit([task("job", {THREE: 1})])
    world.run_for(60)
    assert "1 node(s) were unschedulable" in message(world, "job")
    cordon(world, closed=False)
    world.run_for(11)
    assert home(world, "job") == "n1"


def test_selector_affinity_and_taints_are_respected():
    """Each that does not match has its own reason."""
    taint = {"key": "nvidia.com/gpu", "value": "ml", "effect": "NoSchedule"}
    world = make_world(HALVES, taints=(taint,), labels={"zone": "a"})
    world.submit([task("plain", {THREE: 1})])
    tolerant = pod_body(task("tolerant", {THREE: 1}, node_selector={"zone": "a"}))
    toleration = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "ml"}
    tolerant["spec"]["tolerations"] = [toleration]
    elsewhere = pod_body(task("elsewhere", {THREE: 1}))
    term = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    elsewhere["spec"] |= {"tolerations": [toleration], "affinity": {"nodeAffinity": required}}
    create(world, tolerant)
    create(world, elsewhere)
    world.run_for(1)
    assert "1 node(s) had untolerated taint {nvidia.com/gpu: ml}" in message(world, "plain")
    assert "1 node(s) didn't match Pod's node affinity/selector" in message(world, "elsewhere")
    assert home(world, "tolerant") == "n1"


def test_anti_affinity_on_the_host_name_allows_one_a_node():
    """The third of a kind finds no node of its own."""
    world = make_world(HALVES, nodes=("n1", "n2"))
    selector = {"matchLabels": {"app": "server"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    for index in range(3):
        body = pod_body(task(f"server-{index}", {THREE: 1}, labels={"app": "server"}))
        body["spec"]["affinity"] = {"podAntiAffinity": rule}
        create(world, body)
    world.run_for(1)
    assert {home(world, f"server-{i}") for i in range(3)} == {"n1", "n2", ""}
    waiting = next(n for n, p in pods(world).items() if not p["spec"].get("nodeName"))
    assert "2 node(s) didn't match pod anti-affinity rules" in message(world, waiting)


def test_gated_and_foreign_pods_are_left_alone():
    """A gate keeps a pod out of the queue until it is removed."""
    world = make_world(HALVES)
    gated = pod_body(task("gated", {THREE: 1}))
    gated["spec"]["schedulingGates"] = [{"name": "queue"}]
    foreign = pod_body(task("foreign", {THREE: 1}))
    foreign["spec"]["schedulerName"] = "volcano"
    create(world, gated)
    create(world, foreign)
    world.run_for(30)
    assert home(world, "gated") == home(world, "foreign") == ""
    world.platform.client.patch(PODS, "jobs", "gated", {"spec": {"schedulingGates": None}})
    world.run_for(1)
    assert home(world, "gated") == "n1"


def test_important_pod_goes_first():
    """Priority counts before arrival."""
    world = make_world({"7g.40gb": 1}, priority_classes=(PriorityClass("high", 1000),))
    cordon(world)
    world.submit([task("low", {WHOLE: 1})])
    world.submit([task("high", {WHOLE: 1}, arrival_s=START_S + 5, priority_class="high")])
    world.run_for(30)
    cordon(world, closed=False)
    world.run_for(15)
    assert (home(world, "low"), home(world, "high")) == ("", "n1")


def test_preemption_removes_as_few_as_possible_and_keeps_their_place():
    """A victim leaves with its grace; the room is kept for the pod that asked."""
    stop = {"sim.mig-autoscaler.io/stop-seconds": "20"}
    classes = (PriorityClass("high", 1000), PriorityClass("middle", 500))
    world = make_world(HALVES, priority_classes=classes)
    world.submit(
        [
            task("low", {THREE: 1}, run_s=None, annotations=stop),
            task("middle", {THREE: 1}, run_s=None, priority_class="middle"),
            task("high", {THREE: 1}, arrival_s=START_S + 10, priority_class="high"),
            task("late", {THREE: 1}, arrival_s=START_S + 20),
        ]
    )
    world.run_for(25)
    assert pod(world, "low")["metadata"]["deletionTimestamp"]
    assert "deletionTimestamp" not in pod(world, "middle")["metadata"]
    assert pod(world, "high")["status"]["nominatedNodeName"] == "n1"
    world.run_for(20)
    assert home(world, "high") == "n1"
    assert home(world, "late") == ""


def test_pod_that_may_not_preempt_waits():
    """``preemptionPolicy: Never`` is respected."""
    world = make_world({"7g.40gb": 1})
    body = {"metadata": {"name": "polite"}, "value": 1000, "preemptionPolicy": "Never"}
    world.platform.client.create(PRIORITY_CLASSES, None, body)
    world.submit([task("low", {WHOLE: 1}, run_s=None)])
    world.run_for(1)
    world.submit([task("polite", {WHOLE: 1}, priority_class="polite")])
    world.run_for(30)
    assert home(world, "polite") == ""
    assert home(world, "low") == "n1"


def test_retries_pause_longer_each_time_up_to_ten_seconds():
    """A pod that keeps failing is not tried again at once."""
    timing = replace(PROMPT, scheduler_backoff_s=8.0)
    world = make_world(HALVES, timing=timing)
    cordon(world)
    world.submit([task("job", {THREE: 1})])
    world.run_for(1)
    cordon(world, closed=False)
    world.run_for(6)
    assert home(world, "job") == ""
    world.run_for(2)
    assert home(world, "job") == "n1"


def test_new_node_takes_what_waits():
    """A node that joins later is seen, with the devices it comes to offer."""
    world = make_world(SEVENS)
    world.submit([task("job", {"nvidia.com/gpu": 1})])
    world.run_for(5)
    body = {
        "metadata": {"name": "n2"},
        "status": {
            "capacity": {"cpu": "8", "memory": "8Gi", "nvidia.com/gpu": "1"},
        },
    }
    world.platform.client.create(NODES, None, body)
    world.run_for(11)
    assert home(world, "job") == "n2"


def test_extra_filter_keeps_instances_free():
    """Another filter is asked after the usual ones, and its reason is shown."""
    closing = SchedulerSettings(
        extra_filters=(lambda shape, room: "closing" if room.name == "n1" else "",)
    )
    world = make_world(HALVES, nodes=("n1", "n2"), scheduler=closing)
    world.submit([task(f"job-{i}", {THREE: 1}) for i in range(3)])
    world.run_for(1)
    assert [home(world, f"job-{i}") for i in range(3)] == ["n2", "n2", ""]
    assert "1 closing" in message(world, "job-2")


def test_binding_under_way_arrives_after_a_cordon():
    """The node was open when it was chosen, and nobody checks again."""
    world = make_world(HALVES, timing=replace(PROMPT, binding=Span(5, 5)))
    world.submit([task("job", {THREE: 1}), task("other", {THREE: 1}, arrival_s=START_S + 2)])
    world.run_for(1)
    assert home(world, "job") == ""
    cordon(world)
    world.run_for(5)
    assert home(world, "job") == "n1"
    assert home(world, "other") == ""


def test_pod_deleted_before_its_binding_gives_its_place_back():
    """What was taken for it is free for the next one."""
    world = make_world({"7g.40gb": 1}, timing=replace(PROMPT, binding=Span(5, 5)))
    world.submit([task("first", {WHOLE: 1}), task("next", {WHOLE: 1}, arrival_s=START_S + 1)])
    world.run_for(3)
    world.platform.client.delete(PODS, "jobs", "first")
    world.run_for(16)
    assert home(world, "next") == "n1"
