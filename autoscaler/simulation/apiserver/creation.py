"""POST of an object: naming, defaults, admission, checks, storing."""

from autoscaler.ports import EVENTS, NAMESPACES, PODS, RawObject
from autoscaler.simulation.apiserver import event_views, rules
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.managed import with_managed_fields
from autoscaler.simulation.apiserver.patches import copy_object
from autoscaler.simulation.apiserver.priorities import with_priority
from autoscaler.simulation.apiserver.request import Request
from autoscaler.simulation.apiserver.resources import Resource, api_version_of
from autoscaler.simulation.apiserver.status import (
    already_exists,
    bad_request,
    forbidden,
    invalid,
    not_found,
)
from autoscaler.simulation.apiserver.validation import check_types, metadata_causes

# The server sets these; what a body says about them is dropped.
_SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
    "generation",
    "managedFields",
    "selfLink",
)


def create(backend: Backend, request: Request) -> RawObject:
    """Create the object of a request; return it as stored."""
    resource = backend.registry.of(request.kind)
    item = _decode(resource, request)
    if resource.alias_of:
        item = event_views.to_core(item)
    _check_namespace(backend, request)
    item = _with_metadata(backend, resource, item, request.namespace)
    item = rules.with_defaults(resource, item)
    if resource.stored == PODS:
        item = with_priority(backend, item)
    causes = [*metadata_causes(resource.kind, item), *rules.causes(resource, item)]
    name = item["metadata"].get("name", "")
    if causes:
        raise invalid(resource.kind, name, causes)
    if backend.find(resource.stored, (request.namespace, name)):
        raise already_exists(resource.kind, name)
    if resource.stored == PODS:
        for admit in backend.pod_admissions:
            admit(item)
    if resource.stored == EVENTS and not request.dry_run:
        event_views.forget_old(backend)
    if resource.managed:
        item = with_managed_fields(item, None, entry=manager_entry(backend, request))
    return backend.put(resource.stored, item, dry_run=request.dry_run)


def manager_entry(backend: Backend, request: Request) -> RawObject:
    """Return the managed-fields entry of a write, still without fields."""
    entry: RawObject = {
        "manager": request.manager,
        "operation": "Update",
        "apiVersion": api_version_of(request.kind),
        "time": backend.now_text(),
    }
    return {**entry, "subresource": request.subresource} if request.subresource else entry


def check_identity(resource: Resource, item: RawObject, request: Request) -> None:
    """Refuse a body that is about something else than the path: 400."""
    kind = resource.kind
    version, name = api_version_of(kind), kind.name
    if item.get("apiVersion", version) != version or item.get("kind", name) != name:
        raise bad_request(
            f"the API version in the data ({item.get('apiVersion')}, Kind={item.get('kind')})"
            f" does not match the expected API version ({version}, Kind={name})"
        )
    metadata = item.get("metadata") or {}
    if metadata.get("namespace", request.namespace) != request.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the"
            " request"
        )
    if request.name and metadata.get("name", request.name) != request.name:
        raise bad_request(
            f"the name of the object ({metadata.get('name')}) does not match the name on the"
            f" URL ({request.name})"
        )


def _decode(resource: Resource, request: Request) -> RawObject:
    if request.body is None:
        raise bad_request("a body is required")
    check_identity(resource, request.body, request)
    check_types(resource.kind, request.body)
    item = copy_object(request.body)
    metadata = item.get("metadata") or {}
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    kind = resource.kind
    identity = {"apiVersion": api_version_of(kind), "kind": kind.name, "metadata": metadata}
    return {**identity, **item, **identity}


def _check_namespace(backend: Backend, request: Request) -> None:
    if not request.kind.namespaced:
        return
    if not request.namespace:
        raise bad_request("an empty namespace may not be set during creation")
    namespace = backend.find(NAMESPACES, ("", request.namespace))
    if namespace is None:
        raise not_found(NAMESPACES, request.namespace)
    if namespace["metadata"].get("deletionTimestamp"):
        name = ((request.body or {}).get("metadata") or {}).get("name", "")
        why = (
            f"unable to create new content in namespace {request.namespace} because it is being"
            " terminated"
        )
        raise forbidden(request.kind, name, why)


def _with_metadata(
    backend: Backend, resource: Resource, item: RawObject, namespace: str
) -> RawObject:
    given = item["metadata"]
    metadata = {
        key: value
        for key, value in given.items()
        if key not in _SERVER_FIELDS and value is not None
    }
    metadata["uid"] = backend.next_uid()
    metadata["creationTimestamp"] = backend.now_text()
    if resource.kind.namespaced:
        metadata["namespace"] = namespace
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + backend.next_suffix()
    if resource.generation:
        metadata["generation"] = 1
    return {**item, "metadata": metadata}
