"""A Kubernetes API in memory: the store, and a client for use in the same process.

The store answers requests as an API server does: resource versions and
conflicts, defaults and checks, selectors, pages and watches, evictions under
disruption budgets, trial runs. ``api_server`` serves the same store over HTTP.

Objects that are handed out are shared with the store and with all other
readers: whoever gets one must not change it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from autoscaler.domain.errors import ActuationError, Conflict, NotFound, Refused, Unavailable
from autoscaler.ports import (
    NAMESPACES,
    PRIORITY_CLASSES,
    Change,
    Kind,
    Page,
    RawObject,
)
from autoscaler.simulation.apiserver import (
    binding,
    creation,
    deletion,
    eviction,
    reading,
    reviews,
    updating,
)
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.faults import BrokenConnection, Faults, Point
from autoscaler.simulation.apiserver.loading import initial_object, load_object
from autoscaler.simulation.apiserver.priorities import SYSTEM_CLASSES
from autoscaler.simulation.apiserver.quota import QuotaKeeper
from autoscaler.simulation.apiserver.reading import Listing
from autoscaler.simulation.apiserver.request import Query, Request, Verb
from autoscaler.simulation.apiserver.request_log import RequestLog
from autoscaler.simulation.apiserver.resources import Registry, Resource
from autoscaler.simulation.apiserver.status import (
    StatusError,
    method_not_allowed,
    not_served,
    success,
)
from autoscaler.simulation.apiserver.storage import Storage, key_of
from autoscaler.simulation.apiserver.watching import Watch

INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

Answer = TypeVar("Answer")

_DELETES = frozenset({Verb.DELETE, Verb.DELETE_COLLECTION})
_GONE, _TOO_MANY, _SERVER_ERROR = 410, 429, 500
_PLAIN_ERRORS: Mapping[int, type[ActuationError]] = {404: NotFound, 409: Conflict}


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much a store remembers.

    Parameters
    ----------
    history
        Writes of each kind that a watch or an old page can still be told of.
    requests
        Requests kept in the log.
    """

    history: int = 10_000
    requests: int = 200_000


