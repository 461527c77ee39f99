"""Placeholders have a whole GPU next, so that a flood of whole-GPU pods does not.

One node with two GPUs, both whole and in use; the past entitles whole GPUs to one of them.
The scheduler gives an instance that becomes free to the next pod that asks for it at once.
"""

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.apply import Apply
from autoscaler.control.outside import Outside
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.cluster.marks import PLACEHOLDER
from autoscaler.domain.cluster.placeholder import PRIORITY_CLASS
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Driver, Mode
from autoscaler.ports import CONFIG_MAPS, LEASES, PODS, PRIORITY_CLASSES
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.store import StoreClient
from autoscaler.simulation.study.seen_metrics import SeenMetrics
from tests.agent_worlds import POOLS, Guard, agent_world
from tests.floods import FULL, POLICY, Steady, flood
from tests.loops import (
    NAMESPACE,
    STATUS,
    Replica,
    auto_policy,
    create_pod,
    is_closed,
    kill_at_write,
    mutations,
    world_with_namespace,
)
from tests.worlds import ONE, THREE, WHOLE, geometries, pods, task

DRIVERS = pytest.mark.parametrize("driver", list(Driver))


def flooded(driver=Driver.AGENT, run_s=1000.0):
    """Return a world of one node, with a flood that waits and two small pods behind it."""
    make = agent_world if driver is Driver.AGENT else world_with_namespace
    world = make(FULL, FULL)
    flood(world, 2, run_s=run_s)
    return world


def replica(world, driver=Driver.AGENT, name="replica-1", **changes):
    """Return a replica that knows the past, and who sits where."""
    metrics = SeenMetrics(world) if driver is Driver.MIG_MANAGER else None
    pools = POOLS if driver is Driver.AGENT else ({"name": "p"},)
    policy = auto_policy(**{"pools": pools} | POLICY | changes)
    return Replica(world, policy, name, metrics=metrics, history=Steady())


def placeholders(world):
    """Return the node that each placeholder is bound to, ``None`` where it waits."""
    own = pods(world, NAMESPACE).values()
    return [p["spec"].get("nodeName") for p in own if PLACEHOLDER in p["metadata"]["labels"]]


def running(world):
    """Return who runs, those that were first left out."""
    found = (p for p in pods(world).values() if p["status"]["phase"] == "Running")
    return sorted(p["metadata"]["name"] for p in found if "first" not in p["metadata"]["name"])


def withdraw_small(world):
    """Delete the small pods that wait."""
    for number in range(2):
        world.platform.client.delete(PODS, "jobs", f"small-{number}")


def is_served(world):
    """Say whether the home share has its pod, and the small ones the other GPU."""
    return running(world) == ["flood-0", "small-0", "small-1"] and placeholders(world) == []


@DRIVERS
def test_without_placeholders_the_flood_takes_what_becomes_free(driver):
    """What they are good for."""
    world = flooded(driver)
    replica(world, driver, disruption={"draining": {"placeholders": False}})
    world.run_for(2400)
    assert running(world) == ["flood-0", "flood-1"]


@DRIVERS
def test_the_surplus_goes_to_those_who_wait(driver):
    """The node is open for as long as its pods run, and nobody is disturbed."""
    world = flooded(driver)
    guard, own = Guard(world), replica(world, driver)
    world.run_for(600)
    # It has the GPU of whoever ends first.
    assert placeholders(world) == [None]
    assert not is_closed(world)
    (wanted,) = own.outcomes[-1].plan.placeholders
    assert (wanted.number, wanted.resource) == (1, WHOLE)
    assert [pod.name for pod in wanted.awaits] == ["first-0", "first-1"]
    world.run_for(1500)
    assert is_served(world)
    assert sorted(geometries(world)) == ["3g.20gb@0 3g.20gb@4", "7g.40gb@0"]
    assert not is_closed(world)
    assert [record.result for record in own.records] == [Result.DONE]
    assert all(not outcome.errors for outcome in own.outcomes)
    assert guard.faults == []


def test_what_becomes_of_it_is_decided_when_it_is_free():
    """Much may come while the pods run: here seven small pods instead of the two halves."""
    world = flooded()
    replica(world)
    world.run_for(600)
    withdraw_small(world)
    for number in range(7):
        create_pod(world, f"tiny-{number}", requests={ONE: 1})
    world.run_for(1500)
    assert running(world) == ["flood-0", *(f"tiny-{n}" for n in range(7))]


