"""What every client of raw objects promises: the store in process, and HTTP to it.

The cases use no more than the port, so that they hold on a real API server too.
"""

from collections.abc import Iterator

import pytest

from autoscaler.adapters.clock import SystemClock
from autoscaler.adapters.kubernetes.credentials import connect_to
from autoscaler.adapters.kubernetes.http import HttpObjectClient
from autoscaler.adapters.kubernetes.transport import HttpLimits
from autoscaler.domain.errors import Conflict, NotFound, Refused, Unavailable
from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    ObjectClient,
    RawObject,
)
from autoscaler.simulation.api_server import ApiServer
from autoscaler.simulation.store import Store, StoreClient
from tests.builders import NOW_S, raw_budget, raw_node, raw_pod

NS = "contract"
MIG = "nvidia.com/mig-1g.5gb"
CONFIG = "nvidia.com/mig.config"


@pytest.fixture(params=["store", "http"])
def client(request: pytest.FixtureRequest) -> Iterator[ObjectClient]:
    """Return a client of an API with one empty namespace."""
    store = Store(lambda: NOW_S)
    StoreClient(store).create(NAMESPACES, None, {"metadata": {"name": NS}})
    if request.param == "store":
        yield StoreClient(store, "contract")
        return
    with ApiServer(store) as server:
        connection = connect_to(server.url)
        limits = HttpLimits(page_size=2, tries=1)
        yield HttpObjectClient(connection, SystemClock(), limits, "contract")
        connection.pool.clear()


def version_of(item: RawObject) -> str:
    return item["metadata"]["resourceVersion"]


def running(client: ObjectClient, name: str, node: str = "gpu-1") -> RawObject:
    """Create a pod that runs and is ready."""
    client.create(PODS, NS, raw_pod(name))
    client.post(PODS, NS, name, "binding", {"target": {"kind": "Node", "name": node}})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return client.patch(PODS, NS, name, {"status": status}, "status")


def budget(client: ObjectClient, name: str, allowed: int) -> None:
    """Create a disruption budget that its controller has looked at."""
    body = raw_budget(name, allowed)
    client.create(DISRUPTION_BUDGETS, NS, body)
    client.patch(DISRUPTION_BUDGETS, NS, name, {"status": body["status"]}, "status")


