"""The columns that ``kubectl get`` shows of each kind; a table of facts."""

from collections.abc import Callable, Mapping, Sequence
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
    RawObject,
)
from autoscaler.simulation.apiserver.ages import age, since
from autoscaler.simulation.apiserver.event_views import last_seen_s
from autoscaler.simulation.apiserver.pod_cells import pod_ready, pod_restarts, pod_status
from autoscaler.simulation.apiserver.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NEW_EVENTS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
)
from autoscaler.simulation.apiserver.selectors import read_field
from autoscaler.simulation.apiserver.timestamps import timestamp

NONE, UNKNOWN = "<none>", "<unknown>"

Cell = Callable[[RawObject, float], object]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it is called and what it shows of an object at a time."""

    name: str
    cell: Cell
    wide: bool = False
    type: str = "string"


def _name(item: RawObject, now_s: float) -> object:
    return item["metadata"]["name"]


NAME = Column("Name", _name)
AGE = Column("Age", age)


def _field(path: str, absent: object = NONE) -> Cell:
    def cell(item: RawObject, now_s: float) -> object:
        return read_field(item, path) or absent

    return cell


def _number(path: str) -> Cell:
    def cell(item: RawObject, now_s: float) -> object:
        return int(read_field(item, path) or 0)

    return cell


def _size(path: str) -> Cell:
    def cell(item: RawObject, now_s: float) -> object:
        return len(item.get(path) or ())

    return cell


def _ratio(numerator: str, denominator: str) -> Cell:
    def cell(item: RawObject, now_s: float) -> object:
        return f"{read_field(item, numerator) or 0}/{read_field(item, denominator) or 0}"

    return cell


def _node_status(node: RawObject, now_s: float) -> object:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = [c.get("status") == "True" for c in conditions if c.get("type") == "Ready"]
    words = ["Unknown"] if not ready else ["Ready" if ready[0] else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: RawObject, now_s: float) -> object:
    labels = node["metadata"].get("labels") or {}
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role"}
    return ",".join(sorted(filter(None, roles))) or NONE


def _address(kind: str) -> Cell:
    def cell(node: RawObject, now_s: float) -> object:
        addresses = (node.get("status") or {}).get("addresses") or []
        found = [a.get("address") for a in addresses if a.get("type") == kind]
        return found[0] if found else NONE

    return cell


def _readiness_gates(pod: RawObject, now_s: float) -> object:
    gates = pod["spec"].get("readinessGates") or []
    if not gates:
        return NONE
    conditions = (pod.get("status") or {}).get("conditions") or []
    true = {c.get("type") for c in conditions if c.get("status") == "True"}
    return f"{sum(g.get('conditionType') in true for g in gates)}/{len(gates)}"


def _last_seen(event: RawObject, now_s: float) -> object:
    seen_s = last_seen_s(event)
    return UNKNOWN if seen_s is None else since(timestamp(seen_s), now_s)


def _first_seen(event: RawObject, now_s: float) -> object:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now_s)


def _event_object(event: RawObject, now_s: float) -> object:
    about = event.get("involvedObject") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _event_source(event: RawObject, now_s: float) -> object:
    source = event.get("source") or {}
    parts = (source.get("component") or event.get("reportingComponent"), source.get("host"))
    return ", ".join(filter(None, parts))


def _quota_amounts(*, limits: bool) -> Cell:
    def cell(quota: RawObject, now_s: float) -> object:
        status = quota.get("status") or {}
        hard = status.get("hard") or (quota.get("spec") or {}).get("hard") or {}
        used = status.get("used") or {}
        return ", ".join(
            f"{key}: {used.get(key, 0)}/{hard[key]}"
            for key in sorted(hard)
            if key.startswith("limits.") is limits
        )

    return cell


def _job_status(job: RawObject, now_s: float) -> object:
    conditions = (job.get("status") or {}).get("conditions") or []
    true = [c.get("type") for c in conditions if c.get("status") == "True"]
    for kind in ("Failed", "Complete", "Suspended"):
        if kind in true:
            return kind
    return "Running"


_EVENT_COLUMNS = (
    Column("Last Seen", _last_seen),
    Column("Type", _field("type")),
    Column("Reason", _field("reason")),
    Column("Object", _event_object),
    Column("Subobject", _field("involvedObject.fieldPath", ""), wide=True),
    Column("Source", _event_source, wide=True),
    Column("Message", _field("message", "")),
    Column("First Seen", _first_seen, wide=True),
    Column("Count", _field("count", "1"), wide=True),
    Column("Name", _name, wide=True),
)

_COLUMNS: Mapping[Kind, Sequence[Column]] = {
    NODES: (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _field("status.nodeInfo.kubeletVersion", "")),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", _field("status.nodeInfo.osImage", UNKNOWN), wide=True),
        Column("Kernel-Version", _field("status.nodeInfo.kernelVersion", UNKNOWN), wide=True),
        Column(
            "Container-Runtime",
            _field("status.nodeInfo.containerRuntimeVersion", UNKNOWN),
            wide=True,
        ),
    ),
    PODS: (
        NAME,
        Column("Ready", pod_ready),
        Column("Status", pod_status),
        Column("Restarts", pod_restarts),
        AGE,
        Column("IP", _field("status.podIP"), wide=True),
        Column("Node", _field("spec.nodeName"), wide=True),
        Column("Nominated Node", _field("status.nominatedNodeName"), wide=True),
        Column("Readiness Gates", _readiness_gates, wide=True),
    ),
    EVENTS: _EVENT_COLUMNS,
    NEW_EVENTS: _EVENT_COLUMNS,
    CONFIG_MAPS: (NAME, Column("Data", _size("data"), type="integer"), AGE),
    SECRETS: (
        NAME,
        Column("Type", _field("type", "Opaque")),
        Column("Data", _size("data")),
        AGE,
    ),
    NAMESPACES: (NAME, Column("Status", _field("status.phase")), AGE),
    SERVICE_ACCOUNTS: (NAME, Column("Secrets", _size("secrets"), type="integer"), AGE),
    SERVICES: (
        NAME,
        Column("Type", _field("spec.type", "ClusterIP")),
        Column("Cluster-IP", _field("spec.clusterIP")),
        AGE,
    ),
    DEPLOYMENTS: (
        NAME,
        Column("Ready", _ratio("status.readyReplicas", "spec.replicas")),
        Column("Up-to-date", _number("status.updatedReplicas"), type="integer"),
        Column("Available", _number("status.availableReplicas"), type="integer"),
        AGE,
    ),
    STATEFUL_SETS: (
        NAME,
        Column("Ready", _ratio("status.readyReplicas", "spec.replicas")),
        AGE,
    ),
    REPLICA_SETS: (
        NAME,
        Column("Desired", _number("spec.replicas"), type="integer"),
        Column("Current", _number("status.replicas"), type="integer"),
        Column("Ready", _number("status.readyReplicas"), type="integer"),
        AGE,
    ),
    DAEMON_SETS: (
        NAME,
        Column("Desired", _number("status.desiredNumberScheduled"), type="integer"),
        Column("Current", _number("status.currentNumberScheduled"), type="integer"),
        Column("Ready", _number("status.numberReady"), type="integer"),
        AGE,
    ),
    JOBS: (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _ratio("status.succeeded", "spec.completions")),
        AGE,
    ),
    DISRUPTION_BUDGETS: (
        NAME,
        Column("Min Available", _field("spec.minAvailable", "N/A")),
        Column("Max Unavailable", _field("spec.maxUnavailable", "N/A")),
        Column("Allowed Disruptions", _number("status.disruptionsAllowed"), type="integer"),
        AGE,
    ),
    PRIORITY_CLASSES: (
        NAME,
        Column("Value", _number("value"), type="integer"),
        Column("Global-Default", _field("globalDefault", "false")),
        AGE,
    ),
    LEASES: (NAME, Column("Holder", _field("spec.holderIdentity", "")), AGE),
    QUOTAS: (
        NAME,
        Column("Request", _quota_amounts(limits=False)),
        Column("Limit", _quota_amounts(limits=True)),
        AGE,
    ),
}


def columns_of(kind: Kind) -> Sequence[Column]:
    """Return the columns of a kind; name and age where it has none of its own."""
    return _COLUMNS.get(kind, (NAME, AGE))
