"""PUT and PATCH: preconditions, what a path may change, checks, storing."""

from collections.abc import Mapping

from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.apiserver import event_views, patches, rules
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.creation import check_identity, manager_entry
from autoscaler.simulation.apiserver.managed import with_managed_fields
from autoscaler.simulation.apiserver.request import PatchType, Request, Verb
from autoscaler.simulation.apiserver.resources import Resource, api_version_of
from autoscaler.simulation.apiserver.status import (
    Cause,
    bad_request,
    conflict,
    invalid,
    stale,
    unsupported_media_type,
)
from autoscaler.simulation.apiserver.strategic import merge_strategically
from autoscaler.simulation.apiserver.validation import check_types, metadata_causes, wrong

# What no update changes.
_FIXED = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
    "generation",
    "managedFields",
)
# Kinds whose status path also takes labels and annotations.
_OPEN_STATUS = frozenset({NODES, PODS})


def update(backend: Backend, request: Request) -> RawObject:
    """Replace or patch the object of a request; return it as stored."""
    resource = backend.registry.of(request.kind)
    old = backend.read(resource, request.namespace, request.name)
    proposed = _proposed(resource, old, request)
    check_identity(resource, proposed, request)
    check_types(resource.kind, proposed)
    if resource.alias_of:
        proposed = event_views.to_core(proposed)
    _check_preconditions(resource, proposed, old, verb=request.verb)
    new = _with_allowed_parts(resource, proposed, old, subresource=request.subresource)
    if new == old:
        return old
    new = _with_generation(resource, new, old)
    causes = _causes(resource, new, old)
    if causes:
        raise invalid(resource.kind, request.name, causes)
    if resource.managed:
        new = with_managed_fields(new, old, entry=manager_entry(backend, request))
    if _is_released(new):
        return backend.remove(resource.stored, new, dry_run=request.dry_run)
    return backend.put(resource.stored, new, dry_run=request.dry_run)


def _causes(resource: Resource, new: RawObject, old: RawObject) -> list[Cause]:
    """Return what is wrong with an update; what did not change was checked before."""
    causes = metadata_causes(resource.kind, new) if new["metadata"] != old["metadata"] else []
    if resource.stored == PODS and new["spec"] is old["spec"]:
        return causes
    return [
        *causes,
        *rules.causes(resource, new),
        *rules.update_causes(resource, new, old),
    ]


def _proposed(resource: Resource, old: RawObject, request: Request) -> RawObject:
    seen = event_views.from_core(old) if resource.alias_of else old
    if request.verb is Verb.UPDATE:
        if request.body is None:
            raise bad_request("a body is required")
        return patches.copy_object(request.body)
    if request.patch_type is PatchType.APPLY:
        raise unsupported_media_type(
            "server-side apply is not served here; use a merge patch or kubectl's client-side"
            " apply"
        )
    if request.patch_type is PatchType.JSON:
        return patches.apply_operations(seen, request.operations)
    if request.body is None:
        raise bad_request("a body is required")
    if request.patch_type is PatchType.MERGE:
        return patches.merge(seen, request.body)
    if resource.custom:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include:"
            " application/json-patch+json, application/merge-patch+json"
        )
    return merge_strategically(seen, request.body)


def _check_preconditions(
    resource: Resource, proposed: RawObject, old: RawObject, *, verb: Verb
) -> None:
    kind, name = resource.kind, old["metadata"]["name"]
    metadata = proposed.get("metadata") or {}
    version, uid = metadata.get("resourceVersion"), metadata.get("uid")
    if uid and uid != old["metadata"]["uid"]:
        if verb is Verb.PATCH:
            raise invalid(kind, name, [wrong("metadata.uid", uid, "field is immutable")])
        why = (
            f"Precondition failed: UID in precondition: {uid}, UID in object meta:"
            f" {old['metadata']['uid']}"
        )
        raise conflict(kind, name, why)
    if version and version != old["metadata"]["resourceVersion"]:
        raise stale(kind, name)
    if not version and verb is Verb.UPDATE and not resource.unconditional:
        cause = wrong("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(kind, name, [cause])


def _with_allowed_parts(
    resource: Resource, proposed: RawObject, old: RawObject, *, subresource: str
) -> RawObject:
    """Return what a path takes over of a proposal: status, or all but status."""
    before = old["metadata"]
    metadata = {k: v for k, v in (proposed.get("metadata") or {}).items() if k not in _FIXED}
    metadata |= {key: before[key] for key in _FIXED if key in before}
    metadata = {key: value for key, value in metadata.items() if value not in ({}, [], None)}
    if subresource == "status":
        if resource.stored in _OPEN_STATUS:
            metadata |= _kept(before, ("ownerReferences", "finalizers"))
        else:
            metadata = before
        status = proposed.get("status") or {}
        if resource.stored == NODES:
            status = rules.with_text_amounts(status)
        return {**old, "metadata": metadata, "status": status}
    kind = resource.stored
    new = {
        **proposed,
        "apiVersion": api_version_of(kind),
        "kind": kind.name,
        "metadata": metadata,
    }
    if resource.has_status:
        new.pop("status", None)
        new |= _kept(old, ("status",))
    return rules.tidied(resource, new)


def _kept(item: RawObject, keys: tuple[str, ...]) -> RawObject:
    return {key: item[key] for key in keys if key in item}


def _with_generation(resource: Resource, new: RawObject, old: RawObject) -> RawObject:
    if not resource.generation or _specified(new) == _specified(old):
        return new
    generation = int(old["metadata"].get("generation", 1)) + 1
    return {**new, "metadata": {**new["metadata"], "generation": generation}}


def _specified(item: RawObject) -> Mapping[str, object]:
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}


def _is_released(item: RawObject) -> bool:
    """Say whether the last finalizer of an object that is to go has been taken off."""
    metadata = item["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