class Store:
    """All objects of a cluster behind the rules of an API server; thread-safe.

    Parameters
    ----------
    clock
        Returns the time of the server in epoch seconds.
    resources
        Kinds to serve beside the usual ones.
    wait
        Waits some seconds; only delays by script use it.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        resources: Iterable[Resource] = (),
        limits: StoreLimits | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        limits = limits or StoreLimits()
        self.registry = Registry()
        for resource in resources:
            self.registry.add(resource)
        self._storage = Storage(limits.history)
        self._backend = Backend(self._storage, self.registry, clock=clock)
        quotas = QuotaKeeper(self._backend)
        self._backend.pod_admissions.append(quotas.admit)
        self._backend.reactions.append(quotas.react)
        self._backend.reactions.append(deletion.GarbageCollector(self._backend).react)
        self.faults = Faults(wait)
        self.requests = RequestLog(limits.requests)
        self._create_initial_objects()

    @property
    def version(self) -> str:
        """The latest resource version."""
        return str(self._storage.version)

    def version_of(self, kind: Kind) -> int:
        """Return a number that changes with every write of a kind."""
        return self._storage.of(kind).version

    def now_s(self) -> float:
        """Return the time of the server, epoch seconds."""
        return self._backend.now_s()

    def handle(self, request: Request) -> RawObject:
        """Answer a request for one object; StatusError, or what a fault raises."""
        return self._attended(request, self._answer)

    def list(self, request: Request) -> Listing:
        """Answer a list; its items are shared and must not be changed."""
        return self._attended(request, self._read_list)

    def watch(self, request: Request) -> Watch:
        """Open a watch; 410 when the version it starts from is too old."""
        return self._attended(request, self._open_watch)

    def load(self, items: Iterable[RawObject]) -> None:
        """Store whole objects as they are, status and uid included, past all checks."""
        with self._storage.changed:
            for item in items:
                load_object(self._backend, item)

    def compact(self, version: int | None = None) -> None:
        """Forget old writes, so that older watches and pages are refused."""
        self._storage.compact(version)

    def _attended(self, request: Request, answer: Callable[[Request], Answer]) -> Answer:
        """Answer with the faults that are due, and note how it ended."""
        request = _with_options(request)
        at_s, code = self.now_s(), 0
        try:
            self.faults.consult(Point.BEFORE_APPLY, request)
            with self._storage.changed:
                answered = answer(request)
            self.faults.consult(Point.AFTER_APPLY, request)
            code = 201 if request.verb is Verb.CREATE else 200
        except StatusError as error:
            code = error.code
            raise
        finally:
            self.requests.add(at_s, request, code)
        return answered

    def _answer(self, request: Request) -> RawObject:
        resource = self.registry.of(request.kind)
        if request.subresource and request.subresource not in resource.subresources:
            raise not_served()
        match request.verb, request.subresource:
            case Verb.GET, "" | "status":
                return reading.read(self._backend, request)
            case Verb.CREATE, "":
                return reviews.answer(request) if resource.review else self._create(request)
            case Verb.CREATE, "eviction":
                return eviction.evict(self._backend, request)
            case Verb.CREATE, "binding":
                return binding.bind(self._backend, request)
            case Verb.UPDATE | Verb.PATCH, "" | "status":
                return self._update(request)
            case Verb.DELETE, "":
                return deletion.delete(self._backend, request)
            case Verb.DELETE_COLLECTION, "":
                return self._delete_all(request)
        raise method_not_allowed()

    def _create(self, request: Request) -> RawObject:
        created = creation.create(self._backend, request)
        return reading.view(self.registry.of(request.kind), created)

    def _update(self, request: Request) -> RawObject:
        updated = updating.update(self._backend, request)
        return reading.view(self.registry.of(request.kind), updated)

    def _delete_all(self, request: Request) -> RawObject:
        resource = self.registry.of(request.kind)
        options = request.body or {}
        for item in self._read_list(request).items:
            if self._backend.find(resource.stored, key_of(item)):
                deletion.delete_item(
                    self._backend, resource, item, options, dry_run=request.dry_run
                )
        return success(request.kind, "")

    def _read_list(self, request: Request) -> Listing:
        return reading.read_list(self._backend, request)

    def _open_watch(self, request: Request) -> Watch:
        return Watch(self._backend, request)

    def _create_initial_objects(self) -> None:
        self.load(
            initial_object(NAMESPACES, name, status={"phase": "Active"})
            for name in INITIAL_NAMESPACES
        )
        self.load(
            initial_object(PRIORITY_CLASSES, name, value=value)
            for name, value in SYSTEM_CLASSES.items()
        )


def _with_options(request: Request) -> Request:
    """Return a request whose body may also ask for a trial run, as deletes do."""
    body = request.body or {}
    options = body.get("deleteOptions") or {} if request.subresource == "eviction" else body
    deletes = request.subresource == "eviction" or request.verb in _DELETES
    if deletes and options.get("dryRun") and not request.dry_run:
        return replace(request, dry_run=True)
    return request


class StoreClient:
    """The raw objects of a store, with the errors of the ports."""

    def __init__(self, store: Store, user_agent: str = "in-process") -> None:
        self._store = store
        self._agent = user_agent

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page:
        """Return all objects of one moment; they are shared and must not be changed."""
        query = Query(label_selector=label_selector, field_selector=field_selector)
        request = Request(Verb.LIST, kind, namespace or "", user_agent=self._agent, query=query)
        listing = self._call(request, self._store.list)
        return Page(tuple(listing.items), str(listing.version))

    def get(self, kind: Kind, namespace: str | None, name: str) -> RawObject:
        """Return one object, shared; NotFound when it does not exist."""
        request = Request(Verb.GET, kind, namespace or "", name, user_agent=self._agent)
        return self._call(request, self._store.handle)

    def create(self, kind: Kind, namespace: str | None, body: RawObject) -> RawObject:
        """Create an object; Conflict when it exists."""
        request = Request(Verb.CREATE, kind, namespace or "", body=body, user_agent=self._agent)
        return self._call(request, self._store.handle)

    def patch(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        body: RawObject,
        subresource: str = "",
    ) -> RawObject:
        """Apply a JSON merge patch; Conflict when its resource version is stale."""
        request = Request(
            Verb.PATCH,
            kind,
            namespace or "",
            name,
            subresource,
            body=body,
            user_agent=self._agent,
        )
        return self._call(request, self._store.handle)

    def delete(
        self, kind: Kind, namespace: str | None, name: str, body: RawObject | None = None
    ) -> None:
        """Delete an object as DeleteOptions say."""
        request = Request(
            Verb.DELETE, kind, namespace or "", name, body=body, user_agent=self._agent
        )
        self._call(request, self._store.handle)

    def post(
        self, kind: Kind, namespace: str | None, name: str, subresource: str, body: RawObject
    ) -> RawObject:
        """Create a subresource: an eviction or a binding."""
        request = Request(
            Verb.CREATE,
            kind,
            namespace or "",
            name,
            subresource,
            body=body,
            user_agent=self._agent,
        )
        return self._call(request, self._store.handle)

    def watch(
        self, kind: Kind, since: str, timeout_s: float, namespace: str | None = None
    ) -> Iterator[Change]:
        """Yield the changes after a version; Conflict with "expired" when it is too old."""
        query = Query(resource_version=since, timeout_s=timeout_s)
        request = Request(
            Verb.WATCH, kind, namespace or "", user_agent=self._agent, query=query
        )
        watch = self._call(request, self._store.watch)
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                changes = watch.take(max(0.0, deadline_s - time.monotonic()))
            except StatusError as error:
                raise _translated(error, request) from error
            yield from changes
            if not changes or timeout_s <= 0:
                return

    def _call(self, request: Request, answer: Callable[[Request], Answer]) -> Answer:
        try:
            answered = answer(request)
            self._store.faults.consult(Point.BEFORE_REPLY, request)
        except StatusError as error:
            raise _translated(error, request) from error
        except BrokenConnection as error:
            raise Unavailable(f"{request}: {error}") from error
        return answered


def _translated(error: StatusError, request: Request) -> ActuationError:
    """Return the error of the ports for an error of the server."""
    text = f"{request}: {error.sentence()}"
    if error.code == _GONE:
        return Conflict(f"{request}: expired: {error.sentence()}")
    if error.code == _TOO_MANY or error.code >= _SERVER_ERROR:
        return Unavailable(text, error.details.retry_after_s or None)
    return _PLAIN_ERRORS.get(error.code, Refused)(text)
