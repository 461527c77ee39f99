"""Random work on nodes of the agent: pods keep their instances, and nodes come back."""

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.cluster.marks import ROLLOUT
from autoscaler.simulation.apiserver.faults import Point
from autoscaler.simulation.timing import Timing
from autoscaler.simulation.world import NODE_AGENT
from tests.agent_worlds import Guard, agent_policy, agent_world
from tests.loops import Replica, annotations, is_closed, kill_at_write
from tests.worlds import HALVES, MIXED, ONE, SEVENS, START_S, THREE, TWO, WHOLE, pods, task

NODES = ("n1", "n2")
# Nothing holds changes back, so there are as many as can be.
EAGER = {
    "planning": {"persistence": "0s", "minGain": 0.0},
    "disruption": {"cooldown": "0s", "budgets": {"nodes": 2, "perHour": 100}},
    "rollout": {"warmUp": "1s", "backoff": "60s"},
}
TASKS = st.lists(
    st.tuples(
        st.sampled_from([ONE, TWO, THREE, WHOLE]),
        st.integers(0, 1500),
        st.integers(60, 900),
    ),
    min_size=1,
    max_size=25,
)
DEATHS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(["replica-1", NODE_AGENT])), max_size=2
)


@settings(max_examples=6, deadline=None)
@given(TASKS, DEATHS, st.integers(0, 5))
def test_pods_keep_their_instances_and_nodes_come_back(tasks, deaths, seed):
    """Whatever comes when, and whoever dies at some write."""
    world = agent_world(MIXED, SEVENS, nodes=NODES, timing=Timing(seed=seed))
    for number, name in deaths:
        kill_at_write(world, number, Point.AFTER_APPLY, name)
    world.submit(
        task(f"job-{i:02d}", {resource: 1}, arrival_s=START_S + at_s, run_s=float(run_s))
        for i, (resource, at_s, run_s) in enumerate(tasks)
    )
    guard = Guard(world)
    Replica(world, agent_policy(**EAGER))
    world.run_for(600)
    Replica(world, agent_policy(**EAGER), name="replica-2")
    world.run_for(4500)
    assert guard.faults == []
    assert [name for name in NODES if is_closed(world, name)] == []
    assert [name for name in NODES if ROLLOUT in annotations(world, name)] == []
    waiting = [p for p in pods(world).values() if p["status"]["phase"] == "Pending"]
    assert waiting == []
    outcomes = {record.outcome for record in world.observer.pods}
    assert outcomes == {"Succeeded"}


def test_the_same_seed_gives_the_same_run():
    """Agents draw their delays from names and seed, as everybody does."""

    def run():
        world = agent_world(HALVES, nodes=NODES, timing=Timing(seed=3))
        world.submit(
            task(f"job-{i}", {(ONE, TWO)[i % 2]: 1}, arrival_s=START_S + 40 * i)
            for i in range(12)
        )
        Replica(world, agent_policy(**EAGER))
        world.run_for(1500)
        return world.observer.pods, world.observer.layouts, world.store.version

    assert run() == run()
