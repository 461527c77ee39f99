"""The official Python client against the simulated API server."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from kubernetes import client, watch
from kubernetes.client.rest import ApiException

from autoscaler.ports import NODES, PODS
from autoscaler.simulation.api_server import ApiServer
from tests.api import NS, Api
from tests.builders import raw_budget, raw_node, raw_pod


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def calls(api: Api) -> Iterator[client.ApiClient]:
    """Return the official client, led to the store."""
    with ApiServer(api.store) as server:
        configuration = client.Configuration()
        configuration.host = server.url
        with client.ApiClient(configuration) as calls:
            yield calls
            calls.rest_client.pool_manager.clear()


def code_of(error: pytest.ExceptionInfo[ApiException]) -> int:
    return error.value.status


def test_typed_objects_survive_the_way_there_and_back(calls: client.ApiClient) -> None:
    """Nodes with status, pods with defaults, lists in pages."""
    core = client.CoreV1Api(calls)
    core.create_node(raw_node())
    for name in "abc":
        core.create_namespaced_pod(NS, raw_pod(name))
    node = core.read_node("gpu-1")
    assert node.status.allocatable["nvidia.com/mig-1g.5gb"] == "7"
    assert node.metadata.creation_timestamp.tzinfo is not None
    page = core.list_namespaced_pod(NS, limit=2)
    rest = core.list_namespaced_pod(NS, limit=2, _continue=page.metadata._continue)
    assert [p.metadata.name for p in (*page.items, *rest.items)] == ["a", "b", "c"]
    assert page.items[0].spec.scheduler_name == "default-scheduler"
    assert client.VersionApi(calls).get_code().major == "1"


def test_every_kind_of_patch_is_taken(api: Api, calls: client.ApiClient) -> None:
    """The client chooses strategic merge, merge or JSON patch by the body."""
    core = client.CoreV1Api(calls)
    core.create_node(raw_node())
    core.patch_node("gpu-1", {"spec": {"unschedulable": True}})
    operation = {"op": "remove", "path": "/spec/unschedulable"}
    core.patch_node("gpu-1", [operation])
    core.patch_node_status(
        "gpu-1", {"status": {"conditions": [{"type": "X", "status": "True"}]}}
    )
    conditions = core.read_node("gpu-1").status.conditions
    assert {c.type for c in conditions} == {"Ready", "X"}
    with pytest.raises(ApiException) as error:
        core.patch_node("gpu-1", [{"op": "test", "path": "/spec/unschedulable", "value": True}])
    assert code_of(error) == 422
    assert api.client.get(NODES, None, "gpu-1")["spec"] == {}


def test_leases_conflict_as_leader_election_expects(calls: client.ApiClient) -> None:
    """The second of two replacements of one version fails."""
    coordination = client.CoordinationV1Api(calls)
    body = {"metadata": {"name": "l"}, "spec": {"renewTime": datetime.now(UTC)}}
    first = coordination.create_namespaced_lease(NS, body)
    second = coordination.read_namespaced_lease("l", NS)
    first.spec.holder_identity, second.spec.holder_identity = "a", "b"
    coordination.replace_namespaced_lease("l", NS, first)
    with pytest.raises(ApiException) as error:
        coordination.replace_namespaced_lease("l", NS, second)
    assert code_of(error) == 409
    assert coordination.read_namespaced_lease("l", NS).spec.holder_identity == "a"


def test_evictions_under_a_budget(api: Api, calls: client.ApiClient) -> None:
    """201, then 429 without a time to wait."""
    core, policy = client.CoreV1Api(calls), client.PolicyV1Api(calls)
    for name in "ab":
        api.run_pod(name)
    budget = raw_budget("guard", 1)
    policy.create_namespaced_pod_disruption_budget(NS, budget)
    policy.patch_namespaced_pod_disruption_budget_status(
        "guard", NS, {"status": budget["status"]}
    )

    def evict(name: str) -> int:
        body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name))
        return core.create_namespaced_pod_eviction_with_http_info(name, NS, body)[1]

    assert evict("a") == 201
    with pytest.raises(ApiException) as error:
        evict("b")
    assert code_of(error) == 429
    assert error.value.headers.get("Retry-After") is None
    assert "guard needs 1 healthy pods" in error.value.body


def test_watches_resume_and_expire(api: Api, calls: client.ApiClient) -> None:
    """Changes after a version; 410 when it is forgotten."""
    core = client.CoreV1Api(calls)
    since = core.list_namespaced_pod(NS).metadata.resource_version
    api.client.create(PODS, NS, raw_pod("a"))
    api.client.delete(PODS, NS, "a")
    stream = watch.Watch()
    events = [
        (event["type"], event["object"].metadata.name)
        for event in stream.stream(
            core.list_namespaced_pod, NS, resource_version=since, timeout_seconds=1
        )
    ]
    assert events == [("ADDED", "a"), ("DELETED", "a")]
    api.store.compact()
    with pytest.raises(ApiException) as error:
        list(
            watch.Watch().stream(
                core.list_namespaced_pod, NS, resource_version=since, timeout_seconds=1
            )
        )
    assert code_of(error) == 410


def test_custom_kinds_and_reviews(calls: client.ApiClient) -> None:
    """Pod groups are served; everybody may do everything."""
    custom = client.CustomObjectsApi(calls)
    where = ("scheduling.volcano.sh", "v1beta1", NS, "podgroups")
    body = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 4},
    }
    custom.create_namespaced_custom_object(*where, body)
    assert custom.get_namespaced_custom_object(*where, "g")["spec"] == {"minMember": 4}
    attributes = client.V1ResourceAttributes(verb="patch", resource="nodes")
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    )
    access = client.AuthorizationV1Api(calls)
    assert access.create_self_subject_access_review(review).status.allowed
