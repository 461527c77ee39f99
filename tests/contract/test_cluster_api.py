"""What the loop may count on from a cluster, whichever client brings the objects."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from autoscaler.adapters.kubernetes.cluster import KubernetesCluster
from autoscaler.adapters.kubernetes.credentials import connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.adapters.kubernetes.transport import HttpLimits
from autoscaler.domain.cluster.objects import ConfigMap, Gang, PodRef, Taint
from autoscaler.domain.cluster.placeholder import PlaceholderOrder, placeholder_of
from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import (
    Conflict,
    InvariantError,
    NotFound,
    ObservationError,
    Refused,
    Unavailable,
)
from autoscaler.ports import (
    EVENTS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    ClusterEvent,
    LeaseState,
    NodePatch,
    ObjectClient,
)
from autoscaler.simulation.api_server import ApiServer
from autoscaler.simulation.apiserver.faults import Break, Fault, Point, Rule
from autoscaler.simulation.apiserver.request import Request, Verb
from autoscaler.simulation.clock import VirtualClock
from autoscaler.simulation.store import Store, StoreClient
from autoscaler.simulation.world import PLACEHOLDER_CLASS
from tests.builders import api_node, api_pod

NOW_S = 1_900_000_000.0
LIMITS = HttpLimits(connect_s=2.0, silence_s=0.5, call_s=3.0, tries=2, page_size=2)
MIG = "nvidia.com/mig-1g.5gb"
WHOLE = "nvidia.com/mig-7g.40gb"


@dataclass(frozen=True, slots=True)
class World:
    """A cluster port, the raw client under it, and the store behind both."""

    cluster: KubernetesCluster
    client: ObjectClient
    store: Store


@pytest.fixture(params=["store", "http"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """An empty cluster, in process and over HTTP."""
    clock = VirtualClock(NOW_S)
    store = Store(clock.now_s)
    if request.param == "store":
        client: ObjectClient = StoreClient(store)
        yield World(KubernetesCluster(client, clock), client, store)
        return
    with ApiServer(store) as server:
        connection = connect_to(server.url)
        client = HttpObjectClient(connection, clock, LIMITS)
        yield World(KubernetesCluster(client, clock), client, store)
        connection.pool.clear()


def budget(name: str, labels: dict[str, str], allowed: int) -> dict[str, object]:
    """Return a disruption budget whose controller has written its state."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }


def bound(name: str, node: str = "node-a", **metadata: object) -> dict[str, object]:
    """Return a running pod on a node."""
    return api_pod(
        name,
        metadata=metadata,
        spec={"nodeName": node},
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )


def fail(world: World, plural: str, fault: Fault, verb: Verb = Verb.LIST) -> None:
    """Let every request of a verb for one kind fail."""

    def is_meant(request: Request) -> bool:
        return request.kind.plural == plural and request.verb is verb

    world.store.faults.add(Rule(Point.BEFORE_APPLY, fault, is_meant, times=None))


def test_one_pass_holds_all_objects_in_order(world: World) -> None:
    """Lists longer than a page come whole, sorted by name."""
    names = ["e", "c", "a", "d", "b"]
    world.store.load([api_node(name) for name in names])
    world.store.load([bound(f"pod-{name}", node=name) for name in names])
    world.store.load([budget("pdb", {"app": "a"}, 1)])
    seen = world.cluster.observe()
    assert [node.name for node in seen.nodes] == sorted(names)
    assert [pod.name for pod in seen.pods] == [f"pod-{name}" for name in sorted(names)]
    assert seen.nodes[0].allocatable == Counts({MIG: 7})
    assert [b.disruptions_allowed for b in seen.budgets] == [1]
    assert seen.observed_at_s == NOW_S
    assert not seen.offline


