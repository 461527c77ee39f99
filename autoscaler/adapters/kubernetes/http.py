"""Raw objects of a real API server, over HTTP.

The official client is used for configuration and authentication only. Its typed
lists are slow on thousands of pods and lose the whole list to one odd object, and
its calls have no time-out unless told each time.
"""

import json
from collections.abc import Iterator, Mapping
from math import ceil
from urllib.parse import quote, urlencode

from autoscaler import __version__
from autoscaler.adapters.kubernetes.answers import call_name
from autoscaler.adapters.kubernetes.credentials import Connection
from autoscaler.adapters.kubernetes.transport import HttpLimits, Request, Transport
from autoscaler.adapters.kubernetes.watching import changes_in
from autoscaler.domain.errors import Conflict, Unavailable
from autoscaler.ports import Change, Clock, Kind, Page, RawObject

MERGE_PATCH = "application/merge-patch+json"
DEFAULT_LIMITS = HttpLimits()


class HttpObjectClient:
    """An ``ObjectClient`` on a real API server."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        limits: HttpLimits = DEFAULT_LIMITS,
        manager: str = "mig-autoscaler",
    ) -> None:
        self._transport = Transport(connection, clock, limits, f"{manager}/{__version__}")
        # Names us in the managed fields of what we write.
        self._writer = urlencode({"fieldManager": manager})

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page:
        """Return all objects, read in pages but of one resource version."""
        query = {"limit": str(self._transport.limits.page_size)}
        if label_selector:
            query["labelSelector"] = label_selector
        if field_selector:
            query["fieldSelector"] = field_selector
        call = call_name("list", kind, namespace)
        path = path_of(kind, namespace)
        try:
            return self._pages(call, path, query)
        except Conflict:
            # The version expired between two pages: what was read is of no use. A
            # second expiry means that the server cannot keep up.
            return self._pages(call, path, query)

    def _pages(self, call: str, path: str, query: Mapping[str, str]) -> Page:
        items: list[RawObject] = []
        version, token = "", ""
        while True:
            more = {"continue": token} if token else {}
            request = Request(call, "GET", f"{path}?{urlencode({**query, **more})}")
            answer = self._transport.read(request)
            page, metadata = _page_of(call, answer)
            if version and metadata.get("resourceVersion") != version:
                raise Conflict(f"{call}: expired: the pages are of different versions")
            version = str(metadata.get("resourceVersion", ""))
            items.extend(page)
            token = str(metadata.get("continue") or "")
            if not token:
                return Page(tuple(items), version)

    def get(self, kind: Kind, namespace: str | None, name: str) -> RawObject:
        """Return one object; NotFound when it does not exist."""
        call = call_name("get", kind, namespace, name)
        return self._transport.read(Request(call, "GET", path_of(kind, namespace, name)))

    def create(self, kind: Kind, namespace: str | None, body: RawObject) -> RawObject:
        """Create an object; Conflict when it exists."""
        name = str((body.get("metadata") or {}).get("name", ""))
        call = call_name("create", kind, namespace, name)
        path = f"{path_of(kind, namespace)}?{self._writer}"
        return self._transport.write(Request(call, "POST", path, _bytes(body)))

    def patch(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        body: RawObject,
        subresource: str = "",
    ) -> RawObject:
        """Apply a JSON merge patch, atomically."""
        call = call_name("patch", kind, namespace, name)
        path = f"{path_of(kind, namespace, name, subresource)}?{self._writer}"
        return self._transport.write(Request(call, "PATCH", path, _bytes(body), MERGE_PATCH))

    def delete(
        self, kind: Kind, namespace: str | None, name: str, body: RawObject | None = None
    ) -> None:
        """Delete an object; ``body`` is DeleteOptions."""
        call = call_name("delete", kind, namespace, name)
        options = None if body is None else _bytes(body)
        path = path_of(kind, namespace, name)
        self._transport.write(Request(call, "DELETE", path, options))

    def post(
        self, kind: Kind, namespace: str | None, name: str, subresource: str, body: RawObject
    ) -> RawObject:
        """Create a subresource such as ``eviction`` or ``binding``."""
        call = call_name(f"create {subresource} of", kind, namespace, name)
        path = path_of(kind, namespace, name, subresource)
        return self._transport.write(Request(call, "POST", path, _bytes(body)))

    def watch(
        self, kind: Kind, since: str, timeout_s: float, namespace: str | None = None
    ) -> Iterator[Change]:
        """Yield changes after ``since``; Unavailable when the server falls silent.

        A server takes a time-out of 0 for its own default of many minutes, so the
        shortest watch asks for one second.
        """
        call = call_name("watch", kind, namespace)
        seconds = max(1, ceil(timeout_s))
        query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        request = Request(call, "GET", f"{path_of(kind, namespace)}?{urlencode(query)}")
        silence_s = seconds + self._transport.limits.watch_margin_s
        with self._transport.stream(request, silence_s) as response:
            yield from changes_in(call, response)


def path_of(kind: Kind, namespace: str | None, name: str = "", subresource: str = "") -> str:
    """Return the path of a kind's list, of an object, or of its subresource."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    parts = [root]
    if kind.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(kind.plural)
    parts += [quote(part, safe="") for part in (name, subresource) if part]
    return "/".join(parts)


def _page_of(call: str, answer: RawObject) -> tuple[list[RawObject], Mapping[str, object]]:
    items, metadata = answer.get("items"), answer.get("metadata")
    if items is None and str(answer.get("kind", "")).endswith("List"):
        # Go writes an empty list as null.
        items = []
    if not isinstance(items, list) or not isinstance(metadata, dict):
        raise Unavailable(f"{call}: the answer is not a list")
    return [item for item in items if isinstance(item, dict)], metadata


def _bytes(body: RawObject) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
