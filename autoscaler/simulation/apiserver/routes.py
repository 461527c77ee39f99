"""From method, path and query of an HTTP request to a request for objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.exchange import JSON, HttpRequest, body_object
from autoscaler.simulation.apiserver.protobuf import MEDIA_TYPE
from autoscaler.simulation.apiserver.request import PatchType, Query, Request, Verb
from autoscaler.simulation.apiserver.resources import Registry, Resource
from autoscaler.simulation.apiserver.status import (
    bad_request,
    method_not_allowed,
    not_served,
    unsupported_media_type,
)

_BODY_TYPES = (JSON, MEDIA_TYPE)
_TRUE = frozenset({"true", "1"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_OPTIONS = ("propagationPolicy", "gracePeriodSeconds")


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target_of(registry: Registry, path: str) -> Target:
    """Return what a path below ``/api`` or ``/apis`` names; 404 when nothing."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"]:
        group, version, rest = "", *parts[1:2], parts[2:]
    else:
        group, version, rest = *parts[1:3], parts[3:]
    if not rest:
        raise not_served()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    resource = registry.at(group, version, rest[0])
    name, subresource = (*rest[1:3], "", "")[:2]
    if len(rest) > 3 or (bool(namespace) and not resource.kind.namespaced):
        raise not_served()
    if name and resource.kind.namespaced and not namespace:
        raise not_served()
    return Target(resource, namespace, name, subresource)


def request_for(target: Target, http: HttpRequest) -> Request:
    """Return the request for objects that an HTTP request is."""
    verb = _verb(target, http)
    patch_type = PatchType.MERGE
    body: RawObject | None = None
    operations: tuple[RawObject, ...] = ()
    if verb is Verb.PATCH:
        patch_type = _patch_type(http.content_type)
    elif verb.writes and http.content and http.content_type not in _BODY_TYPES:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include:"
            f" {', '.join(_BODY_TYPES)}"
        )
    if patch_type is PatchType.JSON:
        operations = _operations(http)
    elif patch_type is not PatchType.APPLY:
        body = body_object(http)
    if verb in {Verb.DELETE, Verb.DELETE_COLLECTION}:
        body = {**_delete_options(http.query), **(body or {})}
    return Request(
        verb,
        target.resource.kind,
        target.namespace,
        target.name,
        target.subresource,
        body=body,
        operations=operations,
        patch_type=patch_type,
        user_agent=http.headers.get("user-agent", ""),
        field_manager=http.query.get("fieldManager", ""),
        dry_run=_is_trial(http.query),
        query=_query(http.query),
    )


def _verb(target: Target, http: HttpRequest) -> Verb:
    watches = http.query.get("watch", "") in _TRUE
    match http.method, bool(target.name):
        case "GET", True:
            return Verb.GET
        case "GET", False:
            return Verb.WATCH if watches else Verb.LIST
        case "POST", named if not named or target.subresource:
            return Verb.CREATE
        case "PUT", True:
            return Verb.UPDATE
        case "PATCH", True:
            return Verb.PATCH
        case "DELETE", named:
            return Verb.DELETE if named else Verb.DELETE_COLLECTION
    raise method_not_allowed()


def _patch_type(media_type: str) -> PatchType:
    try:
        return PatchType(media_type)
    except ValueError as error:
        accepted = ", ".join(patch_type.value for patch_type in PatchType)
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include:"
            f" {accepted}"
        ) from error


def _operations(http: HttpRequest) -> tuple[RawObject, ...]:
    body = http.json()
    if not isinstance(body, list) or not all(isinstance(entry, dict) for entry in body):
        raise bad_request("a JSON patch is a list of operations")
    return tuple(body)


def _delete_options(query: Mapping[str, str]) -> RawObject:
    options: RawObject = {key: query[key] for key in _OPTIONS if query.get(key)}
    if "gracePeriodSeconds" in options:
        options["gracePeriodSeconds"] = _whole(options["gracePeriodSeconds"])
    return options


def _is_trial(query: Mapping[str, str]) -> bool:
    asked = query.get("dryRun", "")
    if asked not in {"", "All"}:
        raise bad_request(f'dryRun: Unsupported value: "{asked}": supported values: "All"')
    return bool(asked)


def _whole(text: str) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise bad_request(f"strconv.ParseInt: parsing {text!r}: invalid syntax") from error


def _query(query: Mapping[str, str]) -> Query:
    seconds = _whole(query.get("timeoutSeconds", ""))
    return Query(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=_whole(query.get("limit", "")),
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        timeout_s=float(seconds) if seconds else None,
        bookmarks=query.get("allowWatchBookmarks", "") in _TRUE,
        initial_events=query.get("sendInitialEvents", "") in _TRUE,
    )
