"""kube-state-metrics and the scheduler's queue, from the objects they are made of."""

import re
from collections.abc import Callable, Iterator, Mapping

from autoscaler.ports import NODES, PODS, Kind, RawObject
from autoscaler.simulation.controllers.informer import Key
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
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
from autoscaler.simulation.metrics.family import Reading, Shelf
from autoscaler.simulation.prometheus.series import SeriesStore, Target

PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
UNITS = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte"}
QUEUES = ("active", "backoff", "unschedulable", "gated")
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
        self._target = target
        self._pending: dict[tuple[Kind, Key], tuple[float, RawObject | None]] = {}
        self._queued: dict[Key, str] = {}
        self._lengths = dict.fromkeys(QUEUES, 0)
        self._is_queue_changed = True

    def step(self) -> None:
        """Take in what changed."""
        self.flush()
        now_s = self._platform.now_s()
        for notice in self._pod_feed.take():
            self._pending[PODS, notice.key] = (now_s, notice.new)
            self._requeue(notice.key, notice.new)
        for notice in self._node_feed.take():
            self._pending[NODES, notice.key] = (now_s, notice.new)
        if self._is_queue_changed:
            self._is_queue_changed = False
            self._show_queue(now_s)

    def flush(self) -> None:
        """Show what a scrape may have seen.

        Only the last state of an object before a scrape is ever seen, so states in
        between are not worked out at all.
        """
        if not self._pending:
            return
        scrape_s = self._target.last_scrape_s(self._platform.now_s())
        first_s = next(iter(self._pending.values()))[0]
        if first_s > scrape_s:
            return
        pending, self._pending = self._pending, {}
        for (kind, key), (at_s, item) in pending.items():
            if at_s > scrape_s:
                self._pending[kind, key] = (at_s, item)
                continue
            readings = _READERS[kind](item) if item else ()
            self._objects.show(f"{kind.name}/{'/'.join(key)}", readings, at_s)

    def _requeue(self, key: Key, pod: RawObject | None) -> None:
        queue = _queue_of(pod) if pod else ""
        before = self._queued.get(key, "")
        if queue == before:
            return
        self._is_queue_changed = True
        if queue:
            self._queued[key] = queue
            self._lengths[queue] += 1
        else:
            del self._queued[key]
        if before:
            self._lengths[before] -= 1

    def _show_queue(self, now_s: float) -> None:
        self._queue.show(
            "scheduler",
            (
                Reading("scheduler_pending_pods", {"queue": queue}, number)
                for queue, number in self._lengths.items()
            ),
            now_s,
        )


def resource_label(resource: str) -> str:
    """Return a resource as kube-state-metrics writes it; there is no way back."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def _queue_of(pod: RawObject) -> str:
    """Return the scheduler's queue of a pod, empty when it is in none."""
    if node_of(pod) or is_finished(pod):
        return ""
    if pod["spec"].get("schedulingGates"):
        return "gated"
    return "unschedulable" if condition(pod, "PodScheduled") else "active"


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


_READERS: Mapping[Kind, Callable[[RawObject], Iterator[Reading]]] = {PODS: _pod, NODES: _node}
