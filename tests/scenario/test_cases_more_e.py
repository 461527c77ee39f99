"""More field cases of changes that go wrong: what is not tried a second time."""

from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.reasons import Reason
from tests.loops import (
    Replica,
    annotate,
    auto_policy,
    create_pod,
    is_closed,
    world_with_namespace,
)
from tests.worlds import CONFIG, HALVES, ONE, THREE, devices, label, set_labels, task

LARGE = "all-3g.20gb"
AT_ONCE = {"budgets": {"nodes": 1, "perHour": 9}}


def wait_until(world, is_so):
    """Let the world go on until something holds."""
    for _ in range(400):
        if is_so():
            return
        world.run_for(15)
    raise AssertionError("it never came so far")


def test_e06_a_layout_that_failed_is_not_tried_on_the_next_node():
    """The first node is as it was before; the second keeps what it has, with the reason."""
    world = world_with_namespace(HALVES, nodes=("n1", "n2"))
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=90000.0) for i in range(7)])
    gpu = world.hardware.gpus("n1")[0]
    ghosts = [instance.uuid for instance in gpu.instances]
    for uuid in ghosts:
        gpu.open_process(uuid, "ghost")
    replica = Replica(world, auto_policy(disruption=AT_ONCE))
    wait_until(world, lambda: "rolling-back" in replica.states())
    for uuid in ghosts:
        gpu.close_process(uuid, "ghost")
    wait_until(world, lambda: replica.records)
    record = replica.records[0]
    assert (record.node, record.result, record.refused) == ("n1", Result.ROLLED_BACK, True)
    assert (label(world, CONFIG), is_closed(world)) == (LARGE, False)
    world.run_for(3600)
    assert len(replica.records) == 1
    assert {n: k for n, k in devices(world, "n2").items() if k} == {THREE: 2}
    changes = [c for o in replica.outcomes if o.plan is not None for c in o.plan.changes]
    last = [c for c in changes if c.node == "n2"][-1]
    assert Reason.LAYOUT_REFUSED in {block.reason for block in last.blocked_by}


def test_e09_a_value_that_comes_back_after_our_change_is_accepted():
    """A pool's template owns the label: the node is left alone for a day, and told."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=10.0) for i in range(7)])
    replica = Replica(world, auto_policy(disruption={"cooldown": "1m"}))
    wait_until(world, lambda: replica.records)
    set_labels(world, {CONFIG: LARGE})
    world.run_for(300)
    for index in range(7):
        create_pod(world, f"new-{index}", requests={ONE: 1}, owner=("ReplicaSet", "web"))
    world.run_for(3600)
    assert [r.result for r in replica.records] == [Result.DONE]
    assert {n: k for n, k in devices(world).items() if k} == {THREE: 2}
    holds = {h.reason for h in replica.outcomes[-1].view.snapshot.holds}
    assert holds == {Reason.FOREIGN_CONFIG}
    assert not is_closed(world)
    annotate(world, "n1", quarantine="clear")
    world.run_for(600)
    assert [r.result for r in replica.records] == [Result.DONE, Result.DONE]
