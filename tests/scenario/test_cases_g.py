"""Field cases of the Kubernetes API during a roll: evictions, conflicts, refusals."""

from contextlib import contextmanager

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.control.apply import Apply
from autoscaler.control.outside import Outside
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.fingerprint import observed_hash
from autoscaler.domain.fleet.assessment import assess
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.mig.configuration import node_configuration
from autoscaler.domain.mig.resource import supply_of
from autoscaler.domain.plan.plan import Eviction, GpuChange, NodeChange, Plan, Price
from autoscaler.domain.policy.policy import policy_hash
from autoscaler.ports import DISRUPTION_BUDGETS, NODES
from autoscaler.simulation.apiserver.faults import Fault, Point, Rule
from autoscaler.simulation.prometheus_server import PrometheusServer
from autoscaler.simulation.store import StoreClient
from tests.builders import model
from tests.loops import (
    Replica,
    annotations,
    auto_policy,
    create_pod,
    is_closed,
    metrics_of,
    mutations,
    world_with_namespace,
)
from tests.worlds import CONFIG, HALVES, ONE, SEVENS, THREE, devices, label, pods, task

EVICTING = auto_policy(
    disruption={"eviction": {"enabled": True, "jobs": False, "unowned": False}}
)
WEB = ("ReplicaSet", "web")


def evictions(world, name="person"):
    """Return the answers to requests for evictions."""
    found = [r for r in mutations(world, name) if r.subresource == "eviction"]
    return [r.status_code for r in found]


def change_of(world, cluster, *evicted):
    """Return a plan that cuts the node for small pods and evicts these pods for it."""
    snapshot = assess(cluster.observe(), EVICTING, None, world.clock.now_s())
    member = snapshot.node("n1")
    after = (Counts(SEVENS),)
    own = NodeChange(
        node="n1",
        uid=member.node.uid,
        pool=member.pool,
        observed=observed_hash(member, (0,)),
        config_name=node_configuration(model(), after)[0],
        gpus=(GpuChange(0, member.gpus[0].counts, after[0]),),
        layout=after,
        resources=supply_of(after),
        evictions=tuple(Eviction(ref, "it holds the GPU") for ref in evicted),
        price=Price(waiting_avoided=1e6),
    )
    now_s = world.clock.now_s()
    return Plan("by-hand", now_s, "test", policy_hash(EVICTING), "auto", changes=(own,))


@contextmanager
def applying(world, *names):
    """Give an apply of a change that evicts pods of these names."""
    client = StoreClient(world.store, "person")
    cluster = KubernetesCluster(client, world.clock)
    with PrometheusServer(world.metrics.api) as server:
        metrics = metrics_of(world, server)
        outside = Outside(cluster, world.clock, metrics, identity="person")
        uids = {name: item["metadata"]["uid"] for name, item in pods(world).items()}
        refs = [PodRef("jobs", name, uids[name]) for name in names]
        plan = change_of(world, cluster, *refs)
        yield Apply(Setting(outside, EVICTING, leadership_for(outside, EVICTING)), plan)


def world_with_web(number=1, **spec):
    """Return a node in halves, of which pods of a ReplicaSet hold some."""
    world = world_with_namespace(HALVES)
    for index in range(number):
        create_pod(world, f"web-{index}", requests={THREE: 1}, owner=WEB, **spec)
    world.run_for(30)
    return world


def add_budget(world, allowed, healthy):
    """Add a budget over all pods; nobody keeps its status here but the test."""
    spec = {"minAvailable": 2, "selector": {}}
    body = {"metadata": {"name": "infer-pdb"}, "spec": spec}
    client = world.platform.client
    client.create(DISRUPTION_BUDGETS, "jobs", body)
    world.run_for(5)
    return allowed, healthy


def test_a_planned_pod_is_evicted_and_the_node_changed():
    """Through the Eviction API, with its uid; never deleted by us."""
    world = world_with_web()
    with applying(world, "web-0") as apply:
        applied = apply.run()
    assert [r.result for r in applied.records] == [Result.DONE]
    assert evictions(world) == [201]
    assert not [r for r in mutations(world, "person") if r.verb == "delete"]
    assert devices(world)[ONE] == 7


def test_nobody_is_evicted_without_metrics():
    """Missing is never zero: what the pod does is not known."""
    world = world_with_web()
    with applying(world, "web-0") as apply:
        world.faults.scrape_gaps.add("dcgm-exporter")
        broken = apply.setting.outside
        object.__setattr__(broken, "metrics", None)
        applied = apply.run()
    assert evictions(world) == []
    assert [r.result for r in applied.records] == [Result.ABORTED]
    assert (is_closed(world), label(world, CONFIG)) == (False, "all-3g.20gb")


