"""Turns what a strict model refuses into sentences a person can act on.

Each names the keys that lead to the fault, what is wrong and what is allowed.
Where in a file that is, is known only to the one who read the file.
"""

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from autoscaler.domain.policy.quantity import shown
from autoscaler.domain.policy.section import Path, Problem

Schema = dict[str, Any]  # Any: the form of a JSON schema

NOT_A_KEY = "is not a key here"
WANTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
YAML_1_1_WORDS = {"yes", "no", "on", "off", "y", "n"}


def complaints(
    error: ValidationError, model: type[BaseModel], *, data: object, zones: Collection[str] = ()
) -> tuple[Problem, ...]:
    """Return one problem for each thing that a model refused.

    Parameters
    ----------
    error
        What validating JSON by file keys raised.
    model
        The model that was asked for.
    data
        What was validated, as mappings and lists.
    zones
        Names of time zones, to guess what a wrong one was meant to be.
    """
    schema = _schema_of(model)
    found = []
    for details in error.errors(include_url=False):
        if is_echo(details):
            continue
        path = data_path(details, data)
        if details["type"] == "inconsistent":
            inner = details["ctx"]["problems"]
            found += [Problem((*path, *p.path), p.message) for p in inner]
        else:
            keys = known_keys(schema, path[:-1], data)
            found.append(Problem(path, sentence(details, keys, zones)))
    return tuple(found)


@cache
def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(by_alias=True)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return a clause with the known word that is nearest, or nothing."""
    near = get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def is_echo(details: ErrorDetails) -> bool:
    """Say whether an error only repeats others: a list is empty since all items were wrong."""
    given = details["input"]
    return details["type"] == "too_short" and isinstance(given, (list, dict)) and bool(given)


def data_path(details: ErrorDetails, data: object) -> Path:
    """Return the keys of the file that an error is about, without the names of alternatives."""
    path: list[str | int] = []
    for part in details["loc"]:
        inside = _children(data)
        if part in inside:
            path.append(part)
            data = inside[part]
    if details["type"] == "missing":
        path.append(details["loc"][-1])
    return tuple(path)


def sentence(details: ErrorDetails, keys: list[str], zones: Collection[str]) -> str:
    """Return what is wrong and what is allowed."""
    kind, given, ctx = details["type"], details["input"], details.get("ctx", {})
    if kind == "missing":
        return "is missing and has no default"
    if kind == "extra_forbidden":
        near = did_you_mean(details["loc"][-1], keys)
        return f"{NOT_A_KEY}{near}; allowed: {', '.join(keys)}"
    if kind in {"enum", "literal_error"}:
        return _not_allowed(given, ctx["expected"])
    if kind in WANTED:
        return f"must be {WANTED[kind]}, not {shown(given)}{_hint(kind, given)}"
    if kind == "time_zone":
        return details["msg"] + did_you_mean(given, zones)
    bounds = {
        "greater_than": f"must be more than {ctx.get('gt', 0):g}, not {shown(given)}",
        "greater_than_equal": f"must be at least {ctx.get('ge', 0):g}, not {shown(given)}",
        "finite_number": f"must be a finite number, not {shown(given)}",
        "too_short": "must not be empty",
        "string_too_short": "must not be empty",
        "union_tag_not_found": f"must say its {ctx.get('discriminator', '')}".replace("'", ""),
        "union_tag_invalid": _not_allowed(ctx.get("tag"), ctx.get("expected_tags", "")),
        "string_too_long": f"must have at most {ctx.get('max_length')} characters",
    }
    return bounds.get(kind, details["msg"].removeprefix("Value error, "))


def known_keys(schema: Schema, path: Path, data: object) -> list[str]:
    """Return the keys that a schema allows in the mapping at a path of some data."""
    places = list(_forms(schema, schema, data))
    for part in path:
        data = _children(data).get(part)
        places = [
            form for inner in _below(places, part) for form in _forms(inner, schema, data)
        ]
    return list(dict.fromkeys(key for own in places for key in own.get("properties", {})))


def _not_allowed(given: object, expected: str) -> str:
    allowed = expected.replace("'", "").replace(" or ", ", ").split(", ")
    return f"{shown(given)} is not allowed{did_you_mean(given, allowed)}; allowed: " + (
        ", ".join(allowed)
    )


def _children(data: object) -> dict[object, object]:
    if isinstance(data, dict):
        return data
    return dict(enumerate(data)) if isinstance(data, list) else {}


def _hint(kind: str, given: object) -> str:
    if kind == "bool_type" and str(given).lower() in YAML_1_1_WORDS:
        return "; YAML 1.2 reads yes, no, on and off as text"
    if kind == "string_type" and isinstance(given, (bool, int, float)):
        return "; put it in quotes"
    return ""


def _below(places: Iterable[Schema], part: str | int) -> Iterator[Schema]:
    """Yield the parts of a schema that describe what is at a key or index."""
    for place in places:
        if isinstance(part, int):
            inner = place.get("items")
        else:
            inner = place.get("properties", {}).get(part, place.get("additionalProperties"))
        if isinstance(inner, dict):
            yield inner


def _forms(place: Schema, root: Schema, data: object) -> Iterator[Schema]:
    """Yield a schema with references followed, and of its alternatives those for some data."""
    told = place.get("discriminator", {})
    kind = _children(data).get(told.get("propertyName"))
    ref = place.get("$ref", told.get("mapping", {}).get(str(kind)))
    if ref is not None:
        yield from _forms(root["$defs"][ref.rpartition("/")[2]], root, data)
        return
    yield place
    for form in (*place.get("anyOf", ()), *place.get("oneOf", ())):
        yield from _forms(form, root, data)
