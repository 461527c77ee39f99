"""Field cases of pending pods: what is demand, what is not, and what a node tells."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import (
    ClaimDriver,
    Container,
    Gang,
    Owner,
    PodGroup,
    Quota,
)
from autoscaler.domain.counts import Counts
from autoscaler.domain.reasons import Reason
from tests.builders import NOW_S, node, pod
from tests.fleets import api_nodes, api_pods, assessed, demanded, only, reasons

SMALL = "nvidia.com/mig-1g.5gb"


def ignored(demand):
    """Return the reason of each pod that is no demand, by name."""
    return {note.pod.name: note.reason for note in demand.ignored}


def counted(demand):
    """Return the names of the pods that count, in order of their groups."""
    return [ref.name for group in demand.groups for ref in group.pods]


DRIFTED = """
    kind: Node
    metadata:
      name: node-a100
      labels: {pool: a100, nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB,
               nvidia.com/gpu.count: "1", nvidia.com/mig.config: all-1g.10gb,
               nvidia.com/mig.config.state: success}
    status: {allocatable: {nvidia.com/mig-1g.10gb: "1"}}
"""


def test_c01_the_pod_counts_for_the_one_node_that_may_take_it():
    """The selector limits where help can come from; the node itself is drifted."""
    others = [node(f"other-{i}", [{"1g.10gb": 7}], "a100-80gb") for i in range(4)]
    user = pod("uses-it", "1g.10gb", node="node-a100")
    waits = pod("svc-a", "1g.10gb", node_selector={"pool": "a100"})
    objects = (*api_nodes(DRIFTED), *others, user, waits)
    (group,) = demanded(*objects).groups
    assert group.eligible == {"node-a100"}
    drifted = assessed(*objects).node("node-a100")
    assert drifted is not None
    assert reasons(drifted) == {Reason.DRIFTED}
    assert "promises 7xnvidia.com/mig-1g.10gb" in drifted.holds[0].message


def test_c02_a_gated_pod_is_not_demand():
    """A queue holds it back; it becomes demand when the last gate is gone."""
    pods = api_pods(
        """
        kind: Pod
        metadata: {name: q-17, namespace: team-x}
        spec:
          schedulingGates: [{name: kueue.x-k8s.io/admission}]
          containers: [{name: m, resources: {limits: {nvidia.com/mig-2g.10gb: "1"}}}]
        status:
          phase: Pending
          conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]
        """
    )
    demand = demanded(node(), *pods)
    assert demand.groups == ()
    assert ignored(demand) == {"q-17": Reason.GATED}
    (free,) = (replace(p, gates=()) for p in pods)
    assert counted(demanded(node(), free)) == ["q-17"]


def test_c03_a_pod_that_fits_today_is_helped_by_no_change():
    """Its queue is over the limit, whatever the scheduler's message says."""
    message = f"queue team-x is over its limit for {SMALL}: limit 4, allocated 4, requested 1"
    waits = pod("b-3", scheduler="batch-x", unschedulable_message=message)
    demand = demanded(node(), waits)
    (note,) = demand.fits_today
    assert (note.pod.name, note.reason) == ("b-3", Reason.FITS_TODAY)
    assert "node-a" in note.message


def test_c04_two_profiles_in_one_container_are_one_bundle():
    """One node must offer all of it at once."""
    both = {"nvidia.com/mig-2g.20gb": 1, "nvidia.com/mig-1g.10gb": 2}
    own = node(layout=[{"7g.80gb": 1}], key="a100-80gb")
    (group,) = demanded(own, pod("two-kinds", both)).groups
    assert group.bundle == Counts(both)
    assert group.number == 1


def test_c05_a_whole_gpu_that_a_pod_is_about_to_take_is_claimed():
    """whole-1 fits today and chooses first; both-1 needs both on the one node."""
    cut = {"3g.40gb": 1, "1g.10gb": 1}
    layout = [cut, cut, *[None] * 6]
    users = [pod(f"user-{i}", {"nvidia.com/gpu": 1}, node="node-a") for i in range(5)]
    slices = [pod(f"slice-user-{i}", "3g.40gb", node="node-a") for i in range(2)]
    waiting = [
        pod("whole-1", {"nvidia.com/gpu": 1}, created_s=NOW_S - 600.0),
        pod("slice-1", "3g.40gb", created_s=NOW_S - 60.0),
        pod(
            "both-1", {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 1}, created_s=NOW_S - 30.0
        ),
    ]
    own = node(layout=layout, key="h100-80gb")
    demand = demanded(own, *users, *slices, *waiting)
    assert counted(demand) == ["whole-1", "slice-1", "both-1"]
    assert [note.pod.name for note in demand.fits_today] == ["whole-1"]
    assert demand.groups[2].bundle.total() == 2


def test_c06_init_and_main_container_run_one_after_the_other():
    """The larger of the two counts, not their sum."""
    containers = (
        Container("check", Counts({SMALL: 2}), init=True),
        Container("main", Counts({SMALL: 1})),
    )
    (group,) = demanded(node(), pod("both", containers=containers)).groups
    assert group.bundle == Counts({SMALL: 2})


