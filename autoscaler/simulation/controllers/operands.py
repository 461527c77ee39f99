"""The GPU operator and its DaemonSets: which of its pods are on which node.

The operator labels GPU nodes with what is to be deployed there; a pod of each
application follows its label. Whoever sets a label to ``paused-for-mig-change`` makes
that pod go away, and only ``true`` brings it back: the operator never un-pauses.
"""

from dataclasses import dataclass

from autoscaler.domain.errors import Conflict
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.apiserver.resources import DAEMON_SETS
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    controller_of,
    is_finished,
    is_terminating,
    labels_of,
    name_of,
    node_of,
    uid_of,
)
from autoscaler.simulation.controllers.timers import Timers

DEPLOY = "nvidia.com/gpu.deploy."
PRESENT = "nvidia.com/gpu.present"
DEVICE_PLUGIN = "nvidia-device-plugin-daemonset"
FEATURE_DISCOVERY = "gpu-feature-discovery"
EXPORTER = "nvidia-dcgm-exporter"
DCGM = "nvidia-dcgm"
MIG_MANAGER = "nvidia-mig-manager"
VALIDATOR = "nvidia-operator-validator"


@dataclass(frozen=True, slots=True)
class Operand:
    """One application and the end of the label that deploys it."""

    app: str
    switch: str
    image: str

    @property
    def label(self) -> str:
        """The node label that deploys it."""
        return DEPLOY + self.switch


OPERANDS = (
    Operand(DEVICE_PLUGIN, "device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"),
    Operand(
        FEATURE_DISCOVERY, "gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
    ),
    Operand(EXPORTER, "dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3"),
    Operand(MIG_MANAGER, "mig-manager", "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0"),
    Operand(VALIDATOR, "operator-validator", "nvcr.io/nvidia/gpu-operator:v26.7.0"),
)
# Switched by labels too, but run on the host or not at all by default.
OTHER_SWITCHES = (DEPLOY + "dcgm", DEPLOY + "nvsm")
BY_APP = {operand.app: operand for operand in OPERANDS}

# Pods of a DaemonSet tolerate a cordon by themselves, and the operator adds its taint.
TOLERATED = frozenset({"nvidia.com/gpu", "node.kubernetes.io/unschedulable"})
TOLERATIONS = [
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    *(
        {"key": f"node.kubernetes.io/{condition}", "operator": "Exists", "effect": effect}
        for condition, effect in (
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
        )
    ),
]


