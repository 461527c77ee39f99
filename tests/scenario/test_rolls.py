"""The loop on an embedded cluster: what it does in each mode, and what survives."""

from functools import cache

import pytest

from autoscaler.control.outcome import Decision
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import CONFIG_MAPS, PODS
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.controllers.operands import EXPORTER
from tests.loops import (
    NAMESPACE,
    STATUS,
    Replica,
    annotate,
    annotations,
    auto_policy,
    is_closed,
    kill_at_write,
    mutations,
    status_of,
    world_with_namespace,
)
from tests.worlds import (
    CONFIG,
    HALVES,
    ONE,
    THREE,
    devices,
    label,
    pods,
    task,
)

SMALL, LARGE = "all-1g.5gb", "all-3g.20gb"


def small_jobs(number=7, run_s=5000.0):
    """Return pods that ask for the smallest instances."""
    return [task(f"job-{i}", {ONE: 1}, run_s=run_s) for i in range(number)]


def waiting_world(nodes=("n1",), number=7):
    """Return nodes cut in halves, with small jobs waiting for seven pieces."""
    world = world_with_namespace(HALVES, nodes=nodes)
    world.submit(small_jobs(number))
    return world


def phases(world):
    """Return how many pods are in each phase."""
    found = [p["status"]["phase"] for p in pods(world).values()]
    return {phase: found.count(phase) for phase in sorted(set(found))}


def end_of(world, name="n1"):
    """Return what must be the same, however often the product died on the way."""
    offered = {key: n for key, n in devices(world, name).items() if n}
    foreign = {k for k in annotations(world, name) if not k.startswith("mig-autoscaler.io/")}
    return (
        label(world, CONFIG, name),
        offered,
        is_closed(world, name),
        annotations(world, name).get("mig-autoscaler.io/rollout"),
        foreign,
        phases(world),
    )


def test_a_node_is_recut_for_waiting_pods():
    """They run, the node is open, and nothing of the rollout is left on it."""
    world = waiting_world()
    replica = Replica(world, auto_policy())
    world.run_for(400)
    assert end_of(world) == (SMALL, {ONE: 7}, False, None, set(), {"Running": 7})
    assert [r.result for r in replica.records] == [Result.DONE]
    assert replica.outcomes[-1].decision is Decision.UNCHANGED


@pytest.mark.parametrize("mode", [Mode.DRY_RUN, Mode.OFF])
def test_modes_that_only_look_send_not_one_mutating_request(mode):
    """No Lease, no status, no Event, no dry-run write either."""
    world = waiting_world()
    replica = Replica(world, auto_policy(mode))
    world.run_for(300)
    assert mutations(world) == []
    assert len(replica.outcomes) == 11
    proposed = replica.outcomes[0].plan
    assert (proposed is not None and bool(proposed.changes)) is (mode is Mode.DRY_RUN)


def test_recommend_writes_only_its_own_objects():
    """Its Lease, its status, and Events; never a node or a pod."""
    world = waiting_world()
    Replica(world, auto_policy(Mode.RECOMMEND))
    world.run_for(300)
    touched = {(r.resource, r.name) for r in mutations(world) if r.resource != "events"}
    assert touched == {
        ("leases", ""),
        ("leases", "mig-autoscaler-recommend"),
        ("configmaps", ""),
        ("configmaps", STATUS),
    }
    assert any(r.resource == "events" for r in mutations(world))
    assert status_of(world)["plan"]["changes"] == 1


def test_a_person_can_apply_beside_recommend():
    """The two hold different Leases."""
    world = waiting_world()
    Replica(world, auto_policy(Mode.RECOMMEND), name="watcher")
    actor = Replica(world, auto_policy(), name="actor")
    world.run_for(400)
    assert [r.result for r in actor.records] == [Result.DONE]


def test_of_two_replicas_one_acts_and_the_other_takes_over_when_it_dies():
    """At no time do both write nodes."""
    world = waiting_world()
    first = Replica(world, auto_policy())
    second = Replica(world, auto_policy(), name="replica-2")
    world.run_for(100)
    assert second.outcomes[-1].decision is Decision.NOT_LEADER
    first.is_alive = False
    world.run_for(500)
    assert end_of(world)[:4] == (SMALL, {ONE: 7}, False, None)
    assert not [r for r in mutations(world, "replica-2") if r.at_s < world.clock.now_s() - 500]


@cache
def undisturbed():
    """Return the end of a run without a death, and the number of its writes."""
    world = waiting_world()
    Replica(world, auto_policy())
    world.run_for(900)
    return end_of(world), len(
        [r for r in mutations(world) if r.at_s < world.clock.now_s() - 500]
    )


@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("number", range(36))
def test_a_death_at_any_write_leads_to_the_same_end(number, point):
    """Another replica goes on from what is on the node."""
    end, writes = undisturbed()
    world = waiting_world()
    kill_at_write(world, number, point)
    first = Replica(world, auto_policy())
    world.run_for(60)
    Replica(world, auto_policy(), name="replica-2")
    world.run_for(1140)
    assert first.is_alive is (number >= writes)
    assert end_of(world) == end


