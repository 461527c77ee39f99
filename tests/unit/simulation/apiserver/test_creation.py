"""Creation: identity, defaults, and what is refused."""

import pytest

from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
)
from autoscaler.simulation.apiserver.request import Verb
from autoscaler.simulation.apiserver.resources import NEW_EVENTS
from autoscaler.simulation.apiserver.status import StatusError
from tests.api import NS, Api, named
from tests.builders import raw_budget, raw_node, raw_pod

MIG = "nvidia.com/mig-1g.5gb"


def test_two_runs_create_the_same_objects() -> None:
    """Uids and generated names come from a sequence, times from the clock."""

    def run() -> list[object]:
        api = Api()
        body = {"metadata": {"generateName": "job-"}}
        return [api.client.create(CONFIG_MAPS, NS, body) for _ in range(3)]

    first = run()
    assert first == run()
    assert len({item["metadata"]["name"] for item in first}) == 3
    assert len({item["metadata"]["uid"] for item in first}) == 3


def test_what_only_the_server_may_say_is_dropped() -> None:
    """A uid, a deletion mark or a generation in the body means nothing."""
    body = named("a")
    body["metadata"] |= {
        "uid": "mine",
        "deletionTimestamp": "x",
        "generation": 9,
        "labels": None,
    }
    metadata = Api().client.create(CONFIG_MAPS, NS, body)["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata.keys().isdisjoint({"deletionTimestamp", "generation", "labels"})


def test_the_caller_may_go_on_changing_the_body() -> None:
    """The store keeps a copy."""
    api, body = Api(), named("a", data={"k": "v"})
    api.client.create(CONFIG_MAPS, NS, body)
    body["data"]["k"] = "changed"
    assert api.client.get(CONFIG_MAPS, NS, "a")["data"] == {"k": "v"}


def test_a_trial_run_stores_nothing() -> None:
    """It answers as if it had; a name that is taken is refused all the same."""
    api = Api()
    answer = api.ask(Verb.CREATE, CONFIG_MAPS, body=named("a"), dry_run=True)
    assert answer["metadata"]["uid"]
    assert api.names(CONFIG_MAPS) == []
    api.client.create(CONFIG_MAPS, NS, named("a"))
    assert api.code(Verb.CREATE, CONFIG_MAPS, body=named("a"), dry_run=True) == 409


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        (CONFIG_MAPS, None, 400),
        (CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": "1"}}, 400),
        (CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "other"}}, 400),
        (CONFIG_MAPS, {"kind": "Secret", "metadata": {"name": "a"}}, 400),
        (CONFIG_MAPS, {"apiVersion": "v2", "metadata": {"name": "a"}}, 400),
        (CONFIG_MAPS, {"metadata": {}}, 422),
        (CONFIG_MAPS, named("a", data={"k": 1}), 422),
        (CONFIG_MAPS, named("a", data={"a/b": ""}), 422),
        (CONFIG_MAPS, named("a", data={"k": "x" * (1024 * 1024 + 1)}), 422),
        (LEASES, named("a", spec={"leaseDurationSeconds": 0}), 422),
        (LEASES, named("a", spec={"leaseTransitions": -1}), 422),
        (PRIORITY_CLASSES, named("a"), 422),
        (QUOTAS, named("a", spec={"hard": {"pods": "-1"}}), 422),
        (NODES, named("a", spec={"taints": [{"key": "k", "effect": "Never"}]}), 422),
        (NODES, named("a", spec={"taints": [{"key": "k", "effect": "NoExecute"}] * 2}), 422),
        (NODES, named("a", status={"allocatable": {MIG: "1.5"}}), 422),
        (NODES, named("a", status={"capacity": {MIG: "many"}}), 422),
        (DISRUPTION_BUDGETS, raw_budget(maxUnavailable=1), 422),
    ],
)
def test_bad_bodies_are_refused(kind, body, code) -> None:
    """400 where it cannot be understood, 422 where it breaks a rule; nothing is stored."""
    api = Api()
    stored = api.names(kind)
    assert api.code(Verb.CREATE, kind, body=body) == code
    assert api.names(kind) == stored


