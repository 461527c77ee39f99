"""Strategic merge patch: which lists merge, by which key, and the directives."""

import pytest

from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.apiserver.strategic import merge_strategically

READY = {"type": "Ready", "status": "True"}
PRESSURE = {"type": "MemoryPressure", "status": "False"}


def test_conditions_merge_by_type() -> None:
    """One condition changes, the others stay."""
    node = {"status": {"conditions": [READY, PRESSURE]}}
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Down"}]}}
    assert merge_strategically(node, patch)["status"]["conditions"] == [
        {"type": "Ready", "status": "False", "reason": "Down"},
        PRESSURE,
    ]


def test_taints_and_tolerations_are_replaced() -> None:
    """They have no merge key: a naive patch drops what others set."""
    node = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    assert merge_strategically(node, patch) == patch
    pod = {"spec": {"tolerations": [{"key": "a"}]}}
    patch = {"spec": {"tolerations": [{"key": "b"}]}}
    assert merge_strategically(pod, patch) == patch


def test_containers_merge_by_name_and_their_ports_by_number() -> None:
    """A new image leaves the rest of a container; a known port is changed."""
    ports = [{"containerPort": 80, "name": "web"}]
    pod = {"spec": {"containers": [{"name": "a", "image": "1", "ports": ports}]}}
    patch = {
        "spec": {
            "containers": [
                {"name": "a", "image": "2", "ports": [{"containerPort": 80, "name": "http"}]},
                {"name": "b", "image": "1"},
            ]
        }
    }
    assert merge_strategically(pod, patch)["spec"]["containers"] == [
        {"name": "a", "image": "2", "ports": [{"containerPort": 80, "name": "http"}]},
        {"name": "b", "image": "1"},
    ]


def test_none_removes_and_maps_merge() -> None:
    """As in a merge patch."""
    item = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"a": None, "c": "3"}}}
    assert merge_strategically(item, patch) == {"metadata": {"labels": {"b": "2", "c": "3"}}}


def test_patch_directives() -> None:
    """An element deleted, a list replaced, a map replaced, a map deleted."""
    node = {"status": {"conditions": [READY, PRESSURE]}, "spec": {"a": 1, "m": {"x": 1}}}
    gone = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    assert merge_strategically(node, gone)["status"]["conditions"] == [PRESSURE]
    anew = {"status": {"conditions": [{"$patch": "replace"}, {"type": "New"}]}}
    assert merge_strategically(node, anew)["status"]["conditions"] == [{"type": "New"}]
    whole = {"spec": {"$patch": "replace", "b": 2}}
    assert merge_strategically(node, whole)["spec"] == {"b": 2}
    assert merge_strategically(node, {"spec": {"m": {"$patch": "delete"}}})["spec"] == {"a": 1}


def test_primitive_lists_and_order() -> None:
    """Finalizers are a set; elements can be taken out and put in order."""
    item = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"containers": []}}
    patch = {"metadata": {"finalizers": ["c", "a"]}}
    assert merge_strategically(item, patch)["metadata"]["finalizers"] == ["a", "b", "c"]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert merge_strategically(item, patch)["metadata"]["finalizers"] == ["b"]
    pod = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    ordered = merge_strategically(pod, patch)["spec"]["containers"]
    assert ordered == [{"name": "b"}, {"name": "a"}]


def test_retained_keys_drop_the_others() -> None:
    """A volume that changes its kind loses the old one."""
    pod = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    volume = {"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}
    assert merge_strategically(pod, {"spec": {"volumes": [volume]}}) == {
        "spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}
    }


def test_an_element_without_its_key_is_refused() -> None:
    """Nobody could tell which one is meant."""
    with pytest.raises(StatusError, match="merge key: type"):
        merge_strategically({}, {"status": {"conditions": [{"status": "True"}]}})


def test_an_unknown_directive_is_refused() -> None:
    """A typing error must not pass as data."""
    with pytest.raises(StatusError, match="unknown patch directive"):
        merge_strategically({}, {"$patch": "erase"})
