"""Which kinds are served where: the documents that clients read first."""

from collections.abc import Mapping

from autoscaler.ports import Kind, RawObject
from autoscaler.simulation.apiserver.resources import Registry, Resource, api_version_of

# A version of the API whose behavior is followed here.
GIT_VERSION = "v1.32.4"

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# Subresources that take a POST of another kind than their parent.
_POSTED: Mapping[str, Kind] = {
    "eviction": Kind("policy", "v1", "Eviction", ""),
    "binding": Kind("", "v1", "Binding", ""),
}


def version() -> RawObject:
    """Return what ``/version`` says."""
    major, minor, _ = GIT_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def core_versions() -> RawObject:
    """Return what ``/api`` says."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def _group(name: str, versions: list[str]) -> RawObject:
    served = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def _versions(registry: Registry) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for resource in registry:
        versions = found.setdefault(resource.kind.group, [])
        if resource.kind.version not in versions:
            versions.append(resource.kind.version)
    return found


def group_list(registry: Registry) -> RawObject:
    """Return what ``/apis`` says."""
    groups = [_group(name, versions) for name, versions in _versions(registry).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> RawObject | None:
    """Return what ``/apis/GROUP`` says, ``None`` when it is not served."""
    versions = _versions(registry).get(name)
    if not name or not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def resource_list(registry: Registry, group_name: str, version_name: str) -> RawObject | None:
    """Return the kinds of one group version, ``None`` when it is not served."""
    found = [
        resource
        for resource in registry
        if (resource.kind.group, resource.kind.version) == (group_name, version_name)
    ]
    if not found:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version_of(found[0].kind),
        "resources": [entry for resource in found for entry in _entries(resource)],
    }


def _entries(resource: Resource) -> list[RawObject]:
    kind = resource.kind
    main: RawObject = {
        "name": kind.plural,
        "singularName": kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": ["create"] if resource.review else list(_VERBS),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    return [main, *(_subresource(resource, name) for name in resource.subresources)]


def _subresource(resource: Resource, name: str) -> RawObject:
    kind = resource.kind
    entry: RawObject = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": ["get", "patch", "update"],
    }
    posted = _POSTED.get(name)
    if posted is None:
        return entry
    other = {"group": posted.group, "version": posted.version} if posted.group else {}
    return {**entry, **other, "kind": posted.name, "verbs": ["create"]}
