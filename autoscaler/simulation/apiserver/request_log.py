"""What was asked of the server, by whom, and how it ended."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.request import Request


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request. ``status_code`` is 0 when no reply was given.

    ``mutating`` says whether it could change what is stored: a trial run and an
    access review cannot.
    """

    at_s: float
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user_agent: str
    dry_run: bool
    mutating: bool
    status_code: int

    def as_json(self) -> RawObject:
        """Return it under the names of an audit log."""
        return {
            "at": self.at_s,
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "namespace": self.namespace,
            "name": self.name,
            "subresource": self.subresource,
            "userAgent": self.user_agent,
            "dryRun": self.dry_run,
            "mutating": self.mutating,
            "code": self.status_code,
        }


class RequestLog:
    """The latest requests, up to a limit; ``num_dropped`` tells how many were lost."""

    def __init__(self, limit: int) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=limit)
        self._mutating: Counter[str] = Counter()
        self._num_requests = 0
        self._lock = threading.Lock()

    def add(self, at_s: float, request: Request, status_code: int) -> None:
        """Note a request and how it ended."""
        entry = LogEntry(
            at_s=at_s,
            verb=request.verb.value,
            group=request.kind.group,
            resource=request.kind.plural,
            namespace=request.namespace,
            name=request.name,
            subresource=request.subresource,
            user_agent=request.user_agent,
            dry_run=request.dry_run,
            mutating=request.is_mutating,
            status_code=status_code,
        )
        with self._lock:
            self._entries.append(entry)
            self._num_requests += 1
            if entry.mutating:
                self._mutating[request.user_agent] += 1

    @property
    def num_dropped(self) -> int:
        """Number of requests that are no longer listed."""
        return self._num_requests - len(self._entries)

    def num_mutating(self, user_agent: str) -> int:
        """Return how many mutating requests a client ever sent; never drops any."""
        return self._mutating[user_agent]

    def entries(self, when: Callable[[LogEntry], bool] | None = None) -> Sequence[LogEntry]:
        """Return the entries, oldest first, or those that match."""
        with self._lock:
            entries = tuple(self._entries)
        return entries if when is None else tuple(filter(when, entries))

    def clear(self) -> None:
        """Begin anew."""
        with self._lock:
            self._entries.clear()
            self._mutating.clear()
            self._num_requests = 0
