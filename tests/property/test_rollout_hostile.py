"""Whatever a rollout sees, it ends in time and does no harm."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.domain.cluster.marks import ABORT, DEPLOY_PREFIX, MIG_CONFIG, MIG_CONFIG_STATE
from autoscaler.domain.cluster.objects import Owner
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.evictions import uses_gpu
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.reasons import Block, Reason
from autoscaler.domain.rollout.steps import HolderProof, PatchNode, Wait
from autoscaler.domain.rollout.transition import next_step
from tests.builders import NOW_S, pod
from tests.rollouts import (
    BEFORE_NAME,
    MANAGER,
    TARGET_NAME,
    Bench,
    before,
    closed_node,
    journal,
    rules,
    target,
)

PLUGIN = DEPLOY_PREFIX + "device-plugin"
ALL_DEADLINES_S = 1200.0 + 3 * 1800.0 + 4 * 120.0
ROUND_S = 240.0
PODS = (
    pod("job-1", node="node-a", owner=Owner("Job", "job")),
    pod("web-1", node="node-a", owner=Owner("ReplicaSet", "web")),
    pod("edge-1", node="node-a", owner=Owner("DaemonSet", "edge")),
    pod("dbg-1", requests={"cpu": 1}, node="node-a", gpu_runtime=True),
)
AMOUNTS = (Counts(), before().resources, target().resources)


def rarely(odd, usual):
    """Draw what seldom happens about once in twelve times."""
    return st.sampled_from([usual] * 11 + [odd])


worlds = st.fixed_dictionaries(
    {
        "opened": rarely(True, False),
        "ready": rarely(None, True) | rarely(False, True),
        "offers": st.sampled_from(AMOUNTS),
        "state": st.sampled_from(["", "", "pending", "success", "success", "failed"])
        | rarely("rebooting", "success"),
        "config": rarely("", None) | rarely("all-2g.10gb", None) | rarely(BEFORE_NAME, None),
        "plugin": rarely("paused-for-mig-change", "true") | rarely("false", ""),
        "pods": st.tuples(*(rarely(True, False) for _ in PODS)),
        "abort": rarely(True, False),
        "names": st.sampled_from([(), (TARGET_NAME,), *[(TARGET_NAME, BEFORE_NAME)] * 5]),
        "manager": st.sampled_from([None, MANAGER, replace(MANAGER, uid="uid-2")]),
        "proven": st.booleans(),
        "paused": rarely(True, False),
        "verdict": rarely(Block(Reason.FROZEN, "frozen"), None),
    }
)


def befall(bench, world):
    """Let a hostile world have its way with the node."""
    labels = {k: v for k, v in bench.node.labels.items() if k not in {MIG_CONFIG_STATE, PLUGIN}}
    labels |= {MIG_CONFIG_STATE: world["state"], PLUGIN: world["plugin"]}
    if world["config"] is not None:
        labels[MIG_CONFIG] = world["config"]
    if world["abort"]:
        bench.node = replace(bench.node, annotations={**bench.node.annotations, ABORT: "true"})
    bench.node = replace(
        bench.node,
        labels={k: v for k, v in labels.items() if v},
        unschedulable=bench.node.unschedulable and not world["opened"],
        ready=world["ready"],
        allocatable=world["offers"],
        capacity=world["offers"],
    )
    bench.pods = tuple(p for p, here in zip(PODS, world["pods"], strict=True) if here)
    bench.manager_pod = world["manager"]
    bench.configurations = {n: bench.configurations.get(n) for n in world["names"]}
    bench.paused, bench.verdict = world["paused"], world["verdict"]
    mapped = {p.ref: i % 2 for i, p in enumerate(bench.pods)}
    bench.proof = HolderProof(mapped) if world["proven"] else HolderProof(gap="gap")


def check(bench, step, was):
    """Hold a step against what must never happen."""
    node, own = was
    if isinstance(step, Wait):
        assert bench.now_s < step.until_s < float("inf")
    if not isinstance(step, PatchNode):
        return
    if step.unschedulable is False:
        assert not own.was_unschedulable
    if own.state.is_before_label and MIG_CONFIG in step.labels:
        harmed = [p for p in bench.pods if uses_gpu(p, "gpu-operator")]
        safe = bench.proof.gpus if bench.proof.is_proven else {}
        assert [p.name for p in harmed if safe.get(p.ref) != 1 or p.gpu_runtime] == []
    for name, value in step.labels.items():
        if name.startswith(DEPLOY_PREFIX):
            assert (node.labels[name], value) == ("paused-for-mig-change", "true")
        else:
            assert name in {MIG_CONFIG, MIG_CONFIG_STATE}
    if step.finish is not None:
        assert step.journal is None


@settings(max_examples=120)
@given(st.lists(worlds, min_size=31, max_size=31), st.sampled_from(State), st.booleans())
def test_a_rollout_ends_whatever_happens(rounds, state, cordoned_before):
    """Within the sum of its deadlines, in few steps a cycle, never doing harm."""
    own = journal(state, was_unschedulable=cordoned_before, deadline_s=NOW_S + 1200.0)
    own = replace(own, evictions=("default/job-1", "default/web-1"))
    asked = {State.APPLYING: TARGET_NAME, State.REPAIRING: TARGET_NAME}
    labels = {MIG_CONFIG: asked.get(state, BEFORE_NAME)}
    bench = Bench(closed_node(labels=labels), own)
    by = rules(enabled=True, jobs=True)
    for world in rounds:
        befall(bench, world)
        for _ in range(12):
            if bench.journal is None:
                return
            was = (bench.node, bench.journal)
            step = bench.take(by)
            check(bench, step, was)
            if not isinstance(step, PatchNode):
                break
        bench.now_s += ROUND_S
    assert bench.now_s - NOW_S < ALL_DEADLINES_S


@given(worlds, st.sampled_from(State), st.floats(0, 5000))
def test_another_node_of_the_same_name_is_never_written(world, state, after_s):
    """Its uid differs, so the rollout is over without a step on it."""
    bench = Bench(closed_node(uid="uid-new"), journal(state), now_s=NOW_S + after_s)
    befall(bench, world)
    node = bench.node
    bench.take(rules())
    assert (bench.node, bench.journal) == (node, None)


@given(worlds, st.sampled_from(State), st.floats(0, 5000))
def test_the_same_look_gives_the_same_answer(world, state, after_s):
    """Nothing is remembered but the journal."""
    bench = Bench(closed_node(), journal(state), now_s=NOW_S + after_s)
    befall(bench, world)
    first = next_step(bench.journal, bench.look(), rules(), bench.now_s)
    assert next_step(bench.journal, bench.look(), rules(), bench.now_s) == first


@given(
    st.sets(st.sampled_from([0, 1, 3])),
    st.lists(st.sampled_from([0, 1, None]), min_size=4, max_size=4),
    st.sampled_from([(0,), (0, 1)]),
)
def test_nothing_is_labelled_under_a_device_holder(present, gpus, changing):
    """Only pods that are proven on GPUs that stay may be there."""
    bench = Bench(closed_node(), journal(State.DRAINING, gpus=changing), now_s=NOW_S + 20.0)
    bench.configurations = {TARGET_NAME: 0.0, BEFORE_NAME: 0.0}
    bench.pods = tuple(PODS[i] for i in sorted(present))
    bench.proof = HolderProof({PODS[i].ref: g for i, g in enumerate(gpus) if g is not None})
    step = bench.take(rules())
    stays = {PODS[i].ref for i, g in enumerate(gpus) if g == 1 and changing == (0,)}
    if {p.ref for p in bench.pods} <= stays:
        assert step.labels[MIG_CONFIG] == TARGET_NAME
    else:
        assert isinstance(step, Wait)
