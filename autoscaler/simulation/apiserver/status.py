"""Errors of an API server, as it words them.

A ``StatusError`` carries the ``metav1.Status`` that a client would get. Front
ends turn it into an HTTP reply or into an error of the ports.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from autoscaler.ports import Kind, RawObject


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes``: what is wrong with which field."""

    reason: str
    message: str
    field: str = ""

    def as_json(self) -> RawObject:
        """Return it as the API spells it."""
        body: RawObject = {"reason": self.reason, "message": self.message}
        return body | {"field": self.field} if self.field else body


@dataclass(frozen=True, slots=True)
class Details:
    """What a failure is about: ``details`` of a ``Status``."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_s: int = 0

    def as_json(self) -> RawObject:
        """Return the entries that say something."""
        body: RawObject = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [cause.as_json() for cause in self.causes],
            "retryAfterSeconds": self.retry_after_s,
        }
        return {key: value for key, value in body.items() if value}


class StatusError(Exception):
    """A request was refused; ``code`` is the HTTP status."""

    def __init__(
        self, code: int, reason: str, message: str, details: Details | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or Details()

    def as_json(self) -> RawObject:
        """Return the ``Status`` object of the reply."""
        body: RawObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        }
        if self.reason:
            body["reason"] = self.reason
        details = self.details.as_json()
        return body | {"details": details} if details else body

    def sentence(self) -> str:
        """Return message and causes in one text, for people and logs."""
        extra = [
            cause.message for cause in self.details.causes if cause.message not in self.message
        ]
        return "; ".join([self.message or f"HTTP {self.code}", *extra])


def resource_of(kind: Kind) -> str:
    """Return ``deployments.apps``, or ``pods`` for the core group."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _about(kind: Kind, name: str, causes: Sequence[Cause] = ()) -> Details:
    return Details(name=name, group=kind.group, kind=kind.plural, causes=tuple(causes))


def success(kind: Kind, name: str, uid: str = "") -> RawObject:
    """Return the ``Status`` that ends a delete."""
    details = Details(name=name, group=kind.group, kind=kind.plural, uid=uid)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.as_json(),
    }


def not_found(kind: Kind, name: str) -> StatusError:
    """Say that an object does not exist."""
    message = f'{resource_of(kind)} "{name}" not found'
    return StatusError(404, "NotFound", message, _about(kind, name))


def not_served() -> StatusError:
    """Say that a path leads nowhere."""
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message)


def already_exists(kind: Kind, name: str) -> StatusError:
    """Say that a name is taken."""
    message = f'{resource_of(kind)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _about(kind, name))


def conflict(kind: Kind, name: str, why: str) -> StatusError:
    """Say that an object is not as the request supposed."""
    message = f'Operation cannot be fulfilled on {resource_of(kind)} "{name}": {why}'
    return StatusError(409, "Conflict", message, _about(kind, name))


def stale(kind: Kind, name: str) -> StatusError:
    """Say that someone else wrote first."""
    why = (
        "the object has been modified; please apply your changes to the latest version"
        " and try again"
    )
    return conflict(kind, name, why)


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> StatusError:
    """Say which fields are wrong."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details = Details(name=name, group=kind.group, kind=kind.name, causes=tuple(causes))
    message = f'{qualified} "{name}" is invalid: {joined}'
    return StatusError(422, "Invalid", message, details)


def forbidden(kind: Kind, name: str, why: str) -> StatusError:
    """Say that a rule or a right stands against it."""
    message = f'{resource_of(kind)} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, _about(kind, name))


def bad_request(message: str) -> StatusError:
    """Say that a request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def method_not_allowed() -> StatusError:
    """Say that a path does not take a verb."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message)


def unsupported_media_type(message: str) -> StatusError:
    """Say that a body has a form that is not taken."""
    return StatusError(415, "UnsupportedMediaType", message)


def expired(message: str) -> StatusError:
    """Say that a resource version or continue token is too old."""
    return StatusError(410, "Expired", message)


def too_many_requests(message: str, causes: Sequence[Cause] = ()) -> StatusError:
    """Say that it may not be now; without a time to wait, as the server does."""
    return StatusError(429, "TooManyRequests", message, Details(causes=tuple(causes)))
