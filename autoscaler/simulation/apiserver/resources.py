"""The kinds that are served, and what is peculiar to each; a table of facts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autoscaler.ports import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICA_SETS,
    Kind,
)
from autoscaler.simulation.apiserver.status import not_served

NEW_EVENTS = Kind("events.k8s.io", "v1", "Event", "events")
SERVICE_ACCOUNTS = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SERVICES = Kind("", "v1", "Service", "services")
SECRETS = Kind("", "v1", "Secret", "secrets")
DAEMON_SETS = Kind("apps", "v1", "DaemonSet", "daemonsets")
DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments")
STATEFUL_SETS = Kind("apps", "v1", "StatefulSet", "statefulsets")
CRON_JOBS = Kind("batch", "v1", "CronJob", "cronjobs")
DEFINITIONS = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
ACCESS_REVIEWS = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
RULES_REVIEWS = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectRulesReview",
    "selfsubjectrulesreviews",
    namespaced=False,
)
SELF_REVIEWS = Kind(
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    namespaced=False,
)
POD_GROUPS = Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
RESOURCE_SLICES = Kind(
    "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", namespaced=False
)
CLUSTER_POLICIES = Kind(
    "nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", namespaced=False
)

_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind and how the server treats it.

    Parameters
    ----------
    short_names, categories
        What ``kubectl`` may call it.
    subresources
        Paths below an object: ``status``, ``eviction``, ``binding``.
    fields
        Paths that field selectors may name, beside name and namespace.
    generation
        Whether ``metadata.generation`` counts changes of the specification.
    managed
        Whether ``metadata.managedFields`` is kept. Off where objects are many and
        nobody asks who wrote a field.
    custom
        Whether a CustomResourceDefinition defines it: no strategic merge patch.
    unconditional
        Whether a PUT without resource version is taken.
    alias_of
        The kind under which objects are stored, when this is only another view.
    review
        Whether a POST is a question: answered, not stored.
    """

    kind: Kind
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    generation: bool = False
    managed: bool = True
    custom: bool = False
    unconditional: bool = True
    alias_of: Kind | None = None
    review: bool = False

    @property
    def stored(self) -> Kind:
        """The kind under which its objects are kept."""
        return self.alias_of or self.kind

    @property
    def has_status(self) -> bool:
        """Whether status is written apart from the rest."""
        return "status" in self.subresources


def _workload(kind: Kind, *short_names: str) -> Resource:
    return Resource(kind, short_names, ("all",), ("status",), generation=True)


def custom(kind: Kind, *short_names: str, status: bool = False) -> Resource:
    """Return how a custom kind is treated."""
    return Resource(
        kind,
        short_names,
        subresources=("status",) if status else (),
        generation=True,
        custom=True,
        unconditional=False,
    )


POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

RESOURCES: tuple[Resource, ...] = (
    Resource(CONFIG_MAPS, ("cm",)),
    Resource(EVENTS, ("ev",), fields=EVENT_FIELDS, managed=False),
    Resource(NAMESPACES, ("ns",), subresources=("status",), fields=("status.phase",)),
    Resource(NODES, ("no",), subresources=("status",), fields=("spec.unschedulable",)),
    Resource(
        PODS,
        ("po",),
        ("all",),
        ("status", "eviction", "binding"),
        POD_FIELDS,
        generation=True,
        managed=False,
    ),
    Resource(QUOTAS, ("quota",), subresources=("status",)),
    Resource(SECRETS, fields=("type",)),
    Resource(SERVICE_ACCOUNTS, ("sa",)),
    Resource(SERVICES, ("svc",), ("all",), ("status",)),
    _workload(DAEMON_SETS, "ds"),
    _workload(DEPLOYMENTS, "deploy"),
    _workload(REPLICA_SETS, "rs"),
    _workload(STATEFUL_SETS, "sts"),
    _workload(CRON_JOBS, "cj"),
    _workload(JOBS),
    Resource(ACCESS_REVIEWS, review=True, managed=False),
    Resource(RULES_REVIEWS, review=True, managed=False),
    Resource(SELF_REVIEWS, review=True, managed=False),
    Resource(LEASES, managed=False, unconditional=False),
    Resource(NEW_EVENTS, ("ev",), fields=EVENT_FIELDS, managed=False, alias_of=EVENTS),
    Resource(
        DISRUPTION_BUDGETS,
        ("pdb",),
        subresources=("status",),
        generation=True,
        unconditional=False,
    ),
    Resource(PRIORITY_CLASSES, ("pc",)),
    Resource(Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)),
    Resource(Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)),
    Resource(Kind(_RBAC, "v1", "Role", "roles")),
    Resource(Kind(_RBAC, "v1", "RoleBinding", "rolebindings")),
    Resource(DEFINITIONS, ("crd", "crds"), subresources=("status",), generation=True),
    Resource(RESOURCE_SLICES, generation=True),
    custom(POD_GROUPS, "pg", "podgroup-v1beta1", status=True),
    custom(Kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"), status=True),
    custom(Kind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"), status=True),
    custom(CLUSTER_POLICIES, status=True),
)


class Registry:
    """Finds resources by kind and by path."""

    def __init__(self, resources: Iterable[Resource] = RESOURCES) -> None:
        self._by_kind: dict[Kind, Resource] = {}
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve one more kind."""
        kind = resource.kind
        self._by_kind[kind] = resource
        self._by_path[kind.group, kind.version, kind.plural] = resource

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_kind.values())

    def of(self, kind: Kind) -> Resource:
        """Return the resource of a kind; 404 when it is not served."""
        resource = self._by_kind.get(kind)
        if resource is None:
            raise not_served()
        return resource

    def at(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource of a path; 404 when it is not served."""
        resource = self._by_path.get((group, version, plural))
        if resource is None:
            raise not_served()
        return resource

    def named(self, api_version: str, name: str) -> Resource:
        """Return the resource of an object's ``apiVersion`` and ``kind``."""
        for resource in self:
            kind = resource.kind
            if kind.name == name and api_version_of(kind) == api_version:
                return resource
        raise not_served()


def api_version_of(kind: Kind) -> str:
    """Return ``apps/v1``, or ``v1`` for the core group."""
    return f"{kind.group}/{kind.version}" if kind.group else kind.version