def test_an_invalid_object_is_told_field_by_field() -> None:
    """Clients show the causes."""
    pod = raw_pod("a", {MIG: 1})
    pod["spec"]["containers"] += [{"name": "main"}, {"name": "B", "image": "x"}]
    with pytest.raises(StatusError) as refused:
        Api().ask(Verb.CREATE, PODS, body=pod)
    body = refused.value.as_json()
    assert body["reason"] == "Invalid"
    assert body["message"].startswith('Pod "a" is invalid: [spec.containers[1].image: Required')
    assert [cause["field"] for cause in body["details"]["causes"]] == [
        "spec.containers[1].image",
        "spec.containers[1].name",
        "spec.containers[2].name",
    ]


def test_a_budget_begins_with_nothing_allowed() -> None:
    """Its controller has not looked yet; a status in the body is dropped."""
    status = Api().client.create(DISRUPTION_BUDGETS, NS, raw_budget(allowed=3))["status"]
    assert status["disruptionsAllowed"] == 0
    assert "observedGeneration" not in status


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    """And numbers become text."""
    body = named("a", status={"capacity": {MIG: 7}})
    status = Api().client.create(NODES, None, body)["status"]
    assert status["allocatable"] == status["capacity"] == {MIG: "7"}


def test_a_namespace_that_is_going_takes_nothing_new() -> None:
    """403, as long as it is there."""
    api = Api()
    api.add_namespace("x")
    pod = raw_pod("a")
    pod["metadata"]["finalizers"] = ["test/wait"]
    api.client.create(PODS, "x", pod)
    api.client.delete(NAMESPACES, None, "x")
    assert api.client.get(NAMESPACES, None, "x")["status"]["phase"] == "Terminating"
    assert api.code(Verb.CREATE, PODS, body=raw_pod("b"), namespace="x") == 403
    api.client.patch(PODS, "x", "a", {"metadata": {"finalizers": None}})
    assert "x" not in api.names(NAMESPACES)


def test_both_kinds_of_events_are_the_same_objects() -> None:
    """Written as one, read as the other."""
    api = Api()
    about = {"kind": "Node", "name": "gpu-1"}
    body = named("e", note="cut", regarding=about, reportingController="mig-autoscaler")
    created = api.client.create(NEW_EVENTS, NS, body)
    assert created["apiVersion"] == "events.k8s.io/v1"
    assert created["note"] == "cut"
    core = api.client.get(EVENTS, NS, "e")
    assert core["apiVersion"] == "v1"
    assert (core["message"], core["involvedObject"]) == ("cut", about)
    patched = api.client.patch(NEW_EVENTS, NS, "e", {"note": "cut again"})
    assert patched["note"] == "cut again"
    assert api.client.list(NEW_EVENTS, NS).items == (patched,)


def test_events_are_forgotten_after_an_hour() -> None:
    """Otherwise a long run would drown in them."""
    api = Api()
    for number in range(3):
        body = named(f"e{number}", involvedObject={"kind": "Node", "name": "n"})
        api.client.create(EVENTS, NS, body)
        api.clock.now_s += 1801
    assert api.names(EVENTS) == ["e1", "e2"]


def test_loading_keeps_status_and_identity() -> None:
    """A dump becomes a cluster; its namespaces are made."""
    api = Api()
    node = raw_node()
    node["metadata"] |= {"uid": "u-1", "resourceVersion": "77"}
    pod = {**raw_pod("a"), "status": {"phase": "Running"}}
    pod["metadata"] |= {"namespace": "team"}
    api.store.load([{"kind": "List", "apiVersion": "v1", "items": [node, pod]}])
    loaded = api.client.get(NODES, None, "gpu-1")
    assert loaded["metadata"]["uid"] == "u-1"
    assert loaded["metadata"]["resourceVersion"] != "77"
    assert api.client.get(PODS, "team", "a")["status"] == {"phase": "Running"}
    assert "team" in api.names(NAMESPACES)
