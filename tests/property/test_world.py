"""What must hold in the embedded cluster whatever is done to it."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.mig.geometry import Geometry
from autoscaler.ports import PODS
from autoscaler.simulation.timing import Timing
from autoscaler.simulation.world import World
from tests.worlds import (
    CONFIG,
    HALVES,
    MIXED,
    ONE,
    OPERATOR,
    SEVENS,
    START_S,
    STATE,
    THREE,
    TWO,
    WHOLE,
    add_configuration,
    cordon,
    make_world,
    operands,
    pods,
    set_labels,
    task,
)

NODES = ("n1", "n2")
LAYOUTS = ((HALVES, HALVES), (SEVENS, HALVES), (MIXED, SEVENS), ({"7g.40gb": 1}, MIXED))

TASKS = st.lists(
    st.tuples(
        st.sampled_from([ONE, TWO, THREE, WHOLE]),
        st.integers(0, 900),
        st.integers(1, 600),
        st.booleans(),
    ),
    max_size=25,
)
ACTIONS = st.lists(
    st.tuples(
        st.integers(0, 900),
        st.sampled_from(["label", "clear", "cordon", "open", "evict", "manager"]),
        st.sampled_from(NODES),
        st.integers(0, len(LAYOUTS) - 1),
    ),
    max_size=8,
)


def act(world: World, action: str, node: str, choice: int) -> None:
    """Do one thing that people or programs do to a cluster."""
    client = world.platform.client
    if action == "label":
        name = add_configuration(world, *LAYOUTS[choice])
        set_labels(world, {CONFIG: name, STATE: None}, node)
    elif action == "clear":
        set_labels(world, {CONFIG: None}, node)
    elif action in {"cordon", "open"}:
        cordon(world, node, closed=action == "cordon")
    elif action == "evict":
        for name in sorted(pods(world))[:1]:
            client.post(PODS, "jobs", name, "eviction", {"metadata": {"name": name}})
    else:
        for name in operands(world, "nvidia-mig-manager")[:1]:
            client.delete(PODS, OPERATOR, name)


def run(tasks, actions, seed: int = 1) -> World:
    world = make_world(HALVES, HALVES, nodes=NODES, timing=Timing(seed=seed))
    world.submit(
        task(
            f"job-{number:02d}",
            {resource: 1},
            arrival_s=START_S + at_s,
            run_s=float(run_s),
            as_job=as_job,
        )
        for number, (resource, at_s, run_s, as_job) in enumerate(tasks)
    )
    for at_s, action, node, choice in sorted(actions):
        world.run_until(START_S + at_s)
        act(world, action, node, choice)
        check_devices(world)
    for _ in range(6):
        world.run_for(300)
        check_devices(world)
    return world


def check_devices(world: World) -> None:
    """No overlapping instances; no device held twice; processes only of their holders."""
    for node in NODES:
        for gpu in world.hardware.gpus(node):
            # A geometry refuses overlapping instances when it is made.
            assert isinstance(gpu.geometry, Geometry)
    held = Counter()
    bound = [pod for pod in pods(world).values() if pod["spec"].get("nodeName")]
    for pod in bound:
        devices = world.devices.of(pod["spec"]["nodeName"]).devices_of(pod["metadata"]["uid"])
        held.update(devices)
        if pod["status"]["phase"] == "Running":
            assert len(devices) == 1
            gpu = world.hardware.gpu_of(pod["spec"]["nodeName"], devices[0])
            assert gpu is not None
            assert gpu.is_in_use(devices[0])
    assert all(number == 1 for number in held.values())


@settings(max_examples=25)
@given(TASKS, ACTIONS)
def test_pods_are_conserved_and_devices_are_held_once(tasks, actions):
    """Every pod that was created exists or has ended, once; nothing is held for the dead."""
    world = run(tasks, actions)
    records = world.observer.pods
    alive = {name for name, pod in pods(world).items() if pod["status"]["phase"] in LIVING}
    assert {record.name for record in records if record.ended_s is None} == alive
    assert len({record.name for record in records}) == len(records)
    started = {record.task for record in records}
    assert started == {f"job-{number:02d}" for number in range(len(tasks))}
    for record in records:
        times = [record.submitted_s, record.bound_s, record.started_s, record.ended_s]
        known = [time_s for time_s in times if time_s is not None]
        assert known == sorted(known)
        if record.outcome == "Succeeded":
            number = int(record.task.removeprefix("job-"))
            assert record.ended_s - record.started_s == tasks[number][2]


LIVING = {"Pending", "Running"}


@settings(max_examples=5)
@given(TASKS, ACTIONS, st.integers(0, 3))
def test_same_seed_gives_the_same_run(tasks, actions, seed):
    """Every pod's times and every node's layouts are equal."""
    first, second = run(tasks, actions, seed), run(tasks, actions, seed)
    assert first.observer.pods == second.observer.pods
    assert first.observer.layouts == second.observer.layouts
    assert first.store.version == second.store.version
