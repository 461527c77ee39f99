"""Watches: order, selectors, bookmarks, and versions that are too old."""

import threading
from typing import Any

import pytest

from autoscaler.domain.errors import Conflict
from autoscaler.ports import CONFIG_MAPS, PODS
from autoscaler.simulation.apiserver.request import Query, Request, Verb
from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.apiserver.watching import Watch
from tests.api import NS, Api, named
from tests.builders import raw_pod


def watch(api: Api, **query: Any) -> Watch:
    query.setdefault("resource_version", api.store.version)
    return api.store.watch(Request(Verb.WATCH, PODS, NS, query=Query(**query)))


def told(watching: Watch) -> list[tuple[str, str]]:
    """Return type and name of what a watch tells now."""
    return [(c.type, c.object["metadata"].get("name", "")) for c in watching.take(0)]


def test_without_a_version_a_watch_begins_with_what_is_there() -> None:
    """Then goes on with what happens."""
    api = Api()
    api.client.create(PODS, NS, raw_pod("a"))
    watching = watch(api, resource_version="")
    api.client.create(PODS, NS, raw_pod("b"))
    assert told(watching) == [("ADDED", "a"), ("ADDED", "b")]
    assert told(watching) == []


def test_an_object_enters_and_leaves_a_selection() -> None:
    """A kubelet sees a pod appear when it is bound."""
    api = Api()
    watching = watch(api, field_selector="spec.nodeName=gpu-1", label_selector="app=train")
    api.client.create(PODS, NS, raw_pod("a"))
    assert told(watching) == []
    api.client.post(PODS, NS, "a", "binding", {"target": {"name": "gpu-1"}})
    api.client.patch(PODS, NS, "a", {"metadata": {"annotations": {"x": "y"}}})
    api.client.patch(PODS, NS, "a", {"metadata": {"labels": {"app": "other"}}})
    api.client.delete(PODS, NS, "a", {"gracePeriodSeconds": 0})
    assert told(watching) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_other_kinds_and_namespaces_are_not_told() -> None:
    """Only what was asked for."""
    api = Api()
    api.add_namespace("x")
    watching = watch(api)
    api.client.create(PODS, "x", raw_pod("a"))
    api.client.create(CONFIG_MAPS, NS, named("a"))
    assert told(watching) == []


def test_bookmarks_carry_only_a_version() -> None:
    """The initial ones end what was there from the start."""
    api = Api()
    api.client.create(PODS, NS, raw_pod("a"))
    watching = watch(api, initial_events=True)
    added, mark = watching.take(0)
    assert added.type == "ADDED"
    assert mark.object["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert watching.bookmark().object["metadata"] == {"resourceVersion": api.store.version}


def test_a_forgotten_version_is_expired() -> None:
    """For a new watch at once, for one that fell behind when it reads on."""
    api = Api()
    old = api.store.version
    behind = watch(api)
    api.client.create(PODS, NS, raw_pod("a"))
    api.client.create(PODS, NS, raw_pod("b"))
    api.store.compact()
    with pytest.raises(StatusError, match="too old resource version") as refused:
        watch(api, resource_version=old)
    assert refused.value.code == 410
    with pytest.raises(StatusError):
        behind.take(0)
    with pytest.raises(Conflict, match="expired"):
        list(api.client.watch(PODS, old, 0))


def test_a_watch_wakes_up_at_a_write_by_another_thread() -> None:
    """Long before its time is over."""
    api = Api()
    watching = watch(api)
    writer = threading.Thread(target=lambda: api.client.create(PODS, NS, raw_pod("a")))
    writer.start()
    changes = watching.take(60)
    writer.join()
    assert [c.object["metadata"]["name"] for c in changes] == ["a"]
