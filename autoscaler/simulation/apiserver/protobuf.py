"""Bodies in protobuf, as ``kubectl`` sends the small objects that it builds itself.

Only reading, and only the messages of the table; replies are JSON, which such
clients accept too. Field numbers are those of the Kubernetes API.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.status import (
    StatusError,
    bad_request,
    unsupported_media_type,
)
from autoscaler.simulation.apiserver.timestamps import timestamp

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: its JSON name and what it holds.

    ``kind`` is ``text``, ``bytes``, ``int``, ``bool``, or the name of a message;
    ``map`` means a map from text to it, ``many`` a list of it.
    """

    name: str
    kind: str = "text"
    map: bool = False
    many: bool = False


_METADATA = Field("metadata", "ObjectMeta")

_MESSAGES: Mapping[str, Mapping[int, Field]] = {
    "ObjectMeta": {
        1: Field("name"),
        2: Field("generateName"),
        3: Field("namespace"),
        5: Field("uid"),
        6: Field("resourceVersion"),
        7: Field("generation", "int"),
        8: Field("creationTimestamp", "Time"),
        11: Field("labels", map=True),
        12: Field("annotations", map=True),
        13: Field("ownerReferences", "OwnerReference", many=True),
        14: Field("finalizers", many=True),
    },
    "OwnerReference": {
        1: Field("kind"),
        3: Field("name"),
        4: Field("uid"),
        5: Field("apiVersion"),
        6: Field("controller", "bool"),
        7: Field("blockOwnerDeletion", "bool"),
    },
    "ConfigMap": {
        1: _METADATA,
        2: Field("data", map=True),
        3: Field("binaryData", "bytes", map=True),
        4: Field("immutable", "bool"),
    },
    "Secret": {
        1: _METADATA,
        2: Field("data", "bytes", map=True),
        3: Field("type"),
        4: Field("stringData", map=True),
        5: Field("immutable", "bool"),
    },
    "Namespace": {1: _METADATA},
    "ServiceAccount": {1: _METADATA},
    "ResourceQuota": {1: _METADATA, 2: Field("spec", "ResourceQuotaSpec")},
    "ResourceQuotaSpec": {
        1: Field("hard", "Quantity", map=True),
        2: Field("scopes", many=True),
    },
    "PodDisruptionBudget": {1: _METADATA, 2: Field("spec", "PodDisruptionBudgetSpec")},
    "PodDisruptionBudgetSpec": {
        1: Field("minAvailable", "IntOrString"),
        2: Field("selector", "LabelSelector"),
        3: Field("maxUnavailable", "IntOrString"),
        4: Field("unhealthyPodEvictionPolicy"),
    },
    "LabelSelector": {
        1: Field("matchLabels", map=True),
        2: Field("matchExpressions", "LabelSelectorRequirement", many=True),
    },
    "LabelSelectorRequirement": {
        1: Field("key"),
        2: Field("operator"),
        3: Field("values", many=True),
    },
    "PriorityClass": {
        1: _METADATA,
        2: Field("value", "int"),
        3: Field("globalDefault", "bool"),
        4: Field("description"),
        5: Field("preemptionPolicy"),
    },
    "Eviction": {1: _METADATA, 2: Field("deleteOptions", "DeleteOptions")},
    "DeleteOptions": {
        1: Field("gracePeriodSeconds", "int"),
        2: Field("preconditions", "Preconditions"),
        3: Field("orphanDependents", "bool"),
        4: Field("propagationPolicy"),
        5: Field("dryRun", many=True),
    },
    "Preconditions": {1: Field("uid"), 2: Field("resourceVersion")},
    "SelfSubjectAccessReview": {1: _METADATA, 2: Field("spec", "AccessReviewSpec")},
    "AccessReviewSpec": {
        1: Field("resourceAttributes", "ResourceAttributes"),
        2: Field("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: Field("namespace"),
        2: Field("verb"),
        3: Field("group"),
        4: Field("version"),
        5: Field("resource"),
        6: Field("subresource"),
        7: Field("name"),
    },
    "NonResourceAttributes": {1: Field("path"), 2: Field("verb")},
    "SelfSubjectRulesReview": {1: _METADATA, 2: Field("spec", "RulesReviewSpec")},
    "RulesReviewSpec": {1: Field("namespace")},
    "SelfSubjectReview": {1: _METADATA},
}


def decode(content: bytes) -> RawObject:
    """Return the object of a protobuf body; 415 for a kind that is not read here."""
    if not content.startswith(_MAGIC):
        raise bad_request("the body does not begin as a Kubernetes protobuf message does")
    try:
        envelope = dict(_fields(content[len(_MAGIC) :]))
        meta = dict(_fields(_as_bytes(envelope.get(1, b""))))
        version, kind = (_as_bytes(meta.get(n, b"")).decode() for n in (1, 2))
        if kind not in _MESSAGES:
            raise unsupported_media_type(f"{kind} is read as application/json only here")
        body = _message(kind, _as_bytes(envelope.get(2, b"")))
    except (IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"the protobuf body is malformed: {error}") from error
    return {"apiVersion": version, "kind": kind, **body}


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and raw value of each field of a message."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(content, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(content, at)
        elif wire in {_FIXED32, _FIXED64}:
            size = 4 if wire == _FIXED32 else 8
        else:
            raise _malformed(f"wire type {wire}")
        if at + size > len(content):
            raise _malformed("it ends too early")
        yield number, content[at : at + size]
        at += size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _malformed(why: str) -> StatusError:
    return bad_request(f"the protobuf body is malformed: {why}")


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _malformed("a number where a text is due")
    return value


def _as_int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise _malformed("a text where a number is due")
    # Negative numbers come as their two's complement in 64 bits.
    return value - (1 << 64) if value >> 63 else value


def _message(kind: str, content: bytes) -> RawObject:
    result: RawObject = {}
    for number, raw in _fields(content):
        field = _MESSAGES[kind].get(number)
        if field is None:
            continue
        if field.map:
            entry = dict(_fields(_as_bytes(raw)))
            key = _as_bytes(entry.get(1, b"")).decode()
            result.setdefault(field.name, {})[key] = _value(field.kind, entry.get(2, b""))
        elif field.many:
            result.setdefault(field.name, []).append(_value(field.kind, raw))
        else:
            result[field.name] = _value(field.kind, raw)
    # Go writes an unset text as an empty one; JSON leaves it out.
    return {key: value for key, value in result.items() if value not in ("", None)}


def _value(kind: str, raw: int | bytes) -> object:
    match kind:
        case "text":
            return _as_bytes(raw).decode()
        case "bytes":
            return base64.b64encode(_as_bytes(raw)).decode()
        case "int":
            return _as_int(raw)
        case "bool":
            return bool(_as_int(raw))
        case "Time":
            seconds = dict(_fields(_as_bytes(raw))).get(1)
            return None if seconds is None else timestamp(_as_int(seconds))
        case "Quantity":
            return _as_bytes(dict(_fields(_as_bytes(raw))).get(1, b"")).decode()
        case "IntOrString":
            return _int_or_string(dict(_fields(_as_bytes(raw))))
        case _:
            return _message(kind, _as_bytes(raw))


def _int_or_string(fields: Mapping[int, int | bytes]) -> object:
    if _as_int(fields.get(1, 0)):
        return _as_bytes(fields.get(3, b"")).decode()
    return _as_int(fields.get(2, 0))
