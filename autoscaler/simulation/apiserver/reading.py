"""GET of one object, and lists: selectors, pages, versions."""

import base64
import binascii
import json
from dataclasses import dataclass

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver import event_views
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.request import Query, Request
from autoscaler.simulation.apiserver.resources import Resource
from autoscaler.simulation.apiserver.selectors import object_matcher
from autoscaler.simulation.apiserver.status import StatusError, bad_request, expired
from autoscaler.simulation.apiserver.storage import Key, key_of

_TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can"
    " start a new list without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list, of one version.

    ``remaining`` is the number of objects after this page, where that is known.
    """

    items: list[RawObject]
    version: int
    continue_token: str = ""
    remaining: int | None = None


def view(resource: Resource, item: RawObject) -> RawObject:
    """Return an object in the form of the kind it was asked as."""
    return event_views.from_core(item) if resource.alias_of else item


def read(backend: Backend, request: Request) -> RawObject:
    """Return the object of a request; 404 when there is none."""
    resource = backend.registry.of(request.kind)
    return view(resource, backend.read(resource, request.namespace, request.name))


def read_list(backend: Backend, request: Request) -> Listing:
    """Return the objects of a request, or one page of them."""
    resource, query = backend.registry.of(request.kind), request.query
    matches = object_matcher(resource, query.label_selector, query.field_selector)
    version, after = _position(backend, query)
    collection = backend.storage.of(resource.stored)
    if version == backend.storage.version:
        items = collection.select(request.namespace)
    else:
        items = _select_at(backend, resource, request, version)
    if after is not None:
        items = [item for item in items if key_of(item) > after]
    if matches is not None:
        items = [item for item in items if matches(item)]
    if resource.alias_of:
        items = [view(resource, item) for item in items]
    return _page(items, version, query)


def _select_at(
    backend: Backend, resource: Resource, request: Request, version: int
) -> list[RawObject]:
    try:
        return backend.storage.of(resource.stored).select_at(version, request.namespace)
    except StatusError as error:
        if request.query.continue_token:
            raise expired(_TOKEN_TOO_OLD) from error
        raise


def _page(items: list[RawObject], version: int, query: Query) -> Listing:
    if not query.limit or len(items) <= query.limit:
        return Listing(items, version)
    page = items[: query.limit]
    selects = query.label_selector or query.field_selector
    remaining = None if selects else len(items) - query.limit
    return Listing(page, version, _encode(version, key_of(page[-1])), remaining)


def _position(backend: Backend, query: Query) -> tuple[int, Key | None]:
    """Return the version to read at and the key after which a page begins."""
    if query.continue_token:
        if query.resource_version not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        return _decode(query.continue_token)
    latest = backend.storage.version
    asked = parse_version(query.resource_version)
    if query.match and not query.resource_version:
        raise bad_request(
            "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if asked > latest:
        text = f"Too large resource version: {asked}, current: {latest}"
        raise StatusError(504, "Timeout", text)
    return (asked, None) if query.match == "Exact" else (latest, None)


def parse_version(text: str) -> int:
    """Return a resource version as a number; 400 when it is none; empty is 0."""
    if text and not (text.isascii() and text.isdigit()):
        raise bad_request(f"Invalid value: {text!r}: resource version is not a number")
    return int(text or 0)


def _encode(version: int, key: Key) -> str:
    text = json.dumps({"rv": version, "start": list(key)})
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decode(token: str) -> tuple[int, Key]:
    try:
        content = json.loads(base64.urlsafe_b64decode(token.encode()))
        namespace, name = content["start"]
        return int(content["rv"]), (str(namespace), str(name))
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
