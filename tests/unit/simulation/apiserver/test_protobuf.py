"""Protobuf bodies, written here by hand as a Go client writes them."""

import pytest

from autoscaler.simulation.apiserver.protobuf import decode
from autoscaler.simulation.apiserver.status import StatusError


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def pair(key: str, value: bytes | str) -> bytes:
    return field(1, key) + field(2, value)


def envelope(version: str, kind: str, body: bytes) -> bytes:
    meta = field(1, version) + field(2, kind)
    return b"k8s\x00" + field(1, meta) + field(2, body) + field(4, "")


def test_a_config_map() -> None:
    """Maps become objects; texts that are not set are left out, bytes are in base64."""
    owner = field(1, "Node") + field(3, "n") + field(4, "u") + field(6, 1)
    created = field(8, field(1, 1_700_000_000) + field(2, 5))
    metadata = (
        field(1, "a") + field(3, "") + field(11, pair("k", "v")) + field(13, owner) + created
    )
    body = field(1, metadata) + field(2, pair("x", "y")) + field(2, pair("z", ""))
    assert decode(envelope("v1", "ConfigMap", body + field(3, pair("b", b"\x00\x01")))) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "labels": {"k": "v"},
            "ownerReferences": [{"kind": "Node", "name": "n", "uid": "u", "controller": True}],
            "creationTimestamp": "2023-11-14T22:13:20Z",
        },
        "data": {"x": "y", "z": ""},
        "binaryData": {"b": "AAE="},
    }


def test_an_eviction_with_options() -> None:
    """What a drain sends."""
    preconditions = field(2, field(1, "uid-1"))
    options = field(1, 30) + preconditions + field(5, "All")
    body = field(1, field(1, "a")) + field(2, options)
    assert decode(envelope("policy/v1", "Eviction", body))["deleteOptions"] == {
        "gracePeriodSeconds": 30,
        "preconditions": {"uid": "uid-1"},
        "dryRun": ["All"],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (field(1, 0) + field(2, 3), 3),
        (field(1, 1) + field(3, "50%"), "50%"),
        (field(1, 0) + field(2, -1), -1),
    ],
)
def test_a_number_or_a_text(value, expected) -> None:
    """As in the bound of a disruption budget; numbers may be negative."""
    body = field(2, field(1, value))
    spec = decode(envelope("policy/v1", "PodDisruptionBudget", body))["spec"]
    assert spec["minAvailable"] == expected


def test_quantities_are_texts() -> None:
    """And unknown fields, of any wire type, are passed over."""
    hard = pair("pods", field(1, "5"))
    unknown = field(99, 7) + varint(98 << 3 | 5) + b"1234" + varint(97 << 3 | 1) + b"12345678"
    body = field(2, field(1, hard)) + unknown
    assert decode(envelope("v1", "ResourceQuota", body))["spec"] == {"hard": {"pods": "5"}}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", 400),
        (b"{}", 400),
        (envelope("apps/v1", "Deployment", b""), 415),
        (envelope("v1", "ConfigMap", field(1, "abc"))[:-3], 400),
        (envelope("v1", "ConfigMap", field(1, 5)), 400),
        (envelope("v1", "ConfigMap", varint(1 << 3 | 3)), 400),
        (envelope("v1", "ConfigMap", varint(1 << 3 | 2) + b"\x09x"), 400),
        (envelope("v1", "ConfigMap", field(1, field(1, b"\xff\xfe"))), 400),
        (envelope("v1", "ConfigMap", b"\x80"), 400),
    ],
)
def test_what_cannot_be_read(content, code) -> None:
    """Cut off, of another type, or of a kind that is not in the table."""
    with pytest.raises(StatusError) as refused:
        decode(content)
    assert refused.value.code == code
