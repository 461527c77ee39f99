"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902).

Both leave their input alone and return an object that shares what did not change.
"""

from collections.abc import Sequence

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.status import StatusError, bad_request


def copy_object(item: RawObject) -> RawObject:
    """Return a copy that shares no dictionary or list with the original."""
    return {key: copy_value(value) for key, value in item.items()}


def copy_value(value: object) -> object:
    """Return a copy of any JSON value."""
    if isinstance(value, dict):
        return {key: copy_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [copy_value(inner) for inner in value]
    return value


def merge(target: RawObject, patch: RawObject) -> RawObject:
    """Apply a JSON merge patch: ``None`` removes, dictionaries merge, all else replaces."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merge(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = copy_value(value)
    return result


def _steps(pointer: object) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise bad_request(f"invalid JSON pointer: {pointer!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _rejected() -> StatusError:
    """Say that a patch does not fit the object; the server says no more either."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message)


def _index(items: Sequence[object], step: str, *, end: bool) -> int:
    if end and step == "-":
        return len(items)
    if not step.isdigit() or int(step) >= len(items) + end:
        raise _rejected()
    return int(step)


def _read(document: object, steps: Sequence[str]) -> object:
    for step in steps:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(document, step, end=False)]
        else:
            raise _rejected()
    return document


def _edit(document: object, steps: Sequence[str], operation: str, value: object) -> object:
    """Return the document with one place added, replaced or removed."""
    if not steps:
        return None if operation == "remove" else copy_value(value)
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        if (rest or operation != "add") and step not in document:
            raise _rejected()
        if rest:
            return {**document, step: _edit(document[step], rest, operation, value)}
        if operation == "remove":
            return {key: inner for key, inner in document.items() if key != step}
        return {**document, step: copy_value(value)}
    if isinstance(document, list):
        index = _index(document, step, end=operation == "add" and not rest)
        if rest:
            return _splice(document, index, 1, [_edit(document[index], rest, operation, value)])
        inserted = [] if operation == "remove" else [copy_value(value)]
        return _splice(document, index, 0 if operation == "add" else 1, inserted)
    raise _rejected()


def _splice(
    items: Sequence[object], index: int, removed: int, inserted: Sequence[object]
) -> list[object]:
    return [*items[:index], *inserted, *items[index + removed :]]


def _operate(document: object, operation: RawObject) -> object:
    name, path = operation.get("op"), _steps(operation.get("path"))
    if name in {"add", "replace", "test"} and "value" not in operation:
        raise bad_request(f"JSON patch operation {name!r} has no value")
    match name:
        case "test":
            if _read(document, path) != operation["value"]:
                raise _rejected()
            return document
        case "add" | "replace" | "remove":
            return _edit(document, path, name, operation.get("value"))
        case "copy" | "move":
            source = _steps(operation.get("from"))
            value = _read(document, source)
            if name == "move":
                document = _edit(document, source, "remove", None)
            return _edit(document, path, "add", value)
        case _:
            raise bad_request(f"unknown JSON patch operation: {name!r}")


def apply_operations(target: RawObject, operations: Sequence[RawObject]) -> RawObject:
    """Apply a JSON patch: all operations or none; a failing ``test`` is 422."""
    document: object = target
    for operation in operations:
        document = _operate(document, operation)
    if not isinstance(document, dict):
        raise _rejected()
    return document