class Operator:
    """Labels GPU nodes and keeps the pods of the DaemonSets there."""

    def __init__(self, platform: Platform, default_config: str = "") -> None:
        self._platform = platform
        self._default_config = default_config
        self._nodes = platform.informers.of(NODES)
        self._pods = platform.informers.of(PODS)
        self._node_feed = self._nodes.subscribe()
        self._pod_feed = self._pods.subscribe()
        self._present: dict[tuple[str, str], Key] = {}
        self._timers: Timers[tuple[str, str]] = Timers()
        self._sets: dict[str, RawObject] = {}
        self._serial = 0

    def step(self) -> float | None:
        """Label changed nodes; create and delete pods that are due."""
        for notice in self._node_feed.take():
            if notice.new is not None and labels_of(notice.new).get(PRESENT) == "true":
                self._label(notice.new)
                self._examine(name_of(notice.new))
            elif notice.old is not None and notice.new is None:
                self._examine(notice.key[1])
        for notice in self._pod_feed.take():
            if notice.key[0] == self._platform.namespace:
                self._follow(notice.key, notice.new, notice.old)
        for node, app in self._timers.pop_due(self._platform.now_s()):
            self._act(node, app)
        return self._timers.next_s()

    def _label(self, node: RawObject) -> None:
        labels = labels_of(node)
        wanted: dict[str, str | None] = {}
        if labels.get(DEPLOY + "operands") == "false":
            wanted = {o.label: None for o in OPERANDS if o.label in labels}
        else:
            for operand in OPERANDS:
                if not labels.get(operand.label) and _applies(operand, labels):
                    wanted[operand.label] = "true"
            wanted |= {switch: "true" for switch in OTHER_SWITCHES if not labels.get(switch)}
        is_capable = labels.get("nvidia.com/mig.capable") == "true"
        if self._default_config and is_capable and "nvidia.com/mig.config" not in labels:
            wanted["nvidia.com/mig.config"] = self._default_config
        if wanted:
            self._platform.try_patch(NODES, node, {"metadata": {"labels": wanted}})

    def _examine(self, node: str) -> None:
        for operand in OPERANDS:
            if self._needs_action(node, operand) and (node, operand.app) not in self._timers:
                span = self._platform.timing.daemon_set
                key = (node, operand.app, self._platform.now_s())
                self._timers.set((node, operand.app), self._platform.after(span, *key))

    def _follow(self, key: Key, new: RawObject | None, old: RawObject | None) -> None:
        pod = new or old
        app = labels_of(pod).get("app", "") if pod else ""
        if pod is None or app not in BY_APP or controller_of(pod) is None:
            return
        place = (node_of(pod), app)
        if new is not None:
            self._present[place] = key
        elif self._present.get(place) == key:
            del self._present[place]
        if new is None or is_finished(new):
            self._examine(place[0])

    def _needs_action(self, node: str, operand: Operand) -> bool:
        pod = self._pod(node, operand.app)
        if pod is None:
            return self._is_wanted(node, operand)
        return not is_terminating(pod) and (
            is_finished(pod) or not self._is_wanted(node, operand)
        )

    def _act(self, node: str, app: str) -> None:
        operand = BY_APP[app]
        if not self._needs_action(node, operand):
            return
        pod = self._pod(node, app)
        if pod is not None:
            self._platform.try_delete(PODS, pod)
        else:
            self._create(node, operand)

    def _is_wanted(self, node: str, operand: Operand) -> bool:
        item = self._nodes.objects.get(("", node))
        if item is None or labels_of(item).get(operand.label) != "true":
            return False
        taints = item["spec"].get("taints") or []
        hard = (t for t in taints if t["effect"] in {"NoSchedule", "NoExecute"})
        return all(taint["key"] in TOLERATED for taint in hard)

    def _pod(self, node: str, app: str) -> RawObject | None:
        key = self._present.get((node, app))
        return self._pods.objects.get(key) if key else None

    def _create(self, node: str, operand: Operand) -> None:
        owner = self._daemon_set(operand)
        self._serial += 1
        name = f"{operand.app}-{self._serial:05d}"
        reference = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": operand.app,
            "uid": uid_of(owner),
            "controller": True,
            "blockOwnerDeletion": True,
        }
        body = {
            "metadata": {
                "name": name,
                "namespace": self._platform.namespace,
                "labels": {"app": operand.app},
                "ownerReferences": [reference],
            },
            "spec": {**_pod_spec(operand), "nodeName": node},
        }
        created = self._platform.client.create(PODS, self._platform.namespace, body)
        self._present[node, operand.app] = (self._platform.namespace, name_of(created))

    def _daemon_set(self, operand: Operand) -> RawObject:
        """Return the DaemonSet of an application, created at first need."""
        known = self._sets.get(operand.app)
        if known is not None:
            return known
        client, namespace = self._platform.client, self._platform.namespace
        body = {
            "metadata": {"name": operand.app, "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"app": operand.app}},
                "template": {
                    "metadata": {"labels": {"app": operand.app}},
                    "spec": {**_pod_spec(operand), "nodeSelector": {operand.label: "true"}},
                },
            },
        }
        try:
            created = client.create(DAEMON_SETS, namespace, body)
        except Conflict:
            created = client.get(DAEMON_SETS, namespace, operand.app)
        self._sets[operand.app] = created
        return created


def _applies(operand: Operand, labels: dict[str, str]) -> bool:
    """Say whether the operator deploys an application on a node with these labels."""
    if operand.app != MIG_MANAGER:
        return True
    product = labels.get("nvidia.com/gpu.product", "").lower()
    by_product = any(name in product for name in ("h100", "a100", "a30"))
    return labels.get("nvidia.com/mig.capable", "true" if by_product else "") == "true"


def _pod_spec(operand: Operand) -> RawObject:
    return {
        "containers": [{"name": operand.app, "image": operand.image}],
        "priorityClassName": "system-node-critical",
        # They see the GPUs through the runtime, not by asking for devices.
        "runtimeClassName": "nvidia",
        "tolerations": TOLERATIONS,
        "terminationGracePeriodSeconds": 30,
    }