def test_c07_a_gang_counts_as_a_whole():
    """Four workers are needed together; the planner may not serve three."""
    pods = [pod(f"g1-{i}", "3g.20gb", gang=Gang("g1", 0)) for i in range(4)]
    nodes = [node("n1", [{"7g.40gb": 1}]), node("n2", [{"3g.20gb": 2}])]
    groups = demanded(*nodes, *pods, pod_groups=(PodGroup("default", "g1", 4),)).groups
    (group,) = groups
    assert (group.gang, group.gang_min, group.number) == ("default/g1", 4, 4)
    assert demanded(*nodes, *pods).fits_today == ()


def test_c07_a_gang_that_cannot_become_complete_is_no_demand():
    """One member is gated, so room for the three others helps nobody."""
    pods = [pod(f"g1-{i}", "3g.20gb", gang=Gang("g1", 4)) for i in range(4)]
    pods[0] = replace(pods[0], gates=("hold",))
    demand = demanded(node(), *pods)
    assert demand.groups == ()
    assert ignored(demand)["g1-1"] is Reason.GANG_INCOMPLETE
    assert ignored(demand)["g1-0"] is Reason.GATED


def test_c08_a_profile_that_no_board_has_is_impossible_with_the_nearest_named():
    """The manifest was written for a 40 GB board."""
    nodes = [node(f"h{i}", [{"1g.10gb": 7}], "h100-80gb") for i in range(6)]
    old = pod("old-manifest", "1g.5gb", created_s=NOW_S - 10800.0)
    demand = demanded(*nodes, old)
    assert demand.groups == ()
    (note,) = demand.impossible
    assert note.reason is Reason.IMPOSSIBLE_PROFILE
    assert "nearest is 1g.10gb on h100-80gb" in note.message


def rejected(name, reason, **changes):
    """Return a copy that kubelet rejected."""
    return pod(name, node="gpu-a1", phase="Failed", reason=reason, ready=False, **changes)


def test_c09_rejected_copies_are_no_demand_and_block_their_node():
    """One pod waits; two failed copies in a short time tell of a sick node."""
    pods = [
        rejected("r-1", f"OutOf{SMALL}"),
        rejected("r-2", "UnexpectedAdmissionError"),
        pod("r-3"),
    ]
    objects = (node("gpu-a1"), *[replace(p, created_s=NOW_S - 60.0) for p in pods])
    demand = demanded(*objects)
    assert counted(demand) == ["r-3"]
    assert ignored(demand) == {"r-1": Reason.FINISHED, "r-2": Reason.FINISHED}
    assert reasons(only(assessed(*objects))) == {Reason.ADMISSION_FAILURES}


def test_c09_failures_of_long_ago_block_nothing():
    """Failed pods lie around for days."""
    pods = [rejected(f"r-{i}", "UnexpectedAdmissionError") for i in range(3)]
    old = [replace(p, started_s=NOW_S - 7200.0) for p in pods]
    assert only(assessed(node("gpu-a1"), *old)).holds == ()


def victim(**changes):
    """Return a pod that preemption has chosen."""
    return pod("lo-1", "2g.10gb", node="gpu-a1", **changes)


NOMINEE = pod("hi-1", "2g.10gb", priority=1000, nominated_node="gpu-a1")


def test_c10_preemption_is_waited_for():
    """The node stays as it is, the pod is no demand, its instance is taken once."""
    layout = [{"2g.10gb": 3}]
    lo = victim(deletion_s=NOW_S + 600.0)
    found = only(assessed(node("gpu-a1", layout), lo, NOMINEE))
    assert reasons(found) == {Reason.PREEMPTION}
    assert found.allocated == Counts({"nvidia.com/mig-2g.10gb": 1})
    demand = demanded(node("gpu-a1", layout), lo, NOMINEE)
    assert ignored(demand)["hi-1"] is Reason.NOMINATED
    assert demand.groups == ()


def test_c10_after_grace_and_margin_the_pod_is_demand_again():
    """Victims that never go leave a nomination that means nothing."""
    layout = [{"2g.10gb": 3}]
    stuck = victim(deletion_s=NOW_S - 3600.0)
    others = [pod(f"other-{i}", "2g.10gb", node="gpu-a1") for i in range(2)]
    objects = (node("gpu-a1", layout), stuck, *others, NOMINEE)
    assert only(assessed(*objects)).holds == ()
    assert counted(demanded(*objects)) == ["hi-1"]


def test_c11_pods_of_the_operator_are_set_aside_everywhere():
    """Validators are no demand, no holders and no failures."""
    base = {"namespace": "gpu-operator", "created_s": NOW_S - 60.0}
    pods = [
        rejected("nvidia-device-plugin-validator-x2", "UnexpectedAdmissionError", **base),
        rejected("nvidia-device-plugin-validator-x3", "UnexpectedAdmissionError", **base),
        pod("nvidia-cuda-validator-k9", node="gpu-a1", phase="Pending", **base),
        pod("validator-pending", **base),
    ]
    found = only(assessed(node("gpu-a1"), *pods))
    assert found.holds == ()
    assert found.holders == ()
    assert found.gpus[0].is_idle
    demand = demanded(node("gpu-a1"), *pods)
    assert demand.groups == ()
    assert set(ignored(demand).values()) == {Reason.OPERATOR_POD}


