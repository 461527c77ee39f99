"""Events: stored in their core form, also shown as ``events.k8s.io``, kept for an hour."""

from autoscaler.ports import EVENTS, RawObject
from autoscaler.simulation.apiserver.backend import Backend
from autoscaler.simulation.apiserver.timestamps import epoch_s

# How long a server keeps events by default.
_TTL_S = 3600.0
_NUM_LOOKED_AT = 16

_NEW_TO_CORE = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
}
_CORE_TO_NEW = {core: new for new, core in _NEW_TO_CORE.items()}


def to_core(event: RawObject) -> RawObject:
    """Return an ``events.k8s.io`` event in its core form."""
    renamed = {_NEW_TO_CORE.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": "v1"}


def from_core(event: RawObject) -> RawObject:
    """Return a core event in its ``events.k8s.io`` form."""
    renamed = {_CORE_TO_NEW.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": "events.k8s.io/v1"}


def last_seen_s(event: RawObject) -> float | None:
    """Return when an event happened last, epoch seconds."""
    for text in (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    ):
        if text:
            return epoch_s(text)
    return None


def forget_old(backend: Backend) -> None:
    """Remove events that nothing has touched for an hour.

    Only the few oldest are looked at; one comes with every event that goes, so
    the number of events is bound by those of an hour.
    """
    limit_s = backend.now_s() - _TTL_S
    for event in backend.storage.of(EVENTS).oldest(_NUM_LOOKED_AT):
        seen_s = last_seen_s(event)
        if seen_s is not None and seen_s < limit_s:
            backend.remove(EVENTS, event)
