"""The request log: who asked what, and whether it could change anything."""

from autoscaler.ports import CONFIG_MAPS, NODES, PODS
from autoscaler.simulation.apiserver.request import Verb
from autoscaler.simulation.apiserver.resources import ACCESS_REVIEWS
from autoscaler.simulation.store import Store, StoreClient, StoreLimits
from tests.api import NS, Api, named
from tests.builders import NOW_S, raw_node, raw_pod


def test_each_request_is_noted_with_its_outcome() -> None:
    """In order, with subresource, client and code; refused ones too."""
    api = Api()
    api.client.create(PODS, NS, raw_pod("a"))
    api.client.post(PODS, NS, "a", "binding", {"target": {"name": "n"}})
    api.client.list(NODES)
    assert api.code(Verb.GET, NODES, "none") == 404
    shown = [
        (e.verb, e.resource, e.subresource, e.name, e.user_agent, e.status_code)
        for e in api.store.requests.entries()
    ]
    assert shown == [
        ("create", "pods", "", "", "test/1.0", 201),
        ("create", "pods", "binding", "a", "test/1.0", 201),
        ("list", "nodes", "", "", "test/1.0", 200),
        ("get", "nodes", "", "none", "", 404),
    ]
    assert {e.at_s for e in api.store.requests.entries()} == {NOW_S}


def test_only_what_could_change_something_is_mutating() -> None:
    """Not reads, not trial runs, not questions; a refused write is."""
    api = Api()
    api.client.create(NODES, None, raw_node())
    api.ask(Verb.PATCH, NODES, "gpu-1", body={"spec": {}}, dry_run=True)
    api.ask(Verb.DELETE, NODES, "gpu-1", body={"dryRun": ["All"]})
    api.ask(Verb.CREATE, ACCESS_REVIEWS, body={"spec": {}})
    api.client.list(NODES)
    list(api.client.watch(NODES, "", 0))
    assert api.code(Verb.PATCH, NODES, "none", body={}) == 404
    mutating = api.store.requests.entries(lambda e: e.mutating)
    assert [(e.verb, e.name) for e in mutating] == [("create", ""), ("patch", "none")]
    assert api.store.requests.num_mutating("test/1.0") == 1
    assert api.store.requests.entries()[1].dry_run


def test_a_full_log_counts_what_it_drops() -> None:
    """And never forgets how many mutating requests a client sent."""
    store = Store(lambda: NOW_S, limits=StoreLimits(requests=3))
    client = StoreClient(store, "writer")
    for number in range(5):
        client.create(CONFIG_MAPS, NS, named(f"m{number}"))
    assert len(store.requests.entries()) == 3
    assert store.requests.num_dropped == 2
    assert store.requests.num_mutating("writer") == 5
    store.requests.clear()
    assert (store.requests.entries(), store.requests.num_dropped) == ((), 0)
