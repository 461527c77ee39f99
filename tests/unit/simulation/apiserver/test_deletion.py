"""Deletion: grace, finalizers, dependents, namespaces."""

import pytest

from autoscaler.ports import CONFIG_MAPS, NAMESPACES, NODES, PODS, REPLICA_SETS
from autoscaler.simulation.apiserver.request import Query, Verb
from autoscaler.simulation.apiserver.resources import DEPLOYMENTS
from autoscaler.simulation.apiserver.timestamps import epoch_s
from tests.api import NS, Api, named
from tests.builders import NOW_S, raw_node, raw_pod


def mark_s(pod: dict) -> float:
    """Return the seconds from the start of the test to the end of the grace."""
    end_s = epoch_s(pod["metadata"]["deletionTimestamp"])
    assert end_s is not None
    return end_s - NOW_S


def test_grace_is_asked_for_or_the_pods_own() -> None:
    """The default is half a minute; a negative one is one second."""
    api = Api()
    for name, own, asked, expected in (
        ("a", None, None, 30),
        ("b", 7, None, 7),
        ("c", 7, 3, 3),
        ("d", 7, -1, 1),
    ):
        spec = {} if own is None else {"terminationGracePeriodSeconds": own}
        api.run_pod(name, **spec)
        options = {} if asked is None else {"gracePeriodSeconds": asked}
        assert mark_s(api.ask(Verb.DELETE, PODS, name, body=options)) == expected


def test_grace_can_be_shortened_but_not_extended() -> None:
    """Counted from the first request."""
    api = Api()
    api.run_pod("a")
    api.client.delete(PODS, NS, "a")
    api.clock.now_s += 2
    assert mark_s(api.ask(Verb.DELETE, PODS, "a", body={"gracePeriodSeconds": 10})) == 10
    assert mark_s(api.ask(Verb.DELETE, PODS, "a", body={"gracePeriodSeconds": 20})) == 10
    api.ask(Verb.DELETE, PODS, "a", body={"gracePeriodSeconds": 0})
    assert api.names(PODS) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_goes_at_once(phase) -> None:
    """There is nothing to wait for."""
    api = Api()
    api.run_pod("a")
    api.client.patch(PODS, NS, "a", {"status": {"phase": phase}}, "status")
    api.client.delete(PODS, NS, "a")
    assert api.names(PODS) == []


def test_a_finalizer_keeps_an_object_until_it_is_taken_off() -> None:
    """Marked meanwhile; the mark cannot be removed."""
    api = Api()
    body = named("a")
    body["metadata"]["finalizers"] = ["test/x"]
    api.client.create(CONFIG_MAPS, NS, body)
    api.client.delete(CONFIG_MAPS, NS, "a")
    unmark = {"metadata": {"deletionTimestamp": None}}
    assert api.client.patch(CONFIG_MAPS, NS, "a", unmark)["metadata"]["deletionTimestamp"]
    api.client.patch(CONFIG_MAPS, NS, "a", {"metadata": {"finalizers": []}})
    assert api.names(CONFIG_MAPS) == []


def test_a_pod_with_a_finalizer_outlives_its_kubelet() -> None:
    """Grace over and finalizer off: both are needed."""
    api = Api()
    pod = raw_pod("a")
    pod["metadata"]["finalizers"] = ["test/x"]
    api.client.create(PODS, NS, pod)
    api.client.post(PODS, NS, "a", "binding", {"target": {"name": "gpu-1"}})
    api.client.delete(PODS, NS, "a")
    api.client.delete(PODS, NS, "a", {"gracePeriodSeconds": 0})
    assert api.names(PODS) == ["a"]
    api.client.patch(PODS, NS, "a", {"metadata": {"finalizers": None}})
    assert api.names(PODS) == []


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_preconditions_name_the_object_that_is_meant(field) -> None:
    """Another one stays."""
    api = Api()
    api.client.create(NODES, None, raw_node())
    wrong = {"preconditions": {field: "999"}}
    assert api.code(Verb.DELETE, NODES, "gpu-1", body=wrong) == 409
    assert api.names(NODES) == ["gpu-1"]


def test_a_trial_run_deletes_nothing() -> None:
    """Asked for in the path or in the options."""
    api = Api()
    api.run_pod("a")
    api.ask(Verb.DELETE, PODS, "a", dry_run=True)
    api.ask(Verb.DELETE, PODS, "a", body={"dryRun": ["All"], "gracePeriodSeconds": 0})
    assert "deletionTimestamp" not in api.client.get(PODS, NS, "a")["metadata"]


def owned_by(owner: dict, name: str, *more: dict) -> dict:
    """Return a ConfigMap that belongs to objects."""
    references = [
        {"kind": o["kind"], "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in (owner, *more)
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


def test_dependents_go_with_their_last_owner() -> None:
    """Down the chain; one with another owner stays and forgets the lost one."""
    api = Api()
    top = api.client.create(DEPLOYMENTS, NS, named("top"))
    middle = api.client.create(REPLICA_SETS, NS, owned_by(top, "middle"))
    other = api.client.create(NODES, None, raw_node())
    api.client.create(CONFIG_MAPS, NS, owned_by(middle, "leaf"))
    api.client.create(CONFIG_MAPS, NS, owned_by(middle, "shared", other))
    api.client.delete(DEPLOYMENTS, NS, "top", {"propagationPolicy": "Background"})
    assert api.names(REPLICA_SETS) == []
    assert api.names(CONFIG_MAPS) == ["shared"]
    references = api.client.get(CONFIG_MAPS, NS, "shared")["metadata"]["ownerReferences"]
    assert [r["name"] for r in references] == ["gpu-1"]


def test_orphans_stay() -> None:
    """Without a reference to what is gone."""
    api = Api()
    top = api.client.create(DEPLOYMENTS, NS, named("top"))
    api.client.create(CONFIG_MAPS, NS, owned_by(top, "leaf"))
    api.client.delete(DEPLOYMENTS, NS, "top", {"propagationPolicy": "Orphan"})
    assert "ownerReferences" not in api.client.get(CONFIG_MAPS, NS, "leaf")["metadata"]
    assert api.code(Verb.DELETE, CONFIG_MAPS, "leaf", body={"propagationPolicy": "x"}) == 400


def test_a_namespace_takes_its_content_with_it() -> None:
    """It is gone once the last pod has ended; some namespaces never go."""
    api = Api()
    api.add_namespace("x")
    api.client.create(CONFIG_MAPS, "x", named("a"))
    api.client.create(PODS, "x", raw_pod("a"))
    api.client.post(PODS, "x", "a", "binding", {"target": {"name": "gpu-1"}})
    api.client.delete(NAMESPACES, None, "x")
    assert api.names(CONFIG_MAPS) == []
    assert "x" in api.names(NAMESPACES)
    api.client.delete(PODS, "x", "a", {"gracePeriodSeconds": 0})
    assert "x" not in api.names(NAMESPACES)
    assert api.code(Verb.DELETE, NAMESPACES, "kube-system") == 403


def test_a_collection_is_deleted_by_selector() -> None:
    """The others stay."""
    api = Api()
    for name in "abc":
        api.client.create(PODS, NS, raw_pod(name))
    api.client.patch(PODS, NS, "b", {"metadata": {"labels": {"app": "other"}}})
    api.ask(Verb.DELETE_COLLECTION, PODS, query=Query(label_selector="app=train"))
    assert api.names(PODS) == ["b"]
