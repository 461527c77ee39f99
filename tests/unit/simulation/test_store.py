"""The store as a whole: its kinds, its limits, and what its client reports."""

import pytest

from autoscaler.domain.errors import Conflict, NotFound, Unavailable
from autoscaler.ports import NAMESPACES, NODES, PODS, PRIORITY_CLASSES, Kind
from autoscaler.simulation.apiserver.resources import custom
from autoscaler.simulation.store import Store, StoreClient, StoreLimits
from tests.api import NS, Api, named
from tests.builders import NOW_S, raw_node, raw_pod

WORKLOADS = Kind("kueue.x-k8s.io", "v1beta1", "Workload", "workloads")


def test_a_new_cluster_has_what_every_cluster_has() -> None:
    """Namespaces and the system's priority classes."""
    api = Api()
    assert api.names(NAMESPACES) == [
        *("default", "kube-node-lease", "kube-public", "kube-system")
    ]
    assert api.names(PRIORITY_CLASSES) == ["system-cluster-critical", "system-node-critical"]


def test_more_kinds_can_be_served_from_the_start() -> None:
    """Others are not found."""
    with pytest.raises(NotFound, match="could not find the requested resource"):
        Api().client.list(WORKLOADS)
    store = Store(lambda: NOW_S, resources=[custom(WORKLOADS, "wl", status=True)])
    client = StoreClient(store)
    client.create(WORKLOADS, NS, named("w", spec={"priority": 1}))
    client.patch(WORKLOADS, NS, "w", {"status": {"admitted": True}}, "status")
    (workload,) = client.list(WORKLOADS).items
    assert (workload["apiVersion"], workload["kind"]) == ("kueue.x-k8s.io/v1beta1", "Workload")
    assert workload["status"] == {"admitted": True}


def test_the_history_is_bound() -> None:
    """A watcher that sleeps too long must list again."""
    store = Store(lambda: NOW_S, limits=StoreLimits(history=2))
    client, since = StoreClient(store), store.version
    client.create(NODES, None, raw_node())
    for number in range(9):
        client.patch(NODES, None, "gpu-1", {"metadata": {"labels": {"n": str(number)}}})
    with pytest.raises(Conflict, match="expired"):
        list(client.watch(NODES, since, 0))
    since = client.list(NODES).resource_version
    assert list(client.watch(NODES, since, 0)) == []


def test_errors_name_the_call_and_the_object() -> None:
    """One line tells what was tried, on what, and what came back."""
    api = Api()
    with pytest.raises(NotFound) as missing:
        api.client.patch(PODS, NS, "a", {}, "status")
    assert str(missing.value) == 'patch pods/status default/a: pods "a" not found'
    api.run_pod("a")
    for name in ("one", "two"):
        body = named(name, spec={"selector": {}})
        api.client.create(
            Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"), NS, body
        )
    with pytest.raises(Unavailable, match="create pods/eviction default/a: This pod has more"):
        api.client.post(PODS, NS, "a", "eviction", {"metadata": {"name": "a"}})


def test_readers_of_one_version_share_their_objects() -> None:
    """Nothing is copied for a read, so thousands of pods are read in no time."""
    api = Api()
    api.client.create(PODS, NS, raw_pod("a"))
    (first,) = api.client.list(PODS).items
    assert api.client.get(PODS, NS, "a") is first
