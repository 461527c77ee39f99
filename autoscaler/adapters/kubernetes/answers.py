"""What an answer of the API server means: an object, or one of our errors.

Every message starts with the call, so that a log line alone says what went wrong.
"""

import json
from collections.abc import Mapping

from autoscaler.domain.errors import ActuationError, Conflict, NotFound, Refused, Unavailable
from autoscaler.ports import Kind, RawObject

SHOWN = 300


def object_in(call: str, status: int, headers: Mapping[str, str], body: bytes) -> RawObject:
    """Return the object of an answer.

    Raises
    ------
    Unavailable
        Also when the body is no JSON object: a cut connection, or the page of a proxy.
    Refused, NotFound, Conflict
        As the status says.
    """
    if 300 <= status < 400:
        raise Unavailable(
            f"{call}: redirected to {headers.get('Location', '?')}; "
            "is there a login page in front of the API server?"
        )
    found = _json_in(body)
    if status >= 400:
        raise error_for(call, status, headers, found, body)
    if found is None:
        raise Unavailable(f"{call}: {_describe_body(headers, body)}")
    return found


def error_for(
    call: str,
    status: int,
    headers: Mapping[str, str],
    found: RawObject | None,
    body: bytes = b"",
) -> ActuationError:
    """Return the error for a status of 400 and above."""
    message = _said(found or {}) or _shorten(body)
    if status == 401:
        return Refused(f"{call}: the API server refuses our credentials (401)")
    if status == 403:
        return Refused(f"{call}: not permitted (403): {message}")
    if status == 404:
        return NotFound(f"{call}: not found (404): {message}")
    if status == 409:
        return Conflict(f"{call}: conflict (409): {message}")
    if status == 410:
        return Conflict(f"{call}: expired (410): {message}")
    if status in {408, 429} or status >= 500:
        return Unavailable(f"{call}: {status}: {message}", retry_after_s(headers))
    return Refused(f"{call}: refused ({status}): {message}")


def status_code_of(found: RawObject) -> int | None:
    """Return the code of a ``Status`` that came in place of an object, else ``None``."""
    if found.get("kind") != "Status" or found.get("status") == "Success":
        return None
    code = found.get("code")
    return code if isinstance(code, int) and code >= 400 else 500


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, if it says so in seconds."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() and len(value) < 7 else None


def call_name(verb: str, kind: Kind, namespace: str | None, name: str = "") -> str:
    """Return words for a call: ``patch nodes gpu-a1``, ``list pods in team-x``."""
    if name:
        return f"{verb} {kind.plural} {namespace + '/' if namespace else ''}{name}"
    return f"{verb} {kind.plural}" + (f" in {namespace}" if namespace else "")


def _json_in(body: bytes) -> RawObject | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _said(found: RawObject) -> str:
    """Return the message of a ``Status`` with what its causes add.

    Which disruption budget forbids an eviction stands in a cause only.
    """
    details = found.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    texts = [found.get("message")]
    texts += [c.get("message") for c in causes or [] if isinstance(c, dict)]
    told = [text for text in texts if isinstance(text, str) and text]
    return "; ".join(text for n, text in enumerate(told) if not n or text not in told[0])


def _describe_body(headers: Mapping[str, str], body: bytes) -> str:
    kind = headers.get("Content-Type", "")
    if "html" in kind or body.lstrip()[:1] == b"<":
        return "answered with a web page; is there a login page or a proxy in between?"
    return f"the answer is cut off or not JSON: {_shorten(body)!r}"


def _shorten(body: bytes) -> str:
    text = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
    return text or "no message"
