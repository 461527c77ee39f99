"""The MIG manager: its path to success, its races and its wedges."""

from dataclasses import replace

from autoscaler.ports import CONFIG_MAPS, PODS
from autoscaler.simulation.controllers.config_mount import ConfigMount
from autoscaler.simulation.controllers.operands import DEVICE_PLUGIN, EXPORTER, MIG_MANAGER
from autoscaler.simulation.timing import Span, Timing
from tests.worlds import (
    CONFIG,
    CONFIG_MAP,
    HALVES,
    MIXED,
    ONE,
    OPERATOR,
    PAUSED,
    PLUGIN_SWITCH,
    PROMPT,
    SEVENS,
    START_S,
    STATE,
    THREE,
    TWO,
    add_configuration,
    apply_configuration,
    devices,
    geometries,
    label,
    make_world,
    node,
    operands,
    pod,
    set_labels,
    states_seen,
    task,
)


def test_change_ends_with_the_target_advertised():
    """Pending, then success; the node offers the new instances; labels are back."""
    world = make_world(HALVES, HALVES)
    assert devices(world) == {THREE: 4}
    apply_configuration(world, MIXED, HALVES)
    assert states_seen(world, 200) == ["pending", "success"]
    assert devices(world) == {ONE: 2, TWO: 1, THREE: 3}
    assert label(world, PLUGIN_SWITCH) == "true"
    assert label(world, "nvidia.com/mig-1g.5gb.count") == "2"


def test_pods_on_untouched_gpus_run_on():
    """A job on a GPU that keeps its instances never notices the change."""
    world = make_world(HALVES, HALVES)
    world.submit([task(f"job-{i}", {THREE: 1}, run_s=1000.0) for i in range(4)])
    world.run_for(1)
    # The job of GPU 1 must stay, so only GPU 0 is emptied.
    held = {
        world.devices.of("n1").holder_of(i.uuid): gpu.index
        for gpu in world.hardware.gpus("n1")
        for i in gpu.instances
    }
    for name in (f"job-{i}" for i in range(4)):
        if held[pod(world, name)["metadata"]["uid"]] == 0:
            world.platform.client.delete(PODS, "jobs", name)
    apply_configuration(world, SEVENS, HALVES)
    assert states_seen(world, 200) == ["pending", "success"]
    world.run_for(1000)
    outcomes = sorted(p.outcome for p in world.observer.pods)
    assert outcomes == ["Deleted", "Deleted", "Succeeded", "Succeeded"]
    assert geometries(world)[1] == "3g.20gb@0 3g.20gb@4"


def test_node_advertises_nothing_and_loses_labels_meanwhile():
    """While it runs the product label is gone and nothing is allocatable."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(20)
    assert label(world, STATE) == "pending"
    assert label(world, PLUGIN_SWITCH) == PAUSED
    assert label(world, "nvidia.com/gpu.product") is None
    assert devices(world) == {THREE: 0}
    assert operands(world, DEVICE_PLUGIN) == operands(world, EXPORTER) == []


def test_old_resource_lingers_with_zero():
    """A resource that is no longer there keeps its capacity five minutes, then zero."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(120)
    assert devices(world) == {ONE: 7, THREE: 0}
    assert devices(world, part="capacity") == {ONE: 7, THREE: 2}
    world.run_for(300)
    assert devices(world, part="capacity") == {ONE: 7, THREE: 0}


def test_label_before_the_file_fails_until_it_is_set_again():
    """The mounted file lags; after it has arrived, away and back succeeds."""
    world = make_world(HALVES, timing=replace(PROMPT, config_tick=Span(80, 80)))
    # Right after a refresh the next one is as far away as it can be.
    mount = ConfigMount(world.platform, CONFIG_MAP)
    world.run_until(mount.visible_at_s("n1", START_S) + 1)
    name = add_configuration(world, {"3g.20gb": 1, "2g.10gb": 2})
    set_labels(world, {CONFIG: name, STATE: None})
    assert states_seen(world, 90) == ["failed"]
    set_labels(world, {CONFIG: name})
    assert states_seen(world, 30) == ["failed"]
    set_labels(world, {CONFIG: None})
    world.run_for(1)
    set_labels(world, {CONFIG: name})
    assert states_seen(world, 120) == ["failed", "pending", "success"]
    assert devices(world)[TWO] == 2


def test_equal_node_goes_to_success_without_pending():
    """Another name for what is there stops nothing."""
    world = make_world(HALVES)
    name = add_configuration(world, HALVES, name="as-other")
    world.run_for(120)
    before = operands(world, DEVICE_PLUGIN)
    set_labels(world, {CONFIG: name, STATE: None})
    assert states_seen(world, 30) == ["success"]
    assert operands(world, DEVICE_PLUGIN) == before


def test_changed_content_under_one_name_is_not_noticed():
    """Only the value of the label counts."""
    world = make_world(HALVES)
    name = label(world, CONFIG)
    assert name is not None
    add_configuration(world, SEVENS, name=name)
    world.run_for(600)
    assert geometries(world) == ["3g.20gb@0 3g.20gb@4"]


def test_stuck_client_pod_wedges_the_node_for_ever():
    """State pending and paused labels stay; setting the same value does nothing."""
    world = make_world(HALVES)
    world.faults.stuck_operands.add(("n1", EXPORTER))
    name = apply_configuration(world, SEVENS)
    world.run_for(400)
    world.faults.stuck_operands.clear()
    set_labels(world, {CONFIG: name})
    world.run_for(3600)
    assert label(world, STATE) == "pending"
    assert label(world, PLUGIN_SWITCH) == PAUSED
    assert devices(world) == {THREE: 0}


