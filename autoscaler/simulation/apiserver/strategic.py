"""Strategic merge patch: lists merge by key where Kubernetes says so.

Which lists merge, and by which key, is a table of the core types. Taints and
tolerations have no key: a patch replaces the whole list.
"""

from collections.abc import Mapping, Sequence

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.patches import copy_value
from autoscaler.simulation.apiserver.status import bad_request

# By the name of the field; by its parent too where names mean different things.
_MERGE_KEYS: Mapping[tuple[str, ...], str] = {
    ("conditions",): "type",
    ("addresses",): "type",
    ("ownerReferences",): "uid",
    ("containers",): "name",
    ("initContainers",): "name",
    ("ephemeralContainers",): "name",
    ("volumes",): "name",
    ("env",): "name",
    ("volumeMounts",): "mountPath",
    ("volumeDevices",): "devicePath",
    ("imagePullSecrets",): "name",
    ("secrets",): "name",
    ("hostAliases",): "ip",
    ("podIPs",): "ip",
    ("hostIPs",): "ip",
    ("topologySpreadConstraints",): "topologyKey",
    ("schedulingGates",): "name",
    ("resourceClaims",): "name",
    ("resourceClaimStatuses",): "name",
    ("containers", "ports"): "containerPort",
    ("initContainers", "ports"): "containerPort",
    ("spec", "ports"): "port",
}
# Lists of plain values that merge as sets.
_SETS = frozenset({"finalizers", "podCIDRs"})

_DELETE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"
_PATCH = "$patch"

Path = tuple[str, ...]


def merge_strategically(target: RawObject, patch: RawObject, path: Path = ()) -> RawObject:
    """Return the target with a strategic merge patch applied."""
    directive = patch.get(_PATCH)
    if directive == "replace":
        return _plain(patch)
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise bad_request(f"unknown patch directive: {directive!r}")
    result = _retained(target, patch.get(_RETAIN))
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        merged = _merged(result.get(key), value, (*path, key))
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    return _with_list_directives(result, patch, path)


def _plain(patch: RawObject) -> RawObject:
    return {key: copy_value(value) for key, value in patch.items() if not key.startswith("$")}


def _retained(target: RawObject, keys: object) -> RawObject:
    if not isinstance(keys, list):
        return dict(target)
    return {key: value for key, value in target.items() if key in keys}


def _merged(old: object, value: object, path: Path) -> object:
    if value is None:
        return None
    if isinstance(value, dict):
        if value.get(_PATCH) == "delete":
            return None
        return merge_strategically(old if isinstance(old, dict) else {}, value, path)
    if isinstance(value, list):
        before = old if isinstance(old, list) else []
        merge_key = _merge_key(path)
        if merge_key:
            return _merge_lists(before, value, merge_key, path=path)
        if path[-1] in _SETS:
            return [*before, *(item for item in value if item not in before)]
    return copy_value(value)


def _merge_key(path: Path) -> str | None:
    return _MERGE_KEYS.get(path[-2:]) or _MERGE_KEYS.get(path[-1:])


def _merge_lists(
    before: Sequence[RawObject], patch: Sequence[RawObject], merge_key: str, *, path: Path
) -> list[RawObject]:
    if any(entry.get(_PATCH) == "replace" for entry in patch):
        return [_plain(entry) for entry in patch if entry.get(_PATCH) != "replace"]
    result = list(before)
    for entry in patch:
        if merge_key not in entry:
            raise bad_request(
                f"{'.'.join(path)}: map does not contain declared merge key: {merge_key}"
            )
        found = [i for i, item in enumerate(result) if item.get(merge_key) == entry[merge_key]]
        if entry.get(_PATCH) == "delete":
            result = [item for index, item in enumerate(result) if index not in found]
        elif found:
            result[found[0]] = merge_strategically(result[found[0]], entry, path)
        else:
            result.append(merge_strategically({}, entry, path))
    return result


def _with_list_directives(result: RawObject, patch: RawObject, path: Path) -> RawObject:
    for key, value in patch.items():
        if key.startswith(_DELETE):
            field = key.removeprefix(_DELETE)
            result[field] = [item for item in result.get(field) or [] if item not in value]
        elif key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            if isinstance(result.get(field), list):
                result[field] = _ordered(result[field], value, _merge_key((*path, field)))
    return result


def _ordered(
    items: Sequence[RawObject], order: Sequence[RawObject], merge_key: str | None
) -> list[RawObject]:
    """Return the items in the order wished; those it does not name come last."""
    wanted = [entry[merge_key] if merge_key else entry for entry in order]

    def rank(item: RawObject) -> int:
        value = item.get(merge_key) if merge_key else item
        return wanted.index(value) if value in wanted else len(wanted)

    return sorted(items, key=rank)
