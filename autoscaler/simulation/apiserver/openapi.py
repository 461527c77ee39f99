"""A minimal OpenAPI document of each group version.

It names the paths and that writes take ``fieldValidation``; schemas are open.
So ``kubectl`` leaves the checking to the server instead of asking for a schema.
"""

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.discovery import GIT_VERSION
from autoscaler.simulation.apiserver.resources import Registry, Resource, api_version_of

# What writes take in their query.
PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")

_DESCRIBED = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in PARAMETERS
]


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(registry: Registry) -> RawObject:
    """Return what ``/openapi/v3`` says: where the document of each group version is."""
    roots = dict.fromkeys(_root(r.kind.group, r.kind.version) for r in registry)
    return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}


def document(registry: Registry, root: str) -> RawObject | None:
    """Return the document of one group version, ``None`` when it is not served."""
    found = [r for r in registry if _root(r.kind.group, r.kind.version) == root]
    if not found:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": {path: item for r in found for path, item in _paths(r, root).items()},
        "components": {"schemas": {_schema_name(r): _schema(r) for r in found}},
    }


def _schema_name(resource: Resource) -> str:
    kind = resource.kind
    group = kind.group.split(".")[0] or "core"
    return f"io.k8s.api.{group}.{kind.version}.{kind.name}"


def _identity(resource: Resource) -> RawObject:
    kind = resource.kind
    return {"group": kind.group, "version": kind.version, "kind": kind.name}


def _schema(resource: Resource) -> RawObject:
    kind = resource.kind
    return {
        "type": "object",
        "description": f"{kind.name} of {api_version_of(kind)}; its fields are not described.",
        "x-kubernetes-group-version-kind": [_identity(resource)],
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _operation(resource: Resource, action: str) -> RawObject:
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _identity(resource),
        "parameters": _DESCRIBED,
        "responses": {"200": {"description": "OK"}},
    }


def _paths(resource: Resource, root: str) -> RawObject:
    kind = resource.kind
    base = f"/{root}/namespaces/{{namespace}}" if kind.namespaced else f"/{root}"
    return {
        f"{base}/{kind.plural}": {"post": _operation(resource, "post")},
        f"{base}/{kind.plural}/{{name}}": {
            "put": _operation(resource, "put"),
            "patch": _operation(resource, "patch"),
        },
    }
