"""Managed fields: who wrote what last."""

from autoscaler.simulation.apiserver.managed import with_managed_fields


def entry(manager: str, **more: str) -> dict:
    return {"manager": manager, "operation": "Update", **more}


def node(**labels: str) -> dict:
    return {"metadata": {"name": "n", "labels": labels}, "spec": {}}


def labels_of(item: dict) -> dict[str, list[str]]:
    """Return the labels by manager."""
    return {
        e["manager"]: sorted(e["fieldsV1"].get("f:metadata", {}).get("f:labels", {}))
        for e in item["metadata"]["managedFields"]
    }


def test_a_changed_field_moves_to_its_writer() -> None:
    """The one who wrote it before loses it; what is not changed stays."""
    first = with_managed_fields(node(a="1", b="1"), None, entry=entry("kubelet"))
    changed = node(a="2", b="1")
    changed["metadata"]["managedFields"] = first["metadata"]["managedFields"]
    second = with_managed_fields(changed, first, entry=entry("person"))
    assert labels_of(second) == {"kubelet": ["f:b"], "person": ["f:a"]}


def test_an_entry_that_owns_nothing_vanishes() -> None:
    """Also when its field is removed."""
    first = with_managed_fields(node(a="1"), None, entry=entry("kubelet"))
    second = with_managed_fields(node(), first, entry=entry("person"))
    assert second["metadata"]["managedFields"] == []


def test_status_is_another_owner_than_the_rest() -> None:
    """One manager has one entry for each path it writes by."""
    first = with_managed_fields(node(a="1"), None, entry=entry("kubelet"))
    changed = {**node(a="1"), "status": {"phase": "x"}}
    second = with_managed_fields(changed, first, entry=entry("kubelet", subresource="status"))
    entries = second["metadata"]["managedFields"]
    assert [e.get("subresource") for e in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:phase": {}}}
