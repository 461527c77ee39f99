"""kube-state-metrics and the scheduler's queue, from the objects they are made of."""

import re
from collections.abc import Iterator

from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.metrics.family import Reading, Shelf
from autoscaler.simulation.platform import Platform
from autoscaler.simulation.pods import (
    condition,
    controller_of,
    created_s,
    is_extended,
    is_finished,
    labels_of,
    name_of,
    namespace_of,
    node_of,
    parse_amount,
    phase_of,
    uid_of,
)
from autoscaler.simulation.prometheus.series import SeriesStore, Target

PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
UNITS = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte"}
SHOWN_LABELS = (
    "nvidia.com/gpu.product",
    "nvidia.com/mig.config",
    "nvidia.com/mig.config.state",
)


class KubeStateMetrics:
    """Shows pods, nodes and the scheduler's queue as series."""

    def __init__(self, platform: Platform, store: SeriesStore, interval_s: float) -> None:
        self._platform = platform
        target = _always_up(platform, "kube-state-metrics", interval_s, 1.0)
        scheduler = _always_up(platform, "kube-scheduler", interval_s, 2.0)
        self.targets = {"kube-state-metrics": target, "kube-scheduler": scheduler}
        self._objects = Shelf(store, target)
        self._queue = Shelf(store, scheduler)
        self._pod_feed = platform.informers.of(PODS).subscribe()
        self._node_feed = platform.informers.of(NODES).subscribe()
        self._queued: dict[str, str] = {}

    def step(self) -> None:
        """Take in what changed."""
        now_s = self._platform.now_s()
        before = len(self._queued), sorted(self._queued.values())
        for notice in self._pod_feed.take():
            pod = notice.new
            owner = f"pod/{'/'.join(notice.key)}"
            self._objects.show(owner, _pod(pod) if pod else (), now_s)
            self._requeue(owner, pod)
        for notice in self._node_feed.take():
            owner = f"node/{notice.key[1]}"
            self._objects.show(owner, _node(notice.new) if notice.new else (), now_s)
        if before != (len(self._queued), sorted(self._queued.values())):
            self._show_queue(now_s)

    def _requeue(self, owner: str, pod: RawObject | None) -> None:
        if pod is None or node_of(pod) or is_finished(pod):
            self._queued.pop(owner, None)
        elif pod["spec"].get("schedulingGates"):
            self._queued[owner] = "gated"
        else:
            scheduled = condition(pod, "PodScheduled")
            self._queued[owner] = "unschedulable" if scheduled else "active"

    def _show_queue(self, now_s: float) -> None:
        queues = list(self._queued.values())
        self._queue.show(
            "scheduler",
            (
                Reading("scheduler_pending_pods", {"queue": queue}, queues.count(queue))
                for queue in ("active", "backoff", "unschedulable", "gated")
            ),
            now_s,
        )


def resource_label(resource: str) -> str:
    """Return a resource as kube-state-metrics writes it; there is no way back."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def _always_up(platform: Platform, job: str, interval_s: float, phase_s: float) -> Target:
    labels = (("instance", f"{job}:8080"), ("job", job))
    target = Target(labels, interval_s, phase_s=phase_s)
    target.up.set(platform.now_s(), platform.now_s())
    return target


def _pod(pod: RawObject) -> Iterator[Reading]:
    ids = {"namespace": namespace_of(pod), "pod": name_of(pod), "uid": uid_of(pod)}
    spec, status = pod["spec"], pod.get("status") or {}
    owner = controller_of(pod) or {}
    owned = {"created_by_kind": owner.get("kind", ""), "created_by_name": owner.get("name", "")}
    info = {"node": node_of(pod), "priority_class": spec.get("priorityClassName", "")}
    yield Reading("kube_pod_info", {**ids, **info, **owned}, 1)
    yield Reading("kube_pod_created", ids, created_s(pod))
    phase = phase_of(pod)
    for name in PHASES:
        yield Reading("kube_pod_status_phase", {**ids, "phase": name}, float(name == phase))
    if reason := status.get("reason"):
        yield Reading("kube_pod_status_reason", {**ids, "reason": reason}, 1)
    yield from _scheduled(pod, ids)
    for init, key in (("", "containers"), ("init_", "initContainers")):
        for container in spec.get(key) or []:
            yield from _requests(container, ids | {"node": node_of(pod)}, init)


def _scheduled(pod: RawObject, ids: dict[str, str]) -> Iterator[Reading]:
    found = condition(pod, "PodScheduled")
    if found is None:
        return
    for status in ("true", "false", "unknown"):
        labels = {**ids, "condition": status}
        yield Reading(
            "kube_pod_status_scheduled", labels, float(found["status"].lower() == status)
        )
    if found["status"] == "False":
        yield Reading("kube_pod_status_unschedulable", ids, 1)


def _requests(container: RawObject, ids: dict[str, str], init: str) -> Iterator[Reading]:
    requests = (container.get("resources") or {}).get("requests") or {}
    for resource, text in requests.items():
        labels = {
            **ids,
            "container": container["name"],
            "resource": resource_label(resource),
            "unit": UNITS.get(resource, "integer"),
        }
        name = f"kube_pod_{init}container_resource_requests"
        yield Reading(name, labels, float(parse_amount(str(text))))


def _node(node: RawObject) -> Iterator[Reading]:
    ids = {"node": name_of(node)}
    status = node.get("status") or {}
    for kind in ("allocatable", "capacity"):
        for resource, text in (status.get(kind) or {}).items():
            if resource in UNITS or resource == "pods" or is_extended(resource):
                unit = UNITS.get(resource, "integer")
                labels = {**ids, "resource": resource_label(resource), "unit": unit}
                yield Reading(
                    f"kube_node_status_{kind}", labels, float(parse_amount(str(text)))
                )
    cordoned = float(bool(node["spec"].get("unschedulable")))
    yield Reading("kube_node_spec_unschedulable", ids, cordoned)
    for taint in node["spec"].get("taints") or []:
        labels = {
            "key": taint["key"],
            "value": taint.get("value", ""),
            "effect": taint["effect"],
        }
        yield Reading("kube_node_spec_taint", {**ids, **labels}, 1)
    ready = (condition(node, "Ready") or {"status": "True"})["status"].lower()
    for value in ("true", "false", "unknown"):
        labels = {**ids, "condition": "Ready", "status": value}
        yield Reading("kube_node_status_condition", labels, float(ready == value))
    shown = {f"label_{resource_label(n)}": labels_of(node).get(n, "") for n in SHOWN_LABELS}
    yield Reading("kube_node_labels", {**ids, **shown}, 1)
