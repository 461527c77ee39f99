"""Managed fields: who wrote which label, annotation or field last.

Coarser than a real server, which goes down to every leaf: here labels,
annotations, ConfigMap keys and the first level of the specification are noted.
That is enough to tell who wrote one label.
"""

from collections.abc import Iterable

from autoscaler.ports import RawObject

Path = tuple[str, ...]


def _paths(item: RawObject) -> dict[Path, object]:
    """Return the noted fields of an object with their values."""
    metadata = item["metadata"]
    found: dict[Path, object] = {}
    for part in ("labels", "annotations"):
        for key, value in (metadata.get(part) or {}).items():
            found["metadata", part, key] = value
    for part in ("spec", "data", "status"):
        for key, value in (item.get(part) or {}).items():
            found[part, key] = value
    return found


def _as_fields(paths: Iterable[Path]) -> RawObject:
    fields: RawObject = {}
    for path in sorted(paths):
        inner = fields
        for step in path:
            inner = inner.setdefault(f"f:{step}", {})
    return fields


def _as_paths(fields: RawObject, prefix: Path = ()) -> set[Path]:
    if not fields:
        return {prefix} if prefix else set()
    found: set[Path] = set()
    for key, inner in fields.items():
        found |= _as_paths(inner, (*prefix, key.removeprefix("f:")))
    return found


def with_managed_fields(
    new: RawObject, old: RawObject | None, *, entry: RawObject
) -> RawObject:
    """Return the object with the changed fields noted under ``entry``.

    ``entry`` names manager, operation, time and subresource; fields that vanished
    are noted nowhere any more.
    """
    after = _paths(new)
    before = _paths(old) if old else {}
    changed = {path for path, value in after.items() if before.get(path) != value}
    if old and not changed and before.keys() == after.keys():
        return new
    entries = []
    mine: set[Path] = set(changed)
    for other in (old or {}).get("metadata", {}).get("managedFields") or []:
        kept = {path for path in _as_paths(other["fieldsV1"]) if path in after} - changed
        if _owner(other) == _owner(entry):
            mine |= kept
        elif kept:
            entries.append({**other, "fieldsV1": _as_fields(kept)})
    if mine:
        entries.append({**entry, "fieldsType": "FieldsV1", "fieldsV1": _as_fields(mine)})
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def _owner(entry: RawObject) -> tuple[str, str]:
    return entry["manager"], entry.get("subresource", "")
