"""Whole objects into the store, as they are: dumps, and the start of a scenario."""

from autoscaler.ports import NAMESPACES, Kind, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.patches import copy_object
from autoscaler.simulation.apiserver.resources import api_version_of


def load_object(backend: Backend, item: RawObject) -> None:
    """Store an object, or the items of a list, with status and uid kept.

    What the server would set and the object lacks is filled in; its namespace is
    made when it does not exist.
    """
    if "items" in item:
        for inner in item["items"]:
            load_object(backend, inner)
        return
    resource = backend.registry.named(item.get("apiVersion", ""), item.get("kind", ""))
    copied = copy_object(item)
    metadata = {"creationTimestamp": backend.now_text(), **copied["metadata"]}
    if "uid" not in metadata:
        metadata["uid"] = backend.next_uid()
    metadata.pop("resourceVersion", None)
    if resource.kind.namespaced:
        metadata.setdefault("namespace", "default")
        _ensure_namespace(backend, metadata["namespace"])
    backend.put(resource.stored, {**copied, "metadata": metadata})


def _ensure_namespace(backend: Backend, name: str) -> None:
    if backend.find(NAMESPACES, ("", name)) is None:
        load_object(backend, initial_object(NAMESPACES, name, status={"phase": "Active"}))


def initial_object(kind: Kind, name: str, **fields: object) -> RawObject:
    """Return an object that a server has from its start."""
    identity = {"apiVersion": api_version_of(kind), "kind": kind.name}
    return {**identity, "metadata": {"name": name}, **fields}
