"""Faults of everything around the loop: MIG manager, API server, clocks, Prometheus."""

import pytest

from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result
from autoscaler.ports import NODES, PODS
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule
from autoscaler.simulation.controllers.operands import EXPORTER
from autoscaler.simulation.fleet import node_body
from tests.chaos.stage import (
    BlindMetrics,
    Watch,
    create_budget,
    create_service,
    open_by_hand,
    refs_on,
    stage_of,
)
from tests.loops import annotations, auto_policy, is_closed
from tests.worlds import CONFIG, HALVES, ONE, START_S, THREE, devices, label, pods, set_labels

LARGE = "all-3g.20gb"
EVICTING = auto_policy(disruption={"eviction": {"enabled": True}})
MANAGER_SWITCH = "nvidia.com/gpu.deploy.mig-manager"


def rolling(at_s=0, **changes):
    """Return a rollout at some second of it: closed at 30 s, labelled at 150 s."""
    stage = stage_of(HALVES, HALVES, **changes)
    stage.join(metrics=BlindMetrics(stage.world))
    stage.run(at_s)
    return stage


def results(stage):
    """Return how rollouts ended."""
    return [r.result for r in stage.replicas["replica-1"].records]


def quarantine_of(stage, name="n1"):
    """Return the quarantine of a node."""
    return Quarantine.from_text(annotations(stage.world, name)["mig-autoscaler.io/quarantine"])


def served(stage):
    """Say whether the jobs run and the node is open."""
    return (devices(stage.world)[ONE], is_closed(stage.world)) == (7, False)


def untouched(stage):
    """Say whether the node is as it was."""
    found = (label(stage.world, CONFIG), devices(stage.world)[THREE], is_closed(stage.world))
    return found == (LARGE, 4, False)


def wait_for_end(stage):
    """Let the world go on until the first rollout has ended and is told of."""
    while not results(stage):
        stage.run(30)
    stage.run(30)


def fail_once(stage):
    """Have the next change fail, and the way back from it succeed."""
    gpu = stage.world.hardware.gpus("n1")[0]
    gpu.refuses_creation = True
    number = len(results(stage))
    while stage.replicas["replica-1"].states()[-1:] != ["applying"] or not stage.is_busy():
        stage.run(30)
    while label(stage.world, CONFIG) != LARGE:
        # MIG manager looks for a second at the least before it acts.
        stage.run(1)
    gpu.refuses_creation = False
    while len(results(stage)) == number:
        stage.run(30)
    stage.run(30)


def test_a_change_that_fails_is_undone():
    """The GPU was emptied; what it had before is there again, and the node rests."""
    stage = rolling()
    fail_once(stage)
    assert (results(stage), untouched(stage)) == ([Result.ROLLED_BACK], True)
    assert quarantine_of(stage).attempt == 1
    stage.audit.check_end()


def test_a_half_empty_node_is_quarantined_but_serves_what_it_has():
    """The way back failed as well; the other GPU is sound, so the node is open."""
    stage = rolling(140)
    stage.world.hardware.gpus("n1")[0].refuses_creation = True
    wait_for_end(stage)
    assert results(stage) == [Result.QUARANTINED]
    assert (devices(stage.world)[THREE], is_closed(stage.world)) == (2, False)
    stage.audit.check_end()


def test_a_node_that_offers_nothing_stays_closed_until_it_does():
    """It is opened again when it offers something, and not before."""
    stage = rolling(140)
    stage.world.faults.no_plugin.add("n1")
    wait_for_end(stage)
    assert results(stage) == [Result.QUARANTINED]
    assert (is_closed(stage.world), quarantine_of(stage).cordoned) == (True, True)
    stage.audit.check_end()
    stage.world.faults.no_plugin.clear()
    stage.run(300)
    assert not is_closed(stage.world)
    stage.audit.check_end()


def test_a_layout_that_failed_is_not_tried_again_on_the_node():
    """Never a loop, though the same jobs still wait for it."""
    stage = rolling(policy=auto_policy(disruption={"cooldown": "1m"}))
    fail_once(stage)
    stage.replicas["replica-1"].interval_s = 300.0
    stage.run(4 * 3600)
    assert (results(stage), untouched(stage)) == ([Result.ROLLED_BACK], True)
    plan = stage.replicas["replica-1"].outcomes[-1].plan
    assert {b.reason.value for c in plan.changes for b in c.blocked_by} == {"LayoutRefused"}
    stage.audit.check_end()


def test_a_silent_manager_gives_the_node_back_as_it_was():
    """After five minutes, with the reason."""
    stage = rolling(140)
    set_labels(stage.world, {MANAGER_SWITCH: "false"})
    wait_for_end(stage)
    assert (results(stage), untouched(stage)) == ([Result.NO_RESPONSE], True)
    stage.audit.check_end()


