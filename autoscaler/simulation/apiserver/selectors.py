"""Label and field selectors, as text and as objects."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.resources import Resource
from autoscaler.simulation.apiserver.status import bad_request

Matcher = Callable[[Mapping[str, str]], bool]
ObjectMatcher = Callable[[RawObject], bool]

_COMMA = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"^(?P<key>[^\s!=<>,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_COMPARISON = re.compile(
    r"^(?P<key>[^\s!=<>,()]+)\s*(?P<op>==|!=|=|>|<)\s*(?P<value>[^\s()=!<>]*)$"
)
_PRESENCE = re.compile(r"^(?P<no>!?)\s*(?P<key>[^\s!=<>,()]+)$")


def _set_matcher(key: str, operator: str, values: frozenset[str]) -> Matcher:
    match operator:
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin":
            # A label that is absent is not in the set.
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case _:
            return lambda labels: key not in labels


def _compared(labels: Mapping[str, str], key: str) -> int | None:
    try:
        return int(labels[key])
    except (KeyError, ValueError):
        return None


def _order_matcher(key: str, operator: str, bound: int) -> Matcher:
    def matches(labels: Mapping[str, str]) -> bool:
        number = _compared(labels, key)
        if number is None:
            return False
        return number > bound if operator == ">" else number < bound

    return matches


def _requirement(text: str) -> Matcher:
    if found := _SET.match(text):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _set_matcher(found["key"], found["op"], values)
    if found := _PRESENCE.match(text):
        return _set_matcher(found["key"], "absent" if found["no"] else "exists", frozenset())
    found = _COMPARISON.match(text)
    if not found:
        raise bad_request(f"unable to parse requirement: found '{text}', expected: identifier")
    key, operator, value = found["key"], found["op"], found["value"]
    if operator in "<>":
        if not re.fullmatch(r"-?\d+", value):
            raise bad_request(f'values[0]: Invalid value: "{value}": must be an integer')
        return _order_matcher(key, operator, int(value))
    return _set_matcher(key, "notin" if operator == "!=" else "in", frozenset({value}))


@lru_cache(maxsize=4096)
def label_matcher(text: str) -> Matcher:
    """Return the predicate of a label selector like ``a=b,c in (d,e),!f``."""
    parts = [part.strip() for part in _COMMA.split(text)] if text.strip() else []
    requirements = [_requirement(part) for part in parts]
    if len(requirements) == 1:
        return requirements[0]
    return lambda labels: all(matches(labels) for matches in requirements)


def selector_matcher(selector: RawObject | None) -> Matcher:
    """Return the predicate of a ``metav1.LabelSelector``; absent selects nothing."""
    if selector is None:
        return lambda labels: False
    requirements = [
        _set_matcher(key, "in", frozenset({value}))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    for expression in selector.get("matchExpressions") or []:
        values = frozenset(expression.get("values") or ())
        requirements.append(
            _set_matcher(expression["key"], operators[expression["operator"]], values)
        )
    return lambda labels: all(matches(labels) for matches in requirements)


def read_field(item: RawObject, path: str) -> str:
    """Return the text of a field as field selectors compare it; empty when absent."""
    if path == "source":
        return str((item.get("source") or {}).get("component", ""))
    if path == "spec.unschedulable":
        return "true" if (item.get("spec") or {}).get("unschedulable") else "false"
    value: object = item
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@lru_cache(maxsize=4096)
def _field_terms(text: str) -> tuple[tuple[str, bool, str], ...]:
    terms = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = re.match(r"^([^=!]+)(==|!=|=)(.*)$", part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((found[1].strip(), found[2] != "!=", found[3].strip()))
    return tuple(terms)


def field_matcher(resource: Resource, text: str) -> ObjectMatcher:
    """Return the predicate of a field selector; 400 for a field that cannot be asked."""
    terms = _field_terms(text)
    served = {"metadata.name", "metadata.namespace", *resource.fields}
    for path, _, _ in terms:
        if path not in served:
            raise bad_request(f"field label not supported: {path}")
    if len(terms) == 1:
        path, equal, value = terms[0]
        return lambda item: (read_field(item, path) == value) is equal
    return lambda item: all(
        (read_field(item, path) == value) is eq for path, eq, value in terms
    )


def object_matcher(resource: Resource, labels: str, fields: str) -> ObjectMatcher | None:
    """Return one predicate for both selectors; ``None`` when all match."""
    if not labels and not fields:
        return None
    by_label = label_matcher(labels)
    by_field = field_matcher(resource, fields) if fields else None

    def matches(item: RawObject) -> bool:
        if by_field is not None and not by_field(item):
            return False
        return not labels or by_label(item["metadata"].get("labels") or {})

    return matches
