"""What a path is answered with: documents, objects, lists, or a stream of changes."""

from dataclasses import dataclass, replace

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver import discovery, openapi, openapi_v2
from autoscaler.simulation.apiserver.exchange import HttpRequest, Reply, json_reply
from autoscaler.simulation.apiserver.rendering import Form, Renderer, accepted_form
from autoscaler.simulation.apiserver.request import Request, Verb
from autoscaler.simulation.apiserver.routes import request_for, target_of
from autoscaler.simulation.apiserver.status import StatusError, method_not_allowed, not_served
from autoscaler.simulation.apiserver.watching import Watch
from autoscaler.simulation.store import Store

# A server ends a watch of its own accord after about this long.
_WATCH_S = 1800.0
_EXPIRED = 410
_HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
_LOG_PATH = "/simulation/requests"


@dataclass(frozen=True, slots=True)
class Stream:
    """A watch that is to be sent as it happens.

    ``watch`` is ``None`` when it failed before it began: only ``error`` is sent, in
    a reply that is fine otherwise, as a real server does.
    """

    request: Request
    watch: Watch | None
    renderer: Renderer
    timeout_s: float
    error: RawObject | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, and the request for objects it belongs to, if it was one."""

    reply: Reply
    request: Request | None = None


def answer(store: Store, http: HttpRequest) -> Answer | Stream:
    """Answer one HTTP request; StatusError, or whatever a fault raises."""
    if http.path.rstrip("/") == _LOG_PATH:
        return Answer(_request_log(store, http))
    fixed = _document(store, http.path)
    if fixed is not None:
        if http.method != "GET":
            raise method_not_allowed()
        return Answer(fixed)
    if not http.path.startswith(("/api/", "/apis/")):
        raise not_served()
    target = target_of(store.registry, http.path)
    request = request_for(target, http)
    renderer = Renderer(
        target.resource,
        accepted_form(http.headers.get("accept", "")),
        store.now_s,
        http.query.get("includeObject", "Metadata"),
    )
    if request.verb is Verb.WATCH:
        return _stream(store, request, renderer)
    if request.verb is Verb.LIST:
        return Answer(json_reply(renderer.render_list(store.list(request))), request)
    status = 201 if request.verb is Verb.CREATE else 200
    return Answer(json_reply(renderer.render(store.handle(request)), status), request)


def _stream(store: Store, request: Request, renderer: Renderer) -> Stream:
    timeout_s = request.query.timeout_s or _WATCH_S
    if renderer.form is Form.METADATA_LIST:
        renderer = replace(renderer, form=Form.METADATA)
    try:
        watch = store.watch(request)
    except StatusError as error:
        if error.code != _EXPIRED:
            raise
        return Stream(request, None, renderer, timeout_s, error.as_json())
    return Stream(request, watch, renderer, timeout_s)


def _request_log(store: Store, http: HttpRequest) -> Reply:
    """Serve the log of requests; DELETE begins it anew."""
    if http.method == "DELETE":
        store.requests.clear()
    elif http.method != "GET":
        raise method_not_allowed()
    entries = [entry.as_json() for entry in store.requests.entries()]
    return json_reply({"items": entries, "dropped": store.requests.num_dropped})


def _document(store: Store, path: str) -> Reply | None:
    """Return the reply for a path that does not name objects."""
    path = path.rstrip("/")
    if path in _HEALTH_PATHS:
        return Reply(200, b"ok", "text/plain")
    if path == "/openapi/v2":
        return openapi_v2.reply(store.registry)
    body = _body(store, path)
    return None if body is None else json_reply(body)


def _body(store: Store, path: str) -> RawObject | None:
    registry = store.registry
    if path.startswith("/openapi/v3/"):
        return openapi.document(registry, path.removeprefix("/openapi/v3/"))
    match path.split("/")[1:]:
        case ["version"]:
            return discovery.version()
        case ["api"]:
            return discovery.core_versions()
        case ["apis"]:
            return discovery.group_list(registry)
        case ["openapi", "v3"]:
            return openapi.index(registry)
        case ["api", version]:
            return discovery.resource_list(registry, "", version)
        case ["apis", group]:
            return discovery.group(registry, group)
        case ["apis", group, version]:
            return discovery.resource_list(registry, group, version)
    return None
