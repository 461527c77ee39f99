"""Names, labels and annotations: what the API refuses, in its words."""

import re
from collections.abc import Mapping

from autoscaler.ports import NAMESPACES, Kind, RawObject
from autoscaler.simulation.apiserver.quantities import quantity
from autoscaler.simulation.apiserver.resources import SERVICES
from autoscaler.simulation.apiserver.status import Cause, bad_request

_MAX_NAME = 253
_MAX_LABEL = 63
_MAX_ANNOTATIONS_BYTES = 256 * 1024

_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or"
    " 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used"
    " for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex"
    " used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex"
    " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def wrong(field: str, value: object, rule: str) -> Cause:
    """Return the cause for a value that breaks a rule."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {rule}", field)


def required(field: str, why: str = "") -> Cause:
    """Return the cause for a value that is not there."""
    message = f"Required value: {why}" if why else "Required value"
    return Cause("FieldValueRequired", message, field)


def duplicate(field: str, value: object) -> Cause:
    """Return the cause for a value that may be there once only."""
    return Cause("FieldValueDuplicate", f'Duplicate value: "{value}"', field)


def not_allowed(field: str, why: str) -> Cause:
    """Return the cause for a field that may not be so."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def is_dns_label(text: str) -> bool:
    """Say whether a text can name a namespace or a container."""
    return len(text) <= _MAX_LABEL and bool(_DNS_LABEL.fullmatch(text))


def name_causes(kind: Kind, name: str, field: str = "metadata.name") -> list[Cause]:
    """Return what is wrong with the name of an object."""
    if not name:
        return [required(field, "name or generateName is required")]
    if kind.group == "rbac.authorization.k8s.io":
        bad = name in {".", ".."} or "/" in name or "%" in name
        return [wrong(field, name, "may not contain '/' or '%'")] if bad else []
    if kind in {NAMESPACES, SERVICES}:
        return [] if is_dns_label(name) else [wrong(field, name, _LABEL_RULE)]
    if len(name) > _MAX_NAME:
        return [wrong(field, name, f"must be no more than {_MAX_NAME} bytes")]
    return [] if _DNS_SUBDOMAIN.fullmatch(name) else [wrong(field, name, _SUBDOMAIN_RULE)]


def key_causes(key: str, field: str) -> list[Cause]:
    """Return what is wrong with a qualified name, like a label key."""
    prefix, slash, name = key.rpartition("/")
    causes = []
    if slash and (not _DNS_SUBDOMAIN.fullmatch(prefix) or len(prefix) > _MAX_NAME):
        causes.append(wrong(field, key, f"prefix part {_SUBDOMAIN_RULE}"))
    if not name:
        causes.append(wrong(field, key, "name part must be non-empty"))
    elif len(name) > _MAX_LABEL:
        causes.append(wrong(field, key, f"name part must be no more than {_MAX_LABEL} bytes"))
    elif not _NAME_PART.fullmatch(name):
        causes.append(wrong(field, key, _QUALIFIED_RULE))
    return causes


def label_causes(labels: Mapping[str, str], field: str) -> list[Cause]:
    """Return what is wrong with labels."""
    causes: list[Cause] = []
    for key, value in labels.items():
        causes.extend(key_causes(key, field))
        if len(value) > _MAX_LABEL:
            causes.append(wrong(field, value, f"must be no more than {_MAX_LABEL} bytes"))
        if not _LABEL_VALUE.fullmatch(value):
            causes.append(wrong(field, value, _LABEL_VALUE_RULE))
    return causes


def annotation_causes(annotations: Mapping[str, str]) -> list[Cause]:
    """Return what is wrong with annotations: their keys and their total size."""
    field = "metadata.annotations"
    causes: list[Cause] = []
    for key in annotations:
        causes.extend(key_causes(key.lower(), field))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {_MAX_ANNOTATIONS_BYTES} bytes"
        causes.append(Cause("FieldValueTooLong", text, field))
    return causes


def check_types(kind: Kind, item: RawObject) -> None:
    """Refuse what cannot be decoded at all: 400, as for any malformed body."""
    metadata = item.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise _undecodable(kind, "metadata", "an object")
    for field in ("labels", "annotations"):
        _check_texts(kind, (metadata or {}).get(field), f"metadata.{field}")
    for field in ("spec", "status", "data"):
        if not isinstance(item.get(field), dict | None):
            raise _undecodable(kind, field, "an object")


def _check_texts(kind: Kind, values: object, field: str) -> None:
    if values is None:
        return
    if not isinstance(values, dict):
        raise _undecodable(kind, field, "an object")
    for key, value in values.items():
        if not isinstance(value, str):
            raise _undecodable(kind, f"{field}[{key}]", "a string")


def _undecodable(kind: Kind, field: str, wanted: str) -> Exception:
    return bad_request(
        f"{kind.name} in version {kind.version!r} cannot be handled as a {kind.name}:"
        f" json: cannot unmarshal {field}: it must be {wanted}"
    )


def metadata_causes(kind: Kind, item: RawObject) -> list[Cause]:
    """Return what is wrong with the metadata of an object."""
    metadata = item["metadata"]
    return [
        *name_causes(kind, metadata.get("name", "")),
        *label_causes(metadata.get("labels") or {}, "metadata.labels"),
        *annotation_causes(metadata.get("annotations") or {}),
    ]


def quantity_causes(amounts: Mapping[str, object], field: str) -> list[Cause]:
    """Return what is wrong with amounts of resources."""
    causes = []
    for name, value in amounts.items():
        number = quantity(value)
        if number is None:
            rule = "quantities must match the regular expression of a resource quantity"
            causes.append(wrong(f"{field}[{name}]", value, rule))
        elif number < 0:
            rule = "must be greater than or equal to 0"
            causes.append(wrong(f"{field}[{name}]", value, rule))
        elif is_extended(name) and number % 1:
            causes.append(wrong(f"{field}[{name}]", value, "must be an integer"))
    return causes


def is_extended(name: str) -> bool:
    """Say whether a resource is counted in whole devices, not native to Kubernetes."""
    prefix, slash, _ = name.rpartition("/")
    return bool(slash) and not prefix.endswith("kubernetes.io")
