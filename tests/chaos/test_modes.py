"""What each mode writes, seen at the API server, whatever happens meanwhile."""

import json

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import Mode
from autoscaler.ports import NAMESPACES, NODES, PODS
from autoscaler.simulation.fleet import Fleet, NodeGroup
from autoscaler.simulation.world import World, WorldSettings
from tests.chaos.audit import Audit, Rules
from tests.chaos.stage import BlindMetrics, Stage, stage_of
from tests.loops import NAMESPACE, annotate, auto_policy, create_pod, is_closed, mutations
from tests.worlds import HALVES, ONE, PROMPT, START_S, devices, set_labels, task

LOOKING = (Mode.OFF, Mode.DRY_RUN)
# Moments of a rollout: closed at 30 s, labelled at 150 s, over at 240 s.
MOMENTS = (31, 160, 220)
FAILED = {
    "reason": "x",
    "message": "x",
    "since": START_S,
    "until": START_S + 60.0,
    "attempt": 1,
}


def disturb(stage):
    """Have everything happen that the loop would answer in mode auto."""
    world, client = stage.world, stage.world.platform.client
    annotate(world, "n2", abort="true", quarantine=json.dumps({**FAILED, "cordoned": True}))
    stage.cordon("n2")
    stage.run(100)
    client.delete(PODS, "jobs", "job-0")
    create_pod(world, "late", requests={ONE: 1})
    set_labels(world, {"nvidia.com/mig.config": "all-2g.10gb"}, "n3")
    stage.run(300)
    world.faults.not_ready.add("n1")
    stage.run(700)


def rolling(at_s):
    """Return a rollout whose replica died at some second of it."""
    stage = stage_of(HALVES, HALVES, nodes=("n1", "n2", "n3"))
    first = stage.join(metrics=BlindMetrics(stage.world))
    stage.run(at_s)
    first.is_alive = False
    return stage


@pytest.mark.parametrize("mode", LOOKING)
@pytest.mark.parametrize("at_s", [0, *MOMENTS])
def test_modes_that_only_look_write_nothing_whatever_happens(mode, at_s):
    """Open rollouts of an earlier run, meddling, faults: not one mutating request."""
    stage = rolling(at_s)
    watcher = stage.join("watcher", metrics=BlindMetrics(stage.world))
    watcher.policy = auto_policy(mode)
    disturb(stage)
    watcher.policy = auto_policy(mode, planning={"minGain": 3.0})
    stage.run(300)
    assert mutations(stage.world, "watcher") == []
    assert len(watcher.outcomes) > 40
    planned = [o.plan is not None for o in watcher.outcomes]
    assert set(planned) == {mode is Mode.DRY_RUN}


@pytest.mark.parametrize("at_s", [0, *MOMENTS])
def test_recommend_writes_only_its_lease_its_status_and_events(at_s):
    """Also where a rollout is open, and where auto would clean up."""
    stage = rolling(at_s)
    watcher = stage.join("watcher", metrics=BlindMetrics(stage.world))
    watcher.policy = auto_policy(Mode.RECOMMEND)
    disturb(stage)
    touched = {
        (r.resource, r.namespace) for r in mutations(stage.world, "watcher") if r.status_code
    }
    assert touched - {("events", "default"), ("events", "jobs")} == {
        ("leases", NAMESPACE),
        ("configmaps", NAMESPACE),
    }
    names = {r.name for r in mutations(stage.world, "watcher") if r.resource == "leases"}
    assert names == {"", "mig-autoscaler-recommend"}


@pytest.mark.parametrize("mode", LOOKING)
@pytest.mark.parametrize("at_s", MOMENTS)
def test_an_edit_to_a_mode_that_looks_stops_every_write(mode, at_s):
    """All that is written is that the Lease is given up; auto then goes on where it was."""
    stage = stage_of(HALVES, HALVES)
    replica = stage.join(metrics=BlindMetrics(stage.world))
    stage.run(at_s)
    before = len(mutations(stage.world))
    stage.edit(auto_policy(mode))
    stage.run(600)
    after = [(r.verb, r.resource) for r in mutations(stage.world)[before:]]
    assert after == [("patch", "leases")]
    assert is_closed(stage.world)
    stage.edit(auto_policy())
    stage.run(60)
    stage.rest()
    assert [r.result for r in replica.records] == [Result.DONE]
    assert (devices(stage.world)[ONE], is_closed(stage.world)) == (7, False)
    stage.audit.check_end()


def mixed_fleet():
    """Return nodes that all could serve the jobs, most of which are not ours to change."""
    halves = (Counts(HALVES),)
    ours = {"team": "ours"}

    def group(name, layout=halves, labels=ours, **marks):
        annotations = {f"mig-autoscaler.io/{key}": value for key, value in marks.items()}
        return NodeGroup((name,), "a100-40gb", layout, labels=labels, annotations=annotations)

    whole = (Counts({"7g.40gb": 1}),)
    foreign = {"hami.io/node-nvidia-register": "x"}
    return Fleet(
        (
            group("free-1"),
            group("free-2"),
            group("held", hold="true"),
            group("ignored", ignore="true"),
            group("reserved", layout=whole, reserved="true"),
            group("spare", layout=whole),
            group("theirs", labels={"team": "theirs"}),
            NodeGroup(("hami",), "a100-40gb", halves, labels=ours, annotations=foreign),
            group("gke", labels={**ours, "cloud.google.com/gke-gpu-partition-size": "3g.20gb"}),
        )
    )


def test_auto_writes_only_the_nodes_it_may_change():
    """Not held, ignored, reserved and foreign ones, however many jobs wait."""
    pools = (
        {"name": "ours", "nodeSelector": {"team": "ours"}, "reserve": {"fullGpuNodes": 2}},
    )
    policy = auto_policy(
        pools=pools,
        disruption={"budgets": {"nodes": 9, "perHour": 20}, "cooldown": "5m"},
    )
    world = World(mixed_fleet(), WorldSettings(start_s=START_S, timing=PROMPT))
    world.platform.client.create(NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90_000.0) for i in range(63)])
    free = {"free-1", "free-2"}
    off_limits = set(world.fleet.names) - free
    stage = Stage(world, Audit(world, Rules(policy, nodes=9, off_limits=off_limits)))
    replica = stage.join()
    stage.run(600)
    stage.rest()
    stage.run(4000)
    assert {r.node for r in replica.records} == free
    written = {r.name for r in mutations(world) if r.resource == "nodes"}
    assert written == free
    stage.audit.check_end()
    nodes = world.platform.client.list(NODES).items
    assert not any(n["spec"].get("unschedulable") for n in nodes)