def test_wedged_node_is_repaired_by_labels_and_away_and_back():
    """Paused labels to true, the label away and back: the run is made anew."""
    world = make_world(HALVES)
    world.faults.stuck_operands.add(("n1", EXPORTER))
    name = apply_configuration(world, SEVENS)
    world.run_for(400)
    world.faults.stuck_operands.clear()
    labels = node(world)["metadata"]["labels"]
    paused = [key for key, value in labels.items() if value == PAUSED]
    assert len(paused) == 5
    set_labels(world, dict.fromkeys(paused, "true") | {CONFIG: None})
    world.run_for(1)
    set_labels(world, {CONFIG: name})
    world.run_for(200)
    assert label(world, STATE) == "success"
    assert devices(world)[ONE] == 7


def test_in_use_instance_fails_and_labels_come_back():
    """The first failure of a process restores the device plugin."""
    world = make_world(HALVES)
    world.submit([task("job", {THREE: 1}, run_s=5000.0)])
    world.run_for(1)
    apply_configuration(world, SEVENS)
    assert states_seen(world, 100) == ["pending", "failed"]
    assert label(world, PLUGIN_SWITCH) == "true"
    assert pod(world, "job")["status"]["phase"] == "Running"


def test_failure_after_a_success_leaves_the_labels_paused():
    """The flag of a process is never reset, so the node stays without device plugin."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(200)
    assert label(world, STATE) == "success"
    world.hardware.gpus("n1")[0].refuses_creation = True
    apply_configuration(world, MIXED)
    world.run_for(300)
    assert label(world, STATE) == "failed"
    assert label(world, PLUGIN_SWITCH) == PAUSED
    assert geometries(world) == ["empty"]


def test_there_and_back_within_a_run_is_forgotten():
    """Only the latest value is remembered, and it equals the one of the run."""
    world = make_world(HALVES)
    name = apply_configuration(world, SEVENS)
    world.run_for(10)
    set_labels(world, {CONFIG: "all-3g.20gb"})
    world.run_for(2)
    set_labels(world, {CONFIG: name})
    assert states_seen(world, 300) == ["pending", "success"]


def test_value_changed_within_a_run_is_applied_after_it():
    """The run ends first, then the next one begins."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(10)
    set_labels(world, {CONFIG: "all-3g.20gb"})
    assert states_seen(world, 300) == ["pending", "success", "pending", "success"]
    assert devices(world)[THREE] == 2


def test_label_removed_within_a_run_ends_in_failed():
    """The next loop reads an empty name, which no file holds."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(10)
    set_labels(world, {CONFIG: None})
    assert states_seen(world, 300) == ["pending", "failed"]
    assert geometries(world)[0].startswith("1g.5gb@0")


def test_restarted_manager_applies_the_label_again():
    """A new process acts on what the label says now, whoever changed the GPU."""
    world = make_world(HALVES)
    gpu = world.hardware.gpus("n1")[0]
    gpu.destroy(gpu.instances[0].id)
    (name,) = operands(world, MIG_MANAGER)
    world.platform.client.delete(PODS, OPERATOR, name)
    assert states_seen(world, 200) == ["success", "pending", "success"]
    assert geometries(world) == ["3g.20gb@0 3g.20gb@4"]


def test_manager_killed_within_a_run_starts_over():
    """The run dies with its pod; the next process finishes what it finds."""
    world = make_world(HALVES)
    apply_configuration(world, SEVENS)
    world.run_for(20)
    (name,) = operands(world, MIG_MANAGER)
    world.platform.client.delete(PODS, OPERATOR, name)
    world.run_for(200)
    assert label(world, STATE) == "success"
    assert devices(world)[ONE] == 7


def test_nobody_answers_without_a_manager():
    """Where it is not deployed the label is just a label."""
    world = make_world(HALVES)
    set_labels(world, {"nvidia.com/gpu.deploy.mig-manager": "false", STATE: None})
    world.run_for(60)
    apply_configuration(world, SEVENS)
    assert states_seen(world, 300) == []
    assert geometries(world) == ["3g.20gb@0 3g.20gb@4"]


def test_broken_file_fails_every_run():
    """One file serves all: what mig-parted cannot read is of use to no node."""
    world = make_world(HALVES)
    data = {"config.yaml": "version: v1\nmig-configs: []\n"}
    world.platform.client.patch(CONFIG_MAPS, OPERATOR, CONFIG_MAP, {"data": data})
    world.run_for(120)
    set_labels(world, {CONFIG: "all-1g.5gb", STATE: None})
    assert states_seen(world, 30) == ["failed"]


def test_mount_that_is_not_refreshed_never_shows_new_names():
    """Until its kubelet catches up every run fails."""
    world = make_world(HALVES)
    world.faults.frozen_mounts.add("n1")
    name = add_configuration(world, {"3g.20gb": 1, "2g.10gb": 2})
    world.run_for(600)
    set_labels(world, {CONFIG: name, STATE: None})
    assert states_seen(world, 30) == ["failed"]
    world.faults.frozen_mounts.clear()
    set_labels(world, {CONFIG: None})
    world.run_for(1)
    set_labels(world, {CONFIG: name})
    assert states_seen(world, 120) == ["failed", "pending", "success"]


def test_run_is_the_same_for_a_seed_and_another_for_another():
    """Times are drawn from the seed alone."""

    def finished_at(seed: int) -> float:
        world = make_world(HALVES, HALVES, timing=Timing(seed=seed))
        apply_configuration(world, SEVENS, MIXED)
        start_s = world.clock.now_s()
        while label(world, STATE) != "success":
            world.run_for(0.1)
        return world.clock.now_s() - start_s

    first = finished_at(1)
    assert first == finished_at(1)
    assert first != finished_at(2)
    assert 30 < first < 180