@pytest.mark.parametrize("until_s", [200, 300, 440])
def test_a_node_that_does_not_answer_for_a_while_is_waited_for(until_s):
    """A change may stop kubelet; within the deadline nothing is repaired or undone."""
    stage = rolling(155)
    stage.world.faults.not_ready.add("n1")
    stage.run(until_s - 155)
    stage.world.faults.not_ready.clear()
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    assert stage.replicas["replica-1"].states()[-1] == "applying"
    stage.audit.check_end()


def test_a_success_with_the_wrong_resources_is_not_believed():
    """Its plugin finds the new devices unhealthy, so nothing of the kind is offered."""
    stage = rolling(140)
    stage.world.faults.unhealthy_gpus.add(("n1", 0))
    stage.run(1000)
    assert label(stage.world, "nvidia.com/mig.config.state") == "success"
    assert is_closed(stage.world)
    wait_for_end(stage)
    assert Result.DONE not in results(stage)
    stage.audit.check_end()


def test_a_wedged_manager_is_repaired():
    """Paused operands come back, and the label is taken up anew."""
    stage = rolling(140)
    stage.world.faults.stuck_operands.add(("n1", EXPORTER))
    stage.run(1700)
    stage.world.faults.stuck_operands.clear()
    stage.rest()
    assert "repairing" in stage.replicas["replica-1"].states()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


def drain(budget=None, **service):
    """Return a node just closed for a change that evicts the pods of a service."""
    stage = stage_of(policy=EVICTING, jobs=0)
    create_service(stage.world, **service)
    if budget is not None:
        create_budget(stage.world, "web-budget", "web", **budget)
    stage.run(30)
    open_by_hand(stage, evict=refs_on(stage.world))
    stage.join(metrics=BlindMetrics(stage.world))
    return stage


def test_a_budget_that_never_allows_it_ends_the_drain_at_its_deadline():
    """The node is open again, the pods ran on, and the budget is named."""
    stage = drain({"minAvailable": 2})
    running = set(pods(stage.world))
    stage.run(1100)
    assert is_closed(stage.world)
    stage.run(200)
    assert (results(stage), is_closed(stage.world)) == ([Result.ABORTED], False)
    assert set(pods(stage.world)) == running
    record = stage.replicas["replica-1"].records[0]
    assert record.ended_at_s - record.started_at_s == pytest.approx(1200.0, abs=60.0)
    stage.audit.check_end()


def test_a_budget_that_allows_one_at_a_time_is_waited_for():
    """Replacements cannot start on the closed node, so a second one never goes."""
    stage = drain({"maxUnavailable": 1})
    before = refs_on(stage.world)
    stage.run(600)
    left = set(refs_on(stage.world)) & set(before)
    assert len(left) == 1
    stage.rest()
    assert results(stage) == [Result.ABORTED]
    stage.audit.check_end()


def test_a_refused_eviction_is_told_with_the_budget_by_name():
    """People learn which budget it is from an Event."""
    stage = drain({"maxUnavailable": 1})
    stage.run(120)
    notices = [
        notice.message
        for outcome in stage.replicas["replica-1"].outcomes
        for progress in outcome.progress
        for notice in progress.notices
        if notice.reason == "MigEvictionRefused"
    ]
    assert notices
    assert all("disruption budget" in text for text in notices)
    assert any("web-budget" in text for text in notices)


def test_a_pod_that_a_finalizer_keeps_is_waited_for_and_never_forced():
    """It holds its device until it is really gone."""
    stage = drain(finalizers=["example.org/checkpoint"])
    stage.run(600)
    assert label(stage.world, CONFIG) == LARGE
    kept = [p for p in pods(stage.world).values() if p["metadata"].get("finalizers")]
    assert any(p["metadata"].get("deletionTimestamp") for p in kept)
    stage.rest()
    assert (results(stage), is_closed(stage.world)) == ([Result.ABORTED], False)
    assert all("example.org/checkpoint" in p["metadata"]["finalizers"] for p in kept)
    stage.audit.check_end()


def test_a_protected_pod_is_never_evicted_though_the_plan_said_so():
    """Its owner marked it after the plan was made."""
    stage = drain()
    for name in pods(stage.world):
        marks = {"karpenter.sh/do-not-disrupt": "true"}
        stage.world.platform.client.patch(
            PODS, "jobs", name, {"metadata": {"annotations": marks}}
        )
    running = set(pods(stage.world))
    stage.run(1300)
    assert (results(stage), set(pods(stage.world))) == ([Result.ABORTED], running)
    stage.audit.check_end()


def test_without_prometheus_in_the_middle_nobody_is_evicted():
    """The drain waits, and goes on when Prometheus is back."""
    stage = drain()
    replica = stage.replicas["replica-1"]
    metrics = BlindMetrics(stage.world, is_away=True)
    replica.is_alive = False
    replica.loop.close()
    stage.join("replica-2", metrics=metrics)
    running = set(pods(stage.world))
    stage.run(300)
    assert set(pods(stage.world)) == running
    metrics.is_away = False
    stage.run(60)
    stage.rest()
    assert [r.result for r in stage.replicas["replica-2"].records] == [Result.DONE]
    stage.audit.check_end()