def test_a_new_object_gets_identity_and_can_be_read(client: ObjectClient) -> None:
    """Uid, creation time and version are the server's; what was sent is kept."""
    created = client.create(CONFIG_MAPS, NS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    read = client.get(CONFIG_MAPS, NS, "a")
    assert read == created
    assert read["data"] == {"k": "v"}
    assert read["metadata"]["uid"]
    assert read["metadata"]["creationTimestamp"].endswith("Z")
    assert int(version_of(read)) > 0


def test_the_status_of_a_new_node_is_kept(client: ObjectClient) -> None:
    """One call creates a node with its resources."""
    client.create(NODES, None, raw_node())
    assert client.get(NODES, None, "gpu-1")["status"]["allocatable"][MIG] == "7"


def test_creating_twice_is_a_conflict(client: ObjectClient) -> None:
    """The second creation fails and changes nothing."""
    first = client.create(LEASES, NS, {"metadata": {"name": "l"}})
    with pytest.raises(Conflict, match="already exists"):
        client.create(LEASES, NS, {"metadata": {"name": "l"}})
    assert client.get(LEASES, NS, "l") == first


def test_missing_objects_and_namespaces_are_not_found(client: ObjectClient) -> None:
    """Reading, patching, deleting, evicting what is not there; creating in no namespace."""
    with pytest.raises(NotFound, match='"no" not found'):
        client.get(NODES, None, "no")
    with pytest.raises(NotFound):
        client.patch(NODES, None, "no", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(NotFound):
        client.delete(PODS, NS, "no")
    with pytest.raises(NotFound):
        client.post(PODS, NS, "no", "eviction", {"metadata": {"name": "no"}})
    with pytest.raises(NotFound, match='namespaces "no" not found'):
        client.create(CONFIG_MAPS, "no", {"metadata": {"name": "a"}})


def test_one_patch_changes_spec_labels_and_annotations_at_once(client: ObjectClient) -> None:
    """All of it under one new version; ``None`` removes; the status stays."""
    node = client.create(NODES, None, raw_node())
    body = {
        "metadata": {
            "resourceVersion": version_of(node),
            "labels": {CONFIG: "all-1g.5gb", "kubernetes.io/hostname": None},
            "annotations": {"mig-autoscaler.io/rollout": "{}"},
        },
        "spec": {"unschedulable": True},
        "status": {"allocatable": {MIG: "0"}},
    }
    patched = client.patch(NODES, None, "gpu-1", body)
    assert patched["metadata"]["labels"] == {CONFIG: "all-1g.5gb"}
    assert patched["metadata"]["annotations"] == {"mig-autoscaler.io/rollout": "{}"}
    assert patched["spec"]["unschedulable"] is True
    assert patched["status"]["allocatable"][MIG] == "7"


def test_a_stale_patch_changes_nothing(client: ObjectClient) -> None:
    """The loser of a race is told so."""
    node = client.create(NODES, None, raw_node())
    client.patch(NODES, None, "gpu-1", {"metadata": {"labels": {"a": "first"}}})
    body = {"metadata": {"resourceVersion": version_of(node), "labels": {"a": "second"}}}
    with pytest.raises(Conflict, match="has been modified"):
        client.patch(NODES, None, "gpu-1", body)
    assert client.get(NODES, None, "gpu-1")["metadata"]["labels"]["a"] == "first"


def test_a_patch_for_another_uid_is_refused(client: ObjectClient) -> None:
    """A node that was made anew under the same name is not the one that was meant."""
    client.create(NODES, None, raw_node())
    with pytest.raises(Refused, match="field is immutable"):
        client.patch(NODES, None, "gpu-1", {"metadata": {"uid": "other"}})


def test_a_patch_that_changes_nothing_is_no_write(client: ObjectClient) -> None:
    """The version stays, so nobody is woken."""
    node = client.create(NODES, None, raw_node())
    labels = {"kubernetes.io/hostname": "gpu-1"}
    patched = client.patch(NODES, None, "gpu-1", {"metadata": {"labels": labels}})
    assert version_of(patched) == version_of(node)


def test_status_is_written_by_its_own_path_only(client: ObjectClient) -> None:
    """The status path leaves the specification alone."""
    client.create(NODES, None, raw_node())
    body = {"spec": {"unschedulable": True}, "status": {"allocatable": {MIG: "3"}}}
    patched = client.patch(NODES, None, "gpu-1", body, "status")
    assert patched["status"]["allocatable"][MIG] == "3"
    assert "unschedulable" not in patched["spec"]


@pytest.mark.parametrize("value", ["x" * 64, "a:b", "-a", "a b"])
def test_bad_label_values_are_refused(client: ObjectClient, value: str) -> None:
    """Too long, or of characters that no label may have."""
    client.create(NODES, None, raw_node())
    with pytest.raises(Refused, match=r"metadata\.labels"):
        client.patch(NODES, None, "gpu-1", {"metadata": {"labels": {CONFIG: value}}})


def test_managed_fields_tell_who_wrote_a_label(client: ObjectClient) -> None:
    """The manager of the label is the client that set it."""
    client.create(NODES, None, raw_node())
    patched = client.patch(NODES, None, "gpu-1", {"metadata": {"labels": {CONFIG: "a"}}})
    managers = [
        entry["manager"]
        for entry in patched["metadata"]["managedFields"]
        if f"f:{CONFIG}" in entry["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
    ]
    assert managers == ["contract"]


def test_lists_are_selected_and_ordered(client: ObjectClient) -> None:
    """By labels, by fields, by namespace; longer than one page."""
    for name in ("c", "a", "e", "b", "d"):
        client.create(PODS, NS, raw_pod(name))
    client.post(PODS, NS, "b", "binding", {"target": {"kind": "Node", "name": "gpu-1"}})
    client.patch(PODS, NS, "c", {"metadata": {"labels": {"app": "other"}}})

    def names(**selectors: str) -> list[str]:
        return [i["metadata"]["name"] for i in client.list(PODS, NS, **selectors).items]

    assert names() == ["a", "b", "c", "d", "e"]
    assert names(label_selector="app=train") == ["a", "b", "d", "e"]
    assert names(label_selector="app notin (train),!x") == ["c"]
    assert names(field_selector="spec.nodeName=gpu-1") == ["b"]
    assert names(field_selector="spec.nodeName=,metadata.name!=a") == ["c", "d", "e"]
    assert client.list(PODS, "default").items == ()
    assert len(client.list(PODS).items) == 5


def test_an_unknown_field_selector_is_refused(client: ObjectClient) -> None:
    """A selector that the server does not know never means "all"."""
    with pytest.raises(Refused, match="field label not supported"):
        client.list(PODS, NS, field_selector="spec.color=red")


def test_a_watch_tells_what_happened_after_a_version(client: ObjectClient) -> None:
    """In order, of this kind and namespace only, and ends by itself."""
    client.create(CONFIG_MAPS, NS, {"metadata": {"name": "old"}})
    since = client.list(CONFIG_MAPS, NS).resource_version
    client.create(CONFIG_MAPS, NS, {"metadata": {"name": "new"}})
    client.create(CONFIG_MAPS, "default", {"metadata": {"name": "elsewhere"}})
    client.create(NODES, None, raw_node())
    client.patch(CONFIG_MAPS, NS, "new", {"data": {"k": "v"}})
    client.delete(CONFIG_MAPS, NS, "old")
    seen = [
        (change.type, change.object["metadata"]["name"])
        for change in client.watch(CONFIG_MAPS, since, 0, NS)
    ]
    assert seen == [("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "old")]


def test_deletes_heed_their_preconditions(client: ObjectClient) -> None:
    """A delete that means another object of the same name is a conflict."""
    made = client.create(CONFIG_MAPS, NS, {"metadata": {"name": "a"}})
    with pytest.raises(Conflict, match="UID in precondition"):
        client.delete(CONFIG_MAPS, NS, "a", {"preconditions": {"uid": "other"}})
    client.delete(CONFIG_MAPS, NS, "a", {"preconditions": {"uid": made["metadata"]["uid"]}})
    with pytest.raises(NotFound):
        client.get(CONFIG_MAPS, NS, "a")


def test_a_pod_on_a_node_ends_when_kubelet_says_so(client: ObjectClient) -> None:
    """Until then it is marked and still there; a pending one goes at once."""
    running(client, "a")
    client.create(PODS, NS, raw_pod("pending"))
    client.delete(PODS, NS, "pending")
    client.delete(PODS, NS, "a")
    (left,) = client.list(PODS, NS).items
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    assert left["metadata"]["deletionTimestamp"] > left["metadata"]["creationTimestamp"]
    client.delete(PODS, NS, "a", {"gracePeriodSeconds": 0})
    assert client.list(PODS, NS).items == ()


def test_evictions_end_when_the_budget_is_used_up(client: ObjectClient) -> None:
    """The first goes, the second is told which budget forbids it."""
    running(client, "a")
    running(client, "b")
    budget(client, "guard", allowed=1)
    client.post(PODS, NS, "a", "eviction", {"metadata": {"name": "a"}})
    assert client.get(PODS, NS, "a")["metadata"]["deletionTimestamp"]
    with pytest.raises(Unavailable, match="disruption budget guard needs 1 healthy pods"):
        client.post(PODS, NS, "b", "eviction", {"metadata": {"name": "b"}})
    assert "deletionTimestamp" not in client.get(PODS, NS, "b")["metadata"]


def test_two_budgets_on_one_pod_forbid_every_eviction(client: ObjectClient) -> None:
    """The server does not choose between them."""
    running(client, "a")
    budget(client, "one", allowed=1)
    budget(client, "two", allowed=1)
    with pytest.raises(Unavailable, match="more than one PodDisruptionBudget"):
        client.post(PODS, NS, "a", "eviction", {"metadata": {"name": "a"}})


def test_an_eviction_for_another_uid_is_a_conflict(client: ObjectClient) -> None:
    """A pod that was made anew under the same name is not evicted."""
    running(client, "a")
    options = {"preconditions": {"uid": "other"}}
    with pytest.raises(Conflict, match="UID in precondition"):
        client.post(
            PODS, NS, "a", "eviction", {"metadata": {"name": "a"}, "deleteOptions": options}
        )
    assert "deletionTimestamp" not in client.get(PODS, NS, "a")["metadata"]


def test_a_pod_is_bound_once_even_to_a_cordoned_node(client: ObjectClient) -> None:
    """A binding under way still arrives after a cordon."""
    client.create(NODES, None, raw_node())
    client.patch(NODES, None, "gpu-1", {"spec": {"unschedulable": True}})
    client.create(PODS, NS, raw_pod("a"))
    target = {"target": {"kind": "Node", "name": "gpu-1"}}
    client.post(PODS, NS, "a", "binding", target)
    assert client.get(PODS, NS, "a")["spec"]["nodeName"] == "gpu-1"
    with pytest.raises(Conflict, match="already assigned"):
        client.post(PODS, NS, "a", "binding", target)


def test_a_quota_refuses_what_is_over_it(client: ObjectClient) -> None:
    """The message says how much was asked, used and allowed."""
    hard = {f"requests.{MIG}": "4"}
    client.create(QUOTAS, NS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    client.create(PODS, NS, raw_pod("a", {MIG: 3}))
    with pytest.raises(Refused, match=rf"exceeded quota: q, requested: requests.{MIG}=2"):
        client.create(PODS, NS, raw_pod("b", {MIG: 2}))


def test_requests_of_whole_devices_must_equal_limits(client: ObjectClient) -> None:
    """Devices are not shared, so there is nothing to overcommit."""
    pod = raw_pod("a")
    pod["spec"]["containers"][0]["resources"] = {"requests": {MIG: "1"}, "limits": {MIG: "2"}}
    with pytest.raises(Refused, match="must be equal to"):
        client.create(PODS, NS, pod)


def test_a_lost_update_of_a_lease_is_a_conflict(client: ObjectClient) -> None:
    """Two candidates, one version: one of them wins."""
    lease = client.create(LEASES, NS, {"metadata": {"name": "l"}, "spec": {}})
    for holder in ("a", "b"):
        body = {
            "metadata": {"resourceVersion": version_of(lease)},
            "spec": {"holderIdentity": holder},
        }
        if holder == "a":
            client.patch(LEASES, NS, "l", body)
            continue
        with pytest.raises(Conflict):
            client.patch(LEASES, NS, "l", body)
    assert client.get(LEASES, NS, "l")["spec"]["holderIdentity"] == "a"


def test_events_are_found_by_the_object_they_are_about(client: ObjectClient) -> None:
    """Those of nodes live in the default namespace."""
    about = {"kind": "Node", "name": "gpu-1", "uid": "gpu-1"}
    body = {"metadata": {"generateName": "gpu-1."}, "involvedObject": about, "reason": "Cut"}
    client.create(EVENTS, "default", body)
    selector = "involvedObject.kind=Node,involvedObject.name=gpu-1,reason=Cut"
    (event,) = client.list(EVENTS, "default", field_selector=selector).items
    assert event["metadata"]["name"].startswith("gpu-1.")
    with pytest.raises(Refused, match=r"involvedObject\.namespace"):
        client.create(EVENTS, NS, body)