def test_g04_a_budget_that_never_clears_ends_in_an_undone_rollout():
    """The pod is named, the node is open again, and nothing is deleted instead."""
    world = world_with_web(2)
    add_budget(world, 0, 2)
    with applying(world, "web-0", "web-1") as apply:
        applied = apply.run()
    assert [r.result for r in applied.records] == [Result.ABORTED]
    assert "jobs/web-0" in applied.records[0].message
    assert set(pods(world)) == {"web-0", "web-1"}
    assert (is_closed(world), annotations(world)) == (False, {})
    assert 201 not in evictions(world)


def test_g04_a_budget_that_clears_lets_the_rollout_go_on():
    """It is asked again in every look."""
    world = world_with_web(2)
    add_budget(world, 0, 2)
    world.engine.call_at(
        world.clock.now_s() + 200.0,
        lambda: world.platform.client.delete(DISRUPTION_BUDGETS, "jobs", "infer-pdb"),
    )
    with applying(world, "web-0", "web-1") as apply:
        applied = apply.run()
    assert [r.result for r in applied.records] == [Result.DONE]
    assert evictions(world)[-2:] == [201, 201]


def test_g07_a_pod_that_takes_long_to_end_holds_its_device_until_then():
    """An accepted eviction is not an empty board."""
    world = world_with_web(terminationGracePeriodSeconds=400)
    world.faults.stuck_pods.add("jobs/web-0")
    freed_s = world.clock.now_s() + 600.0
    world.engine.call_at(freed_s, world.faults.stuck_pods.clear)
    labelled = []
    with applying(world, "web-0") as apply:
        apply.tell = lambda p: labelled.append((world.clock.now_s(), label(world, CONFIG)))
        applied = apply.run()
    assert [r.result for r in applied.records] == [Result.DONE]
    assert {name for at_s, name in labelled if at_s < freed_s} == {"all-3g.20gb"}
    assert evictions(world) == [201]


def test_g08_conflicts_are_met_with_a_fresh_read():
    """Somebody else's write decides; ours is made anew."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
    rule = Rule(Point.BEFORE_APPLY, Fault(code=409, reason="Conflict"), is_node_patch, times=3)
    world.store.faults.add(rule)
    replica = Replica(world, auto_policy())
    world.run_for(500)
    assert rule.struck == 3
    assert [r.result for r in replica.records] == [Result.DONE]


def is_node_patch(request):
    """Match our patches of nodes."""
    return (request.kind.plural, request.verb.value, request.user_agent) == (
        "nodes",
        "patch",
        "replica-1",
    )


def is_label_patch(request):
    """Match our patches that set a configuration."""
    labels = ((request.body or {}).get("metadata") or {}).get("labels") or {}
    return is_node_patch(request) and CONFIG in labels


def test_d08_a_label_that_is_refused_for_good_is_not_tried_again():
    """A refusal is our own mistake; the node must not stay closed for it."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
    fault = Fault(code=422, reason="Invalid", message="not a label value")
    rule = world.store.faults.add(Rule(Point.BEFORE_APPLY, fault, is_label_patch, times=None))
    replica = Replica(world, auto_policy())
    world.run_for(600)
    assert rule.struck == 1
    assert [r.result for r in replica.records] == [Result.ABORTED]
    assert "not a label value" in replica.records[0].message
    assert (is_closed(world), annotations(world)) == (False, {})


def test_a_lost_permission_acts_on_nothing_and_says_so():
    """Every write to a node is forbidden: no rollout, an error, and the loop goes on."""
    world = world_with_namespace(HALVES)
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
    fault = Fault(code=403, reason="Forbidden", message="nodes is forbidden")
    world.store.faults.add(Rule(Point.BEFORE_APPLY, fault, is_node_patch, times=None))
    replica = Replica(world, auto_policy())
    world.run_for(200)
    assert any("forbidden" in error for o in replica.outcomes for error in o.errors)
    assert replica.records == []
    assert not is_closed(world)


def test_a_node_that_is_deleted_during_a_rollout_frees_the_budget():
    """And another node is changed instead."""
    world = world_with_namespace(HALVES, nodes=("n1", "n2"))
    world.submit([task(f"job-{i}", {ONE: 1}, run_s=9000.0) for i in range(7)])
    replica = Replica(world, auto_policy())
    world.run_for(70)
    world.platform.client.delete(NODES, None, "n1")
    world.run_for(600)
    results = {r.node: r.result for r in replica.records}
    assert results == {"n1": Result.GONE, "n2": Result.DONE}
