"""A small evaluator of RBAC: what the roles of a service account allow."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autoscaler.simulation.apiserver.request_log import LogEntry

Raw = Mapping[str, Any]
# Verbs that cannot be limited by name: the server does not know it, or there are many.
NAMELESS = frozenset({"create", "list", "watch", "deletecollection"})


@dataclass(frozen=True)
class Grant:
    """One thing that may be done; no namespace means all, no name means any."""

    role: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def allows(self, entry: LogEntry) -> bool:
        """Say whether it covers a request, as the API server's authorizer would."""
        resource = entry.resource + (f"/{entry.subresource}" if entry.subresource else "")
        return (
            (self.verb, self.group, self.resource) == (entry.verb, entry.group, resource)
            and self.namespace in {"", entry.namespace}
            and (not self.name or (entry.verb not in NAMELESS and self.name == entry.name))
        )

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.role}: {self.verb} {self.resource}{group}{name}{where}"


def grants_of(objects: Iterable[Raw], account: tuple[str, str]) -> tuple[Grant, ...]:
    """Return everything that a service account, namespace and name, may do."""
    every = list(objects)
    roles = {
        (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o["rules"]
        for o in every
        if o["kind"] in {"Role", "ClusterRole"}
    }
    found: list[Grant] = []
    for binding in every:
        if binding["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        subjects = {(s.get("namespace", ""), s["name"]) for s in binding["subjects"]}
        if account not in subjects:
            continue
        namespace = binding["metadata"].get("namespace", "")
        kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        rules = roles[kind, namespace if kind == "Role" else "", name]
        found += [grant for rule in rules for grant in _grants(name, rule, namespace)]
    return tuple(found)


def _grants(role: str, rule: Raw, namespace: str) -> Iterator[Grant]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield Grant(role, verb, group, resource, namespace, name)


def forbidden(grants: Iterable[Grant], entries: Iterable[LogEntry]) -> list[str]:
    """Return the requests that nothing allows, each kind once."""
    own = tuple(grants)
    return sorted(
        {
            f"{e.verb} {e.resource}/{e.subresource} {e.group} {e.namespace} {e.name}"
            for e in entries
            if not any(grant.allows(e) for grant in own)
        }
    )


def unused(grants: Iterable[Grant], entries: Iterable[LogEntry]) -> set[str]:
    """Return the grants that no request needs."""
    seen = list(entries)
    return {str(grant) for grant in grants if not any(grant.allows(e) for e in seen)}