def test_placeholders_that_nobody_needs_any_more_go():
    """And come again when somebody waits."""
    world = flooded()
    replica(world)
    world.run_for(600)
    withdraw_small(world)
    world.run_for(90)
    assert placeholders(world) == []
    create_pod(world, "half", requests={THREE: 1})
    world.run_for(90)
    assert placeholders(world) == [None]


def pause(world):
    """Pause the product, as people do."""
    paused = {"metadata": {"annotations": {"mig-autoscaler.io/pause": "by ops"}}}
    world.platform.client.patch(CONFIG_MAPS, NAMESPACE, STATUS, paused)


def test_a_pause_takes_them_away():
    """Nothing may start, so nobody would use what they keep."""
    world = flooded()
    replica(world)
    world.run_for(600)
    pause(world)
    world.run_for(900)
    assert placeholders(world) == []
    assert running(world) == ["flood-0", "flood-1"]


def test_a_bound_placeholder_goes_when_its_change_may_not_start():
    """A window closes while it waits: the GPU is no one's to keep idle."""
    world = flooded()
    own = replica(world)
    world.run_for(900)
    own.policy = own.policy.model_copy(
        update={"disruption": own.policy.disruption.model_copy(update={"windows": ()})}
    )
    world.run_for(600)
    assert placeholders(world) == []
    assert running(world) == ["flood-0", "flood-1"]


def made(world):
    """Return how many placeholders were ever made."""
    return sum(r.resource == "pods" and r.verb == "create" for r in mutations(world))


def without_budget(driver=Driver.AGENT):
    """Return a world of which one pod of four ends, and nothing may start when it does."""
    make = agent_world if driver is Driver.AGENT else world_with_namespace
    world = make(FULL, FULL, FULL, FULL)
    world.submit(
        task(f"first-{i}", {WHOLE: 1}, run_s=90_000.0 if i else 600.0) for i in range(4)
    )
    world.submit(task(f"small-{i}", {THREE: 1}, run_s=90_000.0) for i in range(6))
    replica(world, driver, disruption={"budgets": {"perHour": 0}})
    return world


@DRIVERS
def test_what_one_gives_back_is_not_for_the_next_of_ours(driver):
    """Else they would have the GPU in turns for as long as its change may not start."""
    world = without_budget(driver)
    world.submit(task(f"flood-{i}", {WHOLE: 1}, run_s=90_000.0) for i in range(4))
    world.run_for(500)
    assert placeholders(world) == [None] * 3
    world.run_for(200)
    assert running(world) == ["flood-0"]


def test_there_are_none_beside_a_gpu_that_is_free():
    """Nobody would take it, so they would: made and removed again and again."""
    world = without_budget()
    for number in range(4):
        create_pod(world, f"flood-{number}", requests={WHOLE: 1})
    world.run_for(500)
    for number in range(4):
        world.platform.client.delete(PODS, "jobs", f"flood-{number}")
    world.run_for(900)
    assert placeholders(world) == []
    assert made(world) == 3


@pytest.mark.parametrize("mode", [Mode.DRY_RUN, Mode.RECOMMEND])
def test_modes_that_only_look_say_what_they_would_do(mode):
    """And make no pod."""
    world = flooded()
    own = replica(world, mode=mode)
    world.run_for(600)
    (wanted,) = own.outcomes[-1].plan.placeholders
    assert wanted.number == 1
    assert placeholders(world) == []
    assert [r for r in mutations(world) if r.resource == "pods"] == []


def test_without_their_priority_class_the_loop_goes_on_and_says_so():
    """As after an upgrade whose manifests were not applied."""
    world = flooded()
    world.platform.client.delete(PRIORITY_CLASSES, None, PRIORITY_CLASS)
    own = replica(world)
    world.run_for(1500)
    assert running(world) == ["flood-0", "flood-1"]
    said = {error for outcome in own.outcomes for error in outcome.errors}
    assert len(said) == 1
    assert "no placeholder for node n1" in said.pop()
    assert PRIORITY_CLASS in next(e for o in own.outcomes for e in o.errors)