@pytest.mark.parametrize("at_s", [31, 100, 165, 200, 220])
@pytest.mark.parametrize("absent_s", [0, 60])
def test_a_node_that_is_deleted_ends_its_rollout(at_s, absent_s):
    """Its successor of the same name is another node, and is not written for it."""
    stage = rolling(at_s)
    client = stage.world.platform.client
    client.delete(NODES, None, "n1")
    stage.run(absent_s)
    client.create(NODES, None, node_body(stage.world.fleet.groups[0], "n1", "10.0.9.9"))
    stage.audit.forget("n1")
    stage.run(600)
    assert results(stage) == [Result.GONE]
    assert (is_closed(stage.world), annotations(stage.world)) == (False, {})
    stage.audit.check_end()


@pytest.mark.parametrize("skew_s", [-3600.0, 3600.0])
@pytest.mark.parametrize("at_s", [20, 100, 165, 200])
def test_a_clock_that_jumps_by_an_hour_leaves_nothing_behind(at_s, skew_s):
    """Waits end too early or too late, but they end, and in a sane state."""
    stage = stage_of(HALVES, HALVES)
    stage.audit.rules.is_punctual = False
    watch = Watch(stage.world.clock)
    replica = stage.join(metrics=BlindMetrics(stage.world), clock=watch)
    stage.run(at_s)
    watch.skew_s = skew_s
    stage.run(600)
    stage.rest()
    # The cooldown counts by the clock that was set, so it may take the hour too.
    replica.interval_s = 300.0
    stage.run(6000)
    stage.rest()
    assert served(stage)
    stage.audit.check_end()


CALLS = [
    ("get", "nodes", ""),
    ("patch", "nodes", ""),
    ("list", "nodes", ""),
    ("list", "pods", ""),
    ("list", "configmaps", ""),
    ("list", "poddisruptionbudgets", ""),
    ("get", "configmaps", ""),
    ("patch", "configmaps", ""),
    ("create", "configmaps", ""),
    ("create", "events", ""),
    ("get", "leases", ""),
    ("patch", "leases", ""),
    ("create", "leases", ""),
]
# Those that end by themselves; the answer of a write may also be lost.
PASSING = {
    "500": (Fault(code=500), Point.BEFORE_APPLY),
    "429": (Fault(code=429, retry_after_s=20), Point.BEFORE_APPLY),
    "409": (Fault(code=409, reason="Conflict"), Point.BEFORE_APPLY),
    "dropped": (Fault(broken=Break.DROP), Point.BEFORE_APPLY),
    "lost": (Fault(code=504), Point.AFTER_APPLY),
}


def fail(stage, call, fault, point, times):
    """Have calls of this kind fail for a while."""

    def is_hit(request):
        found = (request.verb.value, request.kind.plural, request.subresource)
        return request.user_agent == "replica-1" and found == call

    return stage.world.store.faults.add(Rule(point, fault, is_hit, times=times))


@pytest.mark.parametrize("call", CALLS, ids="-".join)
@pytest.mark.parametrize("name", PASSING)
def test_a_call_that_fails_some_times_delays_the_rollout_and_nothing_else(call, name):
    """Three times in a row; what was stored without an answer is found again."""
    fault, point = PASSING[name]
    stage = stage_of(HALVES, HALVES)
    fail(stage, call, fault, point, times=3)
    stage.join()
    stage.run(400)
    stage.rest()
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize("at_s", [100, 165, 200])
def test_reads_that_are_refused_for_a_while_end_no_rollout(at_s, code):
    """They say nothing of what may be written."""
    stage = rolling(at_s)
    rule = fail(stage, ("get", "nodes", ""), Fault(code=code), Point.BEFORE_APPLY, None)
    stage.run(200)
    rule.times = rule.struck
    stage.rest()
    assert rule.struck > 0
    assert (results(stage), served(stage)) == ([Result.DONE], True)
    stage.audit.check_end()


def test_a_right_that_was_lost_is_told_and_the_node_given_back_when_it_returns():
    """Before the label the rollout ends, for it cannot go on."""
    stage = rolling(100)
    rule = fail(
        stage,
        ("patch", "nodes", ""),
        Fault(code=403, reason="Forbidden"),
        Point.BEFORE_APPLY,
        None,
    )
    stage.run(300)
    errors = stage.replicas["replica-1"].outcomes[-1].errors
    assert any("n1" in error for error in errors)
    rule.times = rule.struck
    stage.run(60)
    assert (results(stage), untouched(stage)) == ([Result.ABORTED], True)
    stage.audit.check_end()


def test_nothing_starts_on_a_partial_list():
    """A list that failed is no empty cluster, for however long."""
    stage = stage_of(HALVES, HALVES)
    fail(stage, ("list", "pods", ""), Fault(code=500), Point.BEFORE_APPLY, None)
    stage.join()
    stage.run(600)
    assert (stage.audit.starts, untouched(stage)) == ({}, True)
    assert stage.world.clock.now_s() == START_S + 600