def test_the_same_replica_may_come_back_after_a_death():
    """It has the same name, and takes its own Lease over at once."""
    world = waiting_world()
    kill_at_write(world, 6, Point.AFTER_APPLY)
    assert Replica(world, auto_policy()).is_alive
    world.run_for(60)
    Replica(world, auto_policy())
    world.run_for(400)
    assert end_of(world) == undisturbed()[0]


def test_a_pause_stops_new_rollouts():
    """Until the annotation on the status ConfigMap is gone."""
    world = waiting_world()
    client = world.platform.client
    paused = {
        "metadata": {"name": STATUS, "annotations": {"mig-autoscaler.io/pause": "by ops"}}
    }
    client.create(CONFIG_MAPS, NAMESPACE, paused)
    replica = Replica(world, auto_policy())
    world.run_for(300)
    assert not replica.outcomes[-1].journals
    assert "Paused" in status_of(world)["plan"]["blocked"]
    resumed = {"metadata": {"annotations": {"mig-autoscaler.io/pause": None}}}
    client.patch(CONFIG_MAPS, NAMESPACE, STATUS, resumed)
    world.run_for(400)
    assert end_of(world)[:3] == (SMALL, {ONE: 7}, False)


def test_an_abort_before_the_label_undoes_everything():
    """And the node rests before it is tried again."""
    world = waiting_world()
    replica = Replica(world, auto_policy())
    world.run_for(70)
    annotate(world, "n1", abort="true")
    world.run_for(30)
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert (is_closed(world), annotations(world)) == (False, {})
    assert devices(world)[THREE] == 2


def test_a_late_abort_does_not_end_the_next_rollout():
    """It is removed when there is nothing to abort."""
    world = waiting_world(number=0)
    annotate(world, "n1", abort="true")
    Replica(world, auto_policy())
    world.run_for(40)
    assert annotations(world) == {}


def test_pods_that_ran_elsewhere_meanwhile_end_the_rollout():
    """There is nobody left to serve, so nothing is cut."""
    world = waiting_world()
    replica = Replica(world, auto_policy())
    world.run_for(70)
    for name in list(pods(world)):
        world.platform.client.delete(PODS, "jobs", name)
    world.run_for(60)
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert replica.records[0].message.startswith("NotWorthIt")


def test_a_budget_of_one_rolls_one_node_after_the_other():
    """At no time are two nodes closed."""
    world = waiting_world(nodes=("n1", "n2"), number=14)
    replica = Replica(world, auto_policy())
    most = 0
    for _ in range(40):
        world.run_for(30)
        most = max(most, is_closed(world, "n1") + is_closed(world, "n2"))
    assert most == 1
    assert [r.result for r in replica.records] == [Result.DONE, Result.DONE]
    assert phases(world) == {"Running": 14}


def test_an_incomplete_observation_changes_nothing():
    """A list that failed is no empty cluster."""
    world = waiting_world()
    replica = Replica(world, auto_policy())
    world.store.faults.add(Rule(Point.BEFORE_APPLY, Fault(code=500), is_pod_list, times=None))
    world.run_for(300)
    assert {o.decision for o in replica.outcomes} == {Decision.INCOMPLETE}
    assert {r.resource for r in mutations(world)} == {"leases"}


def is_pod_list(request):
    """Match lists of all pods."""
    return request.kind.plural == "pods" and request.verb.value == "list"


def test_the_status_is_written_on_change_and_as_a_sign_of_life():
    """Not in every cycle."""
    world = waiting_world(number=0)
    Replica(world, auto_policy())
    world.run_for(600)
    writes = [r for r in mutations(world) if r.resource == "configmaps"]
    assert 5 <= len(writes) <= 7
    conditions = {c["type"]: c["status"] for c in status_of(world)["conditions"]}
    assert conditions["Leader"] == conditions["Ready"] == "True"
    assert conditions["MetricsFresh"] == "False"


@pytest.mark.parametrize("number", range(30, 66, 6))
def test_a_death_while_a_change_is_repaired_or_undone_leads_to_the_same_end(number):
    """The wedged node goes through every state, whoever leads at the time."""
    world = waiting_world()
    world.faults.stuck_operands.add(("n1", EXPORTER))
    kill_at_write(world, number, Point.AFTER_APPLY)
    first = Replica(world, auto_policy(), interval_s=60.0)
    second = Replica(world, auto_policy(), name="replica-2", interval_s=60.0)
    for _ in range(90):
        world.run_for(60)
        if first.records or second.records:
            break
    (record,) = [*first.records, *second.records]
    assert record.result is Result.ROLLED_BACK
    assert end_of(world)[:4] == (LARGE, {THREE: 2}, False, None)