def test_gangs_get_the_number_of_their_pod_group(world: World) -> None:
    """A pod names its group, the PodGroup says how many must start together."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 4},
    }
    marked = api_pod(metadata={"annotations": {"scheduling.k8s.io/group-name": "train"}})
    world.store.load([group, marked])
    assert world.cluster.observe().pods[0].gang == Gang("train", 4)


def test_only_config_maps_about_mig_are_read(world: World) -> None:
    """Ours, the one the ClusterPolicy names, and those that MIG managers generated."""
    label = {"app.kubernetes.io/component": "nvidia-mig-manager"}
    config_maps = [
        config_map("mig-autoscaler-config"),
        config_map("own-config"),
        config_map("node-a-mig-config", labels=label),
        config_map("something-else"),
        config_map("mig-autoscaler-status", "mig-autoscaler"),
    ]
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"migManager": {"config": {"name": "own-config"}}},
    }
    world.store.load([*config_maps, policy])
    seen = world.cluster.observe()
    assert [(m.name, m.operator_owned) for m in seen.config_maps] == [
        ("mig-autoscaler-config", False),
        ("node-a-mig-config", True),
        ("own-config", False),
        ("mig-autoscaler-status", False),
    ]
    assert seen.mig_config_map == "own-config"


def config_map(
    name: str, namespace: str = "gpu-operator", labels: dict[str, str] | None = None
) -> dict[str, object]:
    """Return a ConfigMap."""
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    data = {"config.yaml": "x"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_nodes_with_a_ready_mig_manager_are_known(world: World) -> None:
    """A manager that is not ready does not count."""
    ready = bound("m-1", "a", labels={"app": "nvidia-mig-manager"})
    late = bound("m-2", "b", labels={"app": "nvidia-mig-manager"})
    late["status"] = {"phase": "Pending"}
    world.store.load([ready, late])
    assert world.cluster.observe().manager_nodes == frozenset({"a"})


@pytest.mark.parametrize("plural", ["nodes", "pods", "poddisruptionbudgets"])
@pytest.mark.parametrize("code", [401, 403, 404, 410, 429, 500, 503])
def test_a_list_that_failed_is_never_an_empty_list(
    world: World, plural: str, code: int
) -> None:
    """The pass ends in an error that names the list."""
    fail(world, plural, Fault(code=code, reason="Injected"))
    with pytest.raises(ObservationError, match=plural):
        world.cluster.observe()


@pytest.mark.parametrize("how", list(Break))
def test_a_broken_connection_is_never_an_empty_list(world: World, how: Break) -> None:
    """Dropped, silent or cut off: an error that names the list."""
    world.store.load([api_node()])
    rule = Rule(Point.BEFORE_REPLY, Fault(broken=how), times=None)
    world.store.faults.add(rule)
    with pytest.raises(ObservationError, match="nodes"):
        world.cluster.observe()
    world.store.faults.clear()


def test_what_is_not_permitted_and_not_needed_is_noticed(world: World) -> None:
    """A 403 on quotas is a notice; the pass goes on."""
    world.store.load([api_node()])
    fail(world, "resourcequotas", Fault(code=403, reason="Forbidden", message="no rights"))
    seen = world.cluster.observe()
    assert len(seen.nodes) == 1
    assert any("resourcequotas" in notice and "no rights" in notice for notice in seen.notices)


def test_an_unavailable_optional_list_ends_the_pass(world: World) -> None:
    """Who owns the GPUs must not be unknown for a moment only."""
    fail(world, "resourceslices", Fault(code=503, reason="ServiceUnavailable"))
    with pytest.raises(ObservationError, match="resourceslices"):
        world.cluster.observe()


def test_kinds_that_are_not_served_are_absent(world: World) -> None:
    """A cluster without batch systems has no pod groups, and no notice about them."""
    for plural in ("podgroups", "resourceslices", "clusterpolicies"):
        fail(world, plural, Fault(code=404, reason="NotFound"))
    seen = world.cluster.observe()
    assert (seen.pod_groups, seen.claim_drivers, seen.mig_config_map) == ((), (), None)
    assert seen.notices == ()


def test_pods_of_a_node_are_read_by_field(world: World) -> None:
    """Pods of other nodes and pending ones stay out."""
    world.store.load([bound("b"), bound("a"), bound("c", "node-b"), api_pod("d")])
    assert [pod.name for pod in world.cluster.pods_on("node-a")] == ["a", "b"]


def test_one_patch_changes_labels_annotations_and_spec(world: World) -> None:
    """None removes a key; keys of others stay."""
    world.store.load([api_node(labels={"theirs": "1", "old": "1"}, annotations={"gone": "x"})])
    seen = world.cluster.read_node("node-a")
    patch = NodePatch(
        labels={"nvidia.com/mig.config": "as-1", "old": None},
        annotations={"mig-autoscaler.io/rollout": "{}", "gone": None},
        unschedulable=True,
        resource_version=seen.resource_version,
        uid=seen.uid,
    )
    patched = world.cluster.patch_node("node-a", patch)
    assert patched.unschedulable
    assert patched.labels["theirs"] == "1"
    assert patched.labels["nvidia.com/mig.config"] == "as-1"
    assert "old" not in patched.labels
    assert patched.annotations == {"mig-autoscaler.io/rollout": "{}"}
    opened = world.cluster.patch_node("node-a", NodePatch(unschedulable=False))
    assert not opened.unschedulable
    assert opened == world.cluster.read_node("node-a")


def test_a_stale_version_is_a_conflict_and_changes_nothing(world: World) -> None:
    """Someone else wrote first: their value stays."""
    world.store.load([api_node()])
    seen = world.cluster.read_node("node-a")
    world.cluster.patch_node("node-a", NodePatch(labels={"k": "theirs"}))
    with pytest.raises(Conflict):
        world.cluster.patch_node(
            "node-a", NodePatch(labels={"k": "ours"}, resource_version=seen.resource_version)
        )
    assert world.cluster.read_node("node-a").labels["k"] == "theirs"


def test_another_node_of_the_same_name_is_a_conflict(world: World) -> None:
    """A patch meant for a node that was replaced does not reach the new one."""
    world.store.load([api_node()])
    with pytest.raises(Conflict, match="replaced"):
        world.cluster.patch_node("node-a", NodePatch(labels={"k": "v"}, uid="uid-of-old"))
    assert "k" not in world.cluster.read_node("node-a").labels


def test_a_label_that_is_not_allowed_is_refused(world: World) -> None:
    """A 422 is not to be tried again."""
    world.store.load([api_node()])
    with pytest.raises(Refused, match="Invalid value"):
        world.cluster.patch_node(
            "node-a", NodePatch(labels={"nvidia.com/mig.config": "all-1g.10gb+me"})
        )


def test_a_missing_node_is_not_found(world: World) -> None:
    """Reading and patching say so alike."""
    with pytest.raises(NotFound):
        world.cluster.read_node("nobody")
    with pytest.raises(NotFound):
        world.cluster.patch_node("nobody", NodePatch(labels={"k": "v"}))


def test_eviction_removes_the_pod(world: World) -> None:
    """A pod without a grace period is gone at once, one with it is terminating."""
    world.store.load([bound("a")])
    world.cluster.evict(PodRef("default", "a", "uid-a"))
    left = world.cluster.pods_on("node-a")
    assert not left or left[0].deletion_s is not None


def test_evicting_what_is_gone_or_replaced_is_done(world: World) -> None:
    """The pod that was meant is not there any more; a new one of its name stays."""
    world.store.load([bound("a")])
    world.cluster.evict(PodRef("default", "nobody", "uid-nobody"))
    world.cluster.evict(PodRef("default", "a", "uid-of-old"))
    assert [pod.deletion_s for pod in world.cluster.pods_on("node-a")] == [None]


def test_an_eviction_names_the_pod_by_uid(world: World) -> None:
    """By its name alone another pod could be hit."""
    with pytest.raises(InvariantError):
        world.cluster.evict(PodRef("default", "a"))


def order(name: str = "mig-placeholder-x-0") -> PlaceholderOrder:
    """Return a placeholder for a whole GPU of node-a."""
    taints = (
        Taint("team", "NoSchedule", "ml"),
        Taint("node.kubernetes.io/not-ready", "NoExecute"),
    )
    return PlaceholderOrder(name, "node-a", "nvidia.com/mig-7g.40gb", "pause:1", 900, taints)


def with_class(world: World) -> World:
    """Return a world that has what placeholders need."""
    for name in ("mig-autoscaler", "team"):
        world.client.create(NAMESPACES, None, {"metadata": {"name": name}})
    world.client.create(PRIORITY_CLASSES, None, PLACEHOLDER_CLASS)
    return world


def test_a_placeholder_is_early_in_the_queue_and_for_one_node(world: World) -> None:
    """It takes nothing from anyone, ends by itself once bound, and is no demand."""
    with_class(world).cluster.create_placeholder("mig-autoscaler", order())
    raw = world.client.get(PODS, "mig-autoscaler", order().name)["spec"]
    assert (raw["priority"], raw["preemptionPolicy"]) == (1, "Never")
    assert raw["activeDeadlineSeconds"] > 0
    (limits,) = [c["resources"]["limits"] for c in raw["containers"]]
    assert limits == {"nvidia.com/mig-7g.40gb": "1"}
    # A node that is closed or not ready is not for it either.
    assert [t["key"] for t in raw["tolerations"] if not t["key"].startswith("node.")] == [
        "team"
    ]
    assert "node.kubernetes.io/unschedulable" not in {t["key"] for t in raw["tolerations"]}
    seen = world.cluster.observe()
    assert seen.pods == ()
    (own,) = map(placeholder_of, seen.placeholders)
    assert (own.node, own.holds, own.is_bound) == ("node-a", Counts({WHOLE: 1}), False)


def test_a_second_placeholder_of_a_name_is_a_conflict(world: World) -> None:
    """Whoever died after the first write makes no second one."""
    with_class(world).cluster.create_placeholder("mig-autoscaler", order())
    with pytest.raises(Conflict):
        world.cluster.create_placeholder("mig-autoscaler", order())


def test_without_its_priority_class_a_placeholder_is_refused(world: World) -> None:
    """By the server, in words that name it."""
    world.client.create(NAMESPACES, None, {"metadata": {"name": "mig-autoscaler"}})
    with pytest.raises(Refused, match="mig-autoscaler-placeholder"):
        world.cluster.create_placeholder("mig-autoscaler", order())


def test_a_mark_in_another_namespace_makes_no_placeholder(world: World) -> None:
    """It is a pod like any other."""
    with_class(world).cluster.create_placeholder("team", order())
    seen = world.cluster.observe()
    assert ([pod.name for pod in seen.pods], seen.placeholders) == ([order().name], ())


def test_deleting_hits_the_very_pod(world: World) -> None:
    """Not a later one of its name; what is gone is gone, and a name alone is not enough."""
    with_class(world).cluster.create_placeholder("mig-autoscaler", order())
    (pod,) = world.cluster.observe().placeholders
    with pytest.raises(Conflict):
        world.cluster.delete_pod(replace(pod.ref, uid="of-old"))
    with pytest.raises(InvariantError):
        world.cluster.delete_pod(replace(pod.ref, uid=""))
    world.cluster.delete_pod(pod.ref)
    assert world.cluster.observe().placeholders == ()
    world.cluster.delete_pod(pod.ref)


def test_a_budget_that_forbids_an_eviction_is_named(world: World) -> None:
    """The eviction is unavailable now, and the pod stays."""
    world.store.load([bound("a", labels={"app": "a"}), budget("infer-pdb", {"app": "a"}, 0)])
    with pytest.raises(Unavailable, match="infer-pdb"):
        world.cluster.evict(PodRef("default", "a", "uid-a"))
    assert [pod.deletion_s for pod in world.cluster.pods_on("node-a")] == [None]


def test_two_budgets_on_one_pod_make_it_unavailable(world: World) -> None:
    """The API server answers 500 to that."""
    budgets = [budget(name, {"app": "a"}, 1) for name in ("p", "q")]
    world.store.load([bound("a", labels={"app": "a"}), *budgets])
    with pytest.raises(Unavailable):
        world.cluster.evict(PodRef("default", "a", "uid-a"))


def test_config_maps_are_created_then_replaced_key_by_key(world: World) -> None:
    """Keys that are not named stay; a stale version is a conflict."""
    assert world.cluster.read_config_map("default", "m") is None
    created = world.cluster.write_config_map(
        ConfigMap("default", "m", data={"a": "1", "b": "1"}), {"note": "x"}
    )
    again = world.cluster.write_config_map(
        ConfigMap("default", "m", created.resource_version, {"a": "2"}), {"note": None}
    )
    assert again.data == {"a": "2", "b": "1"}
    assert again.annotations == {}
    assert world.cluster.read_config_map("default", "m") == again
    with pytest.raises(Conflict):
        world.cluster.write_config_map(
            ConfigMap("default", "m", created.resource_version, {"a": "3"})
        )
    with pytest.raises(Conflict):
        world.cluster.write_config_map(ConfigMap("default", "m", data={"a": "4"}))


def test_a_lease_is_taken_by_one_only(world: World) -> None:
    """Two replicas that write at once: the second is told."""
    assert world.cluster.read_lease("default", "lock") is None
    lease = LeaseState("lock", "one", 15.0, NOW_S + 0.25, 0, "")
    created = world.cluster.write_lease("default", lease)
    assert created.resource_version
    assert (created.holder, created.renewed_at_s) == ("one", NOW_S + 0.25)
    with pytest.raises(Conflict):
        world.cluster.write_lease("default", lease)
    taken = LeaseState("lock", "two", 15.0, NOW_S + 20.5, 1, created.resource_version)
    assert world.cluster.write_lease("default", taken).transitions == 1
    with pytest.raises(Conflict):
        world.cluster.write_lease("default", taken)
    assert world.cluster.read_lease("default", "lock") is not None


def test_events_are_written_where_kubectl_looks(world: World) -> None:
    """About a node in the namespace ``default``, about a pod in its own; both stay."""
    about_node = ClusterEvent("Node", "", "node-a", "uid-a", "RolloutStarted", "Because.")
    about_pod = ClusterEvent("Pod", "default", "p", "uid-p", "Impossible", "No.", warning=True)
    for event in (about_node, about_pod, about_node):
        try:
            world.cluster.record(event)
        except Conflict:
            # The same event at the same instant has the same name.
            assert event is about_node
    items = sorted(world.client.list(EVENTS, "default").items, key=lambda item: item["reason"])
    assert [(item["reason"], item["type"]) for item in items] == [
        ("Impossible", "Warning"),
        ("RolloutStarted", "Normal"),
    ]
    assert items[1]["involvedObject"]["uid"] == "uid-a"


def test_a_watch_yields_what_happened_since(world: World) -> None:
    """In the order in which it happened."""
    since = world.client.list(PODS).resource_version
    world.store.load([api_pod("a")])
    world.client.delete(PODS, "default", "a", {"gracePeriodSeconds": 0})
    changes = list(world.client.watch(PODS, since, 0.0))
    assert [(c.type, c.object["metadata"]["name"]) for c in changes] == [
        ("ADDED", "a"),
        ("DELETED", "a"),
    ]


def test_an_expired_watch_is_a_conflict_and_never_an_object(world: World) -> None:
    """The Status inside the stream tells the caller to list again."""
    since = world.client.list(PODS).resource_version
    for number in range(3):
        world.store.load([api_pod(f"p-{number}")])
    world.store.compact()
    with pytest.raises(Conflict, match="expired"):
        list(world.client.watch(PODS, since, 0.0))