def test_whoever_preempts_a_pod_gets_what_it_frees():
    """Before a placeholder, which would else cost a second pod its GPU."""
    world = flooded(run_s=90_000.0)
    urgent = {"metadata": {"name": "high"}, "value": 1000}
    world.platform.client.create(PRIORITY_CLASSES, None, urgent)
    replica(world)
    world.run_for(320)
    assert placeholders(world) == [None]
    create_pod(world, "urgent", requests={WHOLE: 1}, priorityClassName="high")
    world.run_for(120)
    assert running(world) == ["urgent"]
    assert len([name for name in pods(world) if "first" in str(name)]) == 1


def fail_once(world, verb):
    """Have the server fail the next time that the loop creates or deletes a pod."""

    def is_hit(request):
        said = (request.verb.value, request.kind.plural, request.user_agent)
        return said == (verb, "pods", "replica-1")

    world.store.faults.add(Rule(Point.BEFORE_APPLY, Fault(code=500), is_hit))


def test_what_fails_is_tried_again_in_the_next_cycle():
    """Though nothing is new then."""
    world = flooded()
    own = replica(world)
    fail_once(world, "create")
    world.run_for(120)
    assert placeholders(world) == [None]
    fail_once(world, "delete")
    withdraw_small(world)
    world.run_for(120)
    assert placeholders(world) == []
    assert len([e for outcome in own.outcomes for e in outcome.errors]) == 2


@DRIVERS
@pytest.mark.parametrize("point", [Point.BEFORE_APPLY, Point.AFTER_APPLY])
@pytest.mark.parametrize("number", range(2, 16))
def test_whoever_dies_the_end_is_the_same(number, point, driver):
    """The next replica goes on from the pods, at each write of the first."""
    world = flooded(driver)
    guard = Guard(world)
    replica(world, driver)
    replica(world, driver, "replica-2")
    kill_at_write(world, number, point)
    world.run_for(2700)
    assert is_served(world)
    assert not is_closed(world)
    assert guard.faults == []


def test_of_two_replicas_one_makes_them():
    """And when nobody leads any more, what was kept is free after a while."""
    world = flooded()
    first, second = replica(world), replica(world, name="replica-2")
    world.run_for(600)
    assert placeholders(world) == [None]
    makers = {r.user_agent for r in world.store.requests.entries() if r.verb == "create"}
    assert len(makers & {"replica-1", "replica-2"}) == 1
    first.is_alive = second.is_alive = False
    (one,) = pods(world, NAMESPACE).values()
    assert one["spec"]["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"planning": {**POLICY["planning"], "persistence": "2h"}},
        {"planning": {**POLICY["planning"], "persistenceLooks": 240}},
        {"rollout": {**POLICY["rollout"], "drainDeadline": "2h"}},
    ],
    ids=["proposed for long", "in many plans", "another node drains first"],
)
def test_kubelet_does_not_end_one_before_its_change_may_start(changes):
    """Else the GPU would go to the flood, each time anew."""
    world = flooded()
    replica(world, **changes)
    world.run_for(60)
    (one,) = pods(world, NAMESPACE).values()
    assert one["spec"]["activeDeadlineSeconds"] > 7200


def test_pods_of_others_that_bear_the_mark_are_pods():
    """They hold what they hold, and nobody deletes them."""
    world = flooded()
    own = replica(world)
    world.submit([task("odd", {WHOLE: 1}, run_s=None, labels={PLACEHOLDER: "true"})])
    world.run_for(1500)
    seen = own.outcomes[-1].view.observation
    assert "odd" in {pod.name for pod in seen.pods}
    assert {pod.name for pod in seen.placeholders} == set()
    assert "odd" in pods(world)


@DRIVERS
def test_a_person_who_applies_a_plan_gets_the_gpu_that_is_kept(driver):
    """The placeholder goes as soon as the node is closed."""
    world = flooded(driver)
    planning = {**POLICY["planning"], "persistence": "10m"}
    loop = replica(world, driver, planning=planning)
    world.run_for(1200)
    loop.is_alive = False
    assert placeholders(world) == ["n1"]
    plan = loop.outcomes[-1].plan
    cluster = KubernetesCluster(StoreClient(world.store, "person"), world.clock)
    outside = Outside(cluster, world.clock, loop.metrics, identity="person")
    # As if it had been given back.
    world.platform.client.delete(LEASES, NAMESPACE, "mig-autoscaler")
    applied = Apply(Setting(outside, loop.policy, leadership_for(outside, loop.policy)), plan)
    done = applied.run()
    assert done.refusals == ()
    assert [record.result for record in done.records] == [Result.DONE]
    assert placeholders(world) == []
