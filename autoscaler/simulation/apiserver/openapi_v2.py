"""The same minimal API description in the older form, which comes in protobuf only.

``kubectl`` still asks for it before it sends a list of objects. Field numbers are
those of the OpenAPI 2 messages that Go clients use.
"""

from collections.abc import Mapping

from autoscaler.simulation.apiserver import openapi
from autoscaler.simulation.apiserver.exchange import Reply, encode
from autoscaler.simulation.apiserver.resources import Registry

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_METHODS: Mapping[str, int] = {"put": 3, "post": 4, "patch": 8}


def reply(registry: Registry) -> Reply:
    """Return what ``/openapi/v2`` says."""
    roots = openapi.index(registry)["paths"]
    paths = b""
    for root in roots:
        document = openapi.document(registry, root) or {"paths": {}}
        for path, item in document["paths"].items():
            paths += _field(2, _named(path, _item(item)))
    content = _field(1, b"2.0") + _field(8, paths)
    return Reply(200, content, MEDIA_TYPE)


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _named(name: str, content: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, content)


def _item(item: Mapping[str, Mapping[str, object]]) -> bytes:
    return b"".join(_field(_METHODS[method], _operation(op)) for method, op in item.items())


def _operation(operation: Mapping[str, object]) -> bytes:
    extensions = b"".join(
        # The value of an extension is YAML, which JSON is.
        _field(13, _named(key, _field(2, encode(value))))
        for key, value in operation.items()
        if key.startswith("x-")
    )
    return b"".join(_field(8, _query(name)) for name in openapi.PARAMETERS) + extensions


def _query(name: str) -> bytes:
    """Return a parameter of the query: three messages deep."""
    schema = _field(2, b"query") + _field(4, name.encode()) + _field(6, b"string")
    return _field(1, _field(2, _field(3, schema)))
