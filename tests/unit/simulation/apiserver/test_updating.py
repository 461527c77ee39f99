"""PUT and PATCH: preconditions, parts, generations, media types."""

import pytest

from autoscaler.ports import CONFIG_MAPS, DISRUPTION_BUDGETS, LEASES, NODES, PODS
from autoscaler.simulation.apiserver.request import PatchType, Verb
from autoscaler.simulation.apiserver.resources import CLUSTER_POLICIES, DEPLOYMENTS, POD_GROUPS
from tests.api import NS, Api, json_patch, named
from tests.builders import raw_node


def test_a_put_replaces_all_but_status_and_identity() -> None:
    """What the body leaves out is gone; uid, creation and status stay."""
    api = Api()
    node = api.client.create(NODES, None, raw_node())
    body = {
        "metadata": {"name": "gpu-1", "labels": {"a": "b"}},
        "spec": {"unschedulable": True},
    }
    new = api.ask(Verb.UPDATE, NODES, "gpu-1", body=body)
    assert new["metadata"]["labels"] == {"a": "b"}
    assert new["status"] == node["status"]
    for key in ("uid", "creationTimestamp"):
        assert new["metadata"][key] == node["metadata"][key]


def test_a_stale_put_is_a_conflict_and_so_is_another_uid() -> None:
    """The winner's write stays."""
    api = Api()
    old = api.client.create(NODES, None, raw_node())
    new = api.client.patch(NODES, None, "gpu-1", {"metadata": {"labels": {"a": "1"}}})
    assert api.code(Verb.UPDATE, NODES, "gpu-1", body=old) == 409
    other = {**new, "metadata": {**new["metadata"], "uid": "other"}}
    assert api.code(Verb.UPDATE, NODES, "gpu-1", body=other) == 409
    assert api.client.get(NODES, None, "gpu-1") == new


@pytest.mark.parametrize("kind", [LEASES, DISRUPTION_BUDGETS, POD_GROUPS])
def test_some_kinds_take_no_blind_put(kind) -> None:
    """Leases, budgets and custom kinds want to know which version is replaced."""
    api = Api()
    api.client.create(kind, NS, named("a", spec={}))
    assert api.code(Verb.UPDATE, kind, "a", body=named("a", spec={})) == 422


def test_a_patch_may_not_rename() -> None:
    """Name and path must agree."""
    api = Api()
    api.client.create(CONFIG_MAPS, NS, named("a"))
    body = {"metadata": {"name": "b"}}
    assert api.code(Verb.PATCH, CONFIG_MAPS, "a", body=body) == 400


def test_an_invalid_update_changes_nothing() -> None:
    """Also when only one label of many is bad."""
    api = Api()
    before = api.client.create(NODES, None, raw_node())
    labels = {"good": "1", "bad": "a:b"}
    assert api.code(Verb.PATCH, NODES, "gpu-1", body={"metadata": {"labels": labels}}) == 422
    assert api.code(Verb.PATCH, NODES, "gpu-1", body={"metadata": {"labels": {"a": 1}}}) == 400
    assert api.client.get(NODES, None, "gpu-1") == before


def test_a_trial_run_shows_the_result_and_keeps_the_object() -> None:
    """The version does not move either."""
    api = Api()
    before = api.client.create(NODES, None, raw_node())
    body = {"spec": {"unschedulable": True}}
    shown = api.ask(Verb.PATCH, NODES, "gpu-1", body=body, dry_run=True)
    assert shown["spec"] == {"unschedulable": True}
    assert api.client.get(NODES, None, "gpu-1") == before


def test_generations_count_changes_of_the_specification() -> None:
    """Not of labels, not of status; a node has none."""
    api = Api()
    api.client.create(DEPLOYMENTS, NS, named("d", spec={"replicas": 1}))

    def generation(body: dict, subresource: str = "") -> int:
        new = api.client.patch(DEPLOYMENTS, NS, "d", body, subresource)
        return new["metadata"]["generation"]

    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"status": {"replicas": 1}}, "status") == 1
    assert generation({"spec": {"replicas": 2}}) == 2
    assert "generation" not in api.client.create(NODES, None, raw_node())["metadata"]


def test_a_status_write_keeps_labels_except_of_nodes_and_pods() -> None:
    """Kubelet may annotate through the status path, controllers may not."""
    api = Api()
    body = {"metadata": {"labels": {"a": "b"}}, "status": {"x": 1}}
    api.client.create(NODES, None, raw_node())
    node = api.client.patch(NODES, None, "gpu-1", body, "status")
    assert node["metadata"]["labels"]["a"] == "b"
    api.client.create(DEPLOYMENTS, NS, named("d"))
    deployment = api.client.patch(DEPLOYMENTS, NS, "d", body, "status")
    assert "labels" not in deployment["metadata"]
    assert deployment["status"] == {"x": 1}


def test_uncordoning_a_node_that_is_open_is_no_write() -> None:
    """False and absent are the same, and so are no taints and an empty list."""
    api = Api()
    node = api.client.create(NODES, None, raw_node())
    same = api.client.patch(
        NODES, None, "gpu-1", {"spec": {"unschedulable": False, "taints": []}}
    )
    assert same == node
    api.client.patch(NODES, None, "gpu-1", {"spec": {"unschedulable": True}})
    opened = api.client.patch(NODES, None, "gpu-1", {"spec": {"unschedulable": False}})
    assert "unschedulable" not in opened["spec"]


def test_json_and_strategic_patches_are_taken() -> None:
    """A failing test of a JSON patch is 422; conditions merge by type."""
    api = Api()
    api.client.create(NODES, None, raw_node())
    stale = json_patch({"op": "test", "path": "/spec/unschedulable", "value": True})
    assert api.code(Verb.PATCH, NODES, "gpu-1", **stale) == 422
    body = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    node = api.ask(
        Verb.PATCH,
        NODES,
        "gpu-1",
        body=body,
        patch_type=PatchType.STRATEGIC,
        subresource="status",
    )
    (condition,) = node["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "KubeletReady")


def test_server_side_apply_and_strategic_patches_of_custom_kinds_are_refused() -> None:
    """Clearly, instead of half."""
    api = Api()
    api.client.create(CLUSTER_POLICIES, None, named("p"))
    for patch_type in (PatchType.APPLY, PatchType.STRATEGIC):
        code = api.code(Verb.PATCH, CLUSTER_POLICIES, "p", body={}, patch_type=patch_type)
        assert code == 415


def test_an_immutable_config_map_keeps_its_data() -> None:
    """Labels may still change."""
    api = Api()
    api.client.create(CONFIG_MAPS, NS, named("a", data={"k": "1"}, immutable=True))
    assert api.code(Verb.PATCH, CONFIG_MAPS, "a", body={"data": {"k": "2"}}) == 422
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert api.client.patch(CONFIG_MAPS, NS, "a", labels)["data"] == {"k": "1"}


def test_paths_and_verbs_that_are_not_served() -> None:
    """404 for an unknown part of an object, 405 for a verb it does not take."""
    api = Api()
    api.client.create(CONFIG_MAPS, NS, named("a"))
    assert api.code(Verb.PATCH, CONFIG_MAPS, "a", body={}, subresource="status") == 404
    assert api.code(Verb.PATCH, PODS, "a", body={}, subresource="log") == 404
    assert api.code(Verb.GET, PODS, "a", subresource="eviction") == 405
