"""What the simulated controllers read of a raw pod.

Deliberately not the product's own reading of pods: a mistake there must show up as a
difference, not be made twice.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from autoscaler.ports import RawObject
from autoscaler.simulation.apiserver.timestamps import epoch_s

SIMULATION = "sim.mig-autoscaler.io/"
RUN_SECONDS = f"{SIMULATION}run-seconds"
STOP_SECONDS = f"{SIMULATION}stop-seconds"
EXIT = f"{SIMULATION}exit"
PROCESS = f"{SIMULATION}process"
ACTIVITY = f"{SIMULATION}activity"
TTL_SECONDS = f"{SIMULATION}ttl-seconds"

FINISHED = frozenset({"Succeeded", "Failed"})

_SUFFIXES = {
    "m": Decimal("0.001"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
}


@lru_cache(maxsize=4096)
def parse_amount(text: str) -> Decimal:
    """Return the number of a quantity such as ``2``, ``500m`` or ``64Gi``."""
    digits = text.rstrip("kMGTim")
    suffix = text[len(digits) :]
    return Decimal(digits) * (_SUFFIXES[suffix] if suffix else 1)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a pod takes of its node; ``devices`` by resource name, in name order."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    devices: tuple[tuple[str, int], ...] = ()


def is_extended(resource: str) -> bool:
    """Say whether a resource is counted in devices, e.g. ``nvidia.com/gpu``."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def needs_of(pod: RawObject) -> Needs:
    """Return the larger of the running containers and each init container's step.

    Sidecars (init containers that restart always) run beside all that come later.
    """
    spec = pod["spec"]
    running = _Sum()
    peak = _Sum()
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            running.add(container)
            peak.raise_to(running)
        else:
            peak.raise_to(running.plus(container))
    for container in spec.get("containers") or []:
        running.add(container)
    peak.raise_to(running)
    return peak.needs()


class _Sum:
    """A running sum of requests."""

    def __init__(self, amounts: dict[str, Decimal] | None = None) -> None:
        self.amounts = amounts or {}

    def add(self, container: RawObject) -> None:
        resources = container.get("resources") or {}
        # A limit without request is a request, as the API server defaults it.
        requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, text in requests.items():
            self.amounts[name] = self.amounts.get(name, Decimal(0)) + parse_amount(str(text))

    def plus(self, container: RawObject) -> "_Sum":
        total = _Sum(dict(self.amounts))
        total.add(container)
        return total

    def raise_to(self, other: "_Sum") -> None:
        for name, amount in other.amounts.items():
            self.amounts[name] = max(self.amounts.get(name, Decimal(0)), amount)

    def needs(self) -> Needs:
        devices = sorted((n, int(a)) for n, a in self.amounts.items() if is_extended(n) and a)
        return Needs(
            cpu_milli=int(self.amounts.get("cpu", Decimal(0)) * 1000),
            memory_bytes=int(self.amounts.get("memory", Decimal(0))),
            devices=tuple(devices),
        )


def uid_of(item: RawObject) -> str:
    """Return the uid of an object."""
    uid: str = item["metadata"].get("uid", "")
    return uid


def name_of(item: RawObject) -> str:
    """Return the name of an object."""
    name: str = item["metadata"]["name"]
    return name


def namespace_of(item: RawObject) -> str:
    """Return the namespace of an object, empty for cluster-scoped kinds."""
    namespace: str = item["metadata"].get("namespace", "")
    return namespace


def labels_of(item: RawObject) -> dict[str, str]:
    """Return the labels of an object; not to be changed."""
    return item["metadata"].get("labels") or {}


def annotations_of(item: RawObject) -> dict[str, str]:
    """Return the annotations of an object; not to be changed."""
    return item["metadata"].get("annotations") or {}


def node_of(pod: RawObject) -> str:
    """Return the node a pod is bound to, empty while pending."""
    node: str = pod["spec"].get("nodeName") or ""
    return node


def phase_of(pod: RawObject) -> str:
    """Return the phase of a pod."""
    phase: str = (pod.get("status") or {}).get("phase") or "Pending"
    return phase


def is_finished(pod: RawObject) -> bool:
    """Say whether a pod has ended for good."""
    return phase_of(pod) in FINISHED


def is_terminating(pod: RawObject) -> bool:
    """Say whether a pod is marked for deletion."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def created_s(item: RawObject) -> float:
    """Return when an object was created, in epoch seconds."""
    return epoch_s(item["metadata"].get("creationTimestamp", "")) or 0.0


def priority_of(pod: RawObject) -> int:
    """Return the priority of a pod."""
    return int(pod["spec"].get("priority") or 0)


def condition(item: RawObject, kind: str) -> RawObject | None:
    """Return a condition of an object's status by its type."""
    conditions = (item.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c.get("type") == kind), None)


def controller_of(item: RawObject) -> RawObject | None:
    """Return the owner reference that controls an object."""
    owners = item["metadata"].get("ownerReferences") or []
    return next((o for o in owners if o.get("controller")), None)


def seconds_annotation(pod: RawObject, name: str) -> float | None:
    """Return an annotation that holds seconds; ``None`` when absent."""
    text = annotations_of(pod).get(name)
    return None if text is None else float(text)


def is_ready(pod: RawObject) -> bool:
    """Say whether a pod serves."""
    ready = condition(pod, "Ready")
    return ready is not None and ready.get("status") == "True"