def test_c12_claims_are_not_ours_and_neither_is_a_node_that_publishes_them():
    """The claim driver makes instances itself."""
    pods = api_pods(
        """
        kind: Pod
        metadata: {name: claim-1, namespace: team-x}
        spec:
          resourceClaims: [{name: mig, resourceClaimTemplateName: mig-1g}]
          containers: [{name: m, resources: {claims: [{name: mig}]}}]
        status: {phase: Pending}
        """
    )
    drivers = (ClaimDriver("gpu-a9", "gpu.nvidia.com"),)
    demand = demanded(node("gpu-a9"), *pods, claim_drivers=drivers)
    assert ignored(demand) == {"claim-1": Reason.CLAIMS}
    found = only(assessed(node("gpu-a9"), *pods, claim_drivers=drivers))
    assert reasons(found) == {Reason.TWO_OWNERS}


def test_g06_a_daemon_pod_waits_for_its_own_node_only():
    """Its affinity names the node; no other can help."""
    pods = api_pods(
        """
        metadata:
          name: edge-infer-x1
          namespace: team-x
          ownerReferences: [{kind: DaemonSet, name: edge-infer, controller: true, uid: d}]
        spec:
          affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{matchFields: [
              {key: metadata.name, operator: In, values: [gpu-a1]}]}]}}}
          containers: [{name: m, resources: {limits: {nvidia.com/mig-1g.5gb: "1"}}}]
        status: {phase: Pending}
        """
    )
    (group,) = demanded(node("gpu-a1"), node("gpu-a2"), *pods).groups
    assert group.eligible == {"gpu-a1"}


def test_g07_a_terminating_pod_holds_its_device_and_its_successor_is_demand():
    """An accepted eviction is not an empty board."""
    layout = [{"3g.20gb": 2}]
    going = pod("train-3", "3g.20gb", node="gpu-a1", deletion_s=NOW_S - 720.0)
    stays = pod("train-4", "3g.20gb", node="gpu-a1")
    next_one = pod("train-3-again", "3g.20gb")
    found = only(assessed(node("gpu-a1", layout), going, stays, next_one))
    assert found.gpus[0].held == Counts({"3g.20gb": 2})
    demand = demanded(node("gpu-a1", layout), going, stays, next_one)
    assert counted(demand) == ["train-3-again"]
    assert demand.fits_today == ()


def test_g05_a_crash_looping_pod_keeps_its_device():
    """Not ready and never active is not unused."""
    crashing = pod(
        "svc-0", "3g.20gb", node="node-a", ready=False, waiting=("CrashLoopBackOff",)
    )
    found = only(assessed(node(layout=[{"3g.20gb": 2}]), crashing))
    assert found.gpus[0].held == Counts({"3g.20gb": 1})
    assert found.holds == ()


def test_e02_a_pod_that_asked_for_nothing_may_use_every_gpu():
    """Only the runtime class gives it away; nothing on the node is idle."""
    quiet = pod("dbg-0", {}, node="node-a", gpu_runtime=True, owner=Owner("Deployment", "dbg"))
    found = only(assessed(node(layout=[{"1g.5gb": 7}] * 2), quiet))
    assert not any(gpu.is_idle for gpu in found.gpus)
    assert [p.name for p in found.holders] == ["dbg-0"]
    assert found.holds == ()


def test_e02_a_daemon_pod_that_asked_for_nothing_is_a_named_blocker():
    """It cannot be evicted, so the node is told as blocked by it."""
    owner = Owner("DaemonSet", "node-stats")
    stats = pod("node-stats-x1", {}, node="node-a", gpu_runtime=True, owner=owner)
    found = only(assessed(node(), stats))
    assert reasons(found) == {Reason.DAEMON_SET_POD}
    assert "default/node-stats-x1" in found.holds[0].message


def test_e08_pods_that_cannot_start_are_bound_and_block_their_node():
    """They hold devices here; no other node is cut for them."""
    stuck = [
        pod(f"p-{i}", node="gpu-a1", phase="Pending", waiting=("CreateContainerError",))
        for i in range(2)
    ]
    objects = (node("gpu-a1"), *stuck)
    assert reasons(only(assessed(*objects))) == {Reason.START_FAILURES}
    demand = demanded(*objects)
    assert demand.groups == ()
    assert set(ignored(demand).values()) == {Reason.BOUND}


def test_pods_beyond_a_quota_are_not_demand():
    """The quota was lowered: the oldest pods are within it, the youngest is not."""
    running = [pod(f"r-{i}", node="node-a") for i in range(3)]
    waiting = [pod(f"w-{i}", created_s=NOW_S - 600.0 + i) for i in range(2)]
    quota = Quota("default", "gpus", hard=Counts({SMALL: 4}), used=Counts({SMALL: 5}))
    demand = demanded(node(), *running, *waiting, quotas=(quota,))
    assert counted(demand) == ["w-0"]
    assert ignored(demand)["w-1"] is Reason.OVER_QUOTA
