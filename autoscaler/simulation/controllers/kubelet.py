"""Kubelet, for all nodes: admits pods, runs them, ends them.

A pod that asks for devices which are not there is rejected for good
(``UnexpectedAdmissionError``): that is what happens to pods bound while the device
plugin is away. What a pod does while it runs is said by its annotations.
"""

from dataclasses import dataclass
from enum import Enum

from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.devices import DevicesUnavailable, NodeDevices
from autoscaler.simulation.controllers.informer import Key, Notice
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pod_status import failed, finished, running, waiting
from autoscaler.simulation.controllers.pods import (
    EXIT,
    PROCESS,
    RUN_SECONDS,
    STOP_SECONDS,
    Needs,
    annotations_of,
    controller_of,
    is_finished,
    is_terminating,
    labels_of,
    needs_of,
    node_of,
    parse_amount,
    seconds_annotation,
    uid_of,
)
from autoscaler.simulation.controllers.timers import Timers
from autoscaler.simulation.hardware import DriverError, Hardware
from autoscaler.simulation.timing import Span

RETRY_S = 15.0
DEFAULT_GRACE_S = 30.0


class Step(Enum):
    """What is next for a pod."""

    START = "start"
    END = "end"
    STOP = "stop"


@dataclass(slots=True)
class Run:
    """A pod that was admitted."""

    key: Key
    node: str
    needs: Needs
    is_running: bool = False
    is_stopping: bool = False


class Kubelet:
    """Runs the pods of all nodes."""

    def __init__(self, platform: Platform, hardware: Hardware, devices: NodeDevices) -> None:
        self._platform = platform
        self._hardware = hardware
        self._devices = devices
        self._nodes = platform.informers.of(NODES)
        self._pods = platform.informers.of(PODS)
        self._feed = self._pods.subscribe()
        self._runs: dict[str, Run] = {}
        self._taken: dict[str, list[int]] = {}
        self._timers: Timers[tuple[Step, str]] = Timers()
        self._deferred: dict[str, Key] = {}

    def step(self) -> float | None:
        """Act on changed pods and on what is due."""
        if self._deferred:
            self._resume()
        for notice in self._feed.take():
            self._observe(notice)
        for step, uid in self._timers.pop_due(self._platform.now_s()):
            self._advance(step, uid)
        return self._timers.next_s()

    def _resume(self) -> None:
        """Take up the pods of nodes whose kubelet answers again."""
        waiting_pods, self._deferred = self._deferred, {}
        for key in waiting_pods.values():
            if pod := self._pods.objects.get(key):
                self._observe(Notice(key, None, pod))

    def _observe(self, notice: Notice) -> None:
        pod = notice.new
        if pod is None:
            if notice.old is not None:
                self._release(uid_of(notice.old))
            return
        node = node_of(pod)
        if not node:
            return
        uid = uid_of(pod)
        if node in self._platform.faults.not_ready:
            self._deferred[uid] = notice.key
        elif is_finished(pod):
            self._release(uid)
            if is_terminating(pod):
                self._platform.try_delete(PODS, pod, grace_s=0)
        elif uid not in self._runs:
            self._admit(notice.key, pod)
        elif is_terminating(pod):
            self._begin_stop(uid, pod)

    def _admit(self, key: Key, pod: RawObject) -> None:
        uid, node = uid_of(pod), node_of(pod)
        if is_terminating(pod):
            self._platform.try_delete(PODS, pod, grace_s=0)
            return
        needs = needs_of(pod)
        try:
            self._check_room(node, needs)
            self._devices.of(node).allocate(uid, needs.devices)
        except DevicesUnavailable as error:
            self._reject(pod, "UnexpectedAdmissionError", str(error))
            return
        except OutOfResource as error:
            self._reject(pod, f"OutOf{error.resource}", str(error))
            return
        self._runs[uid] = Run(key, node, needs)
        self._take(node, needs, 1)
        span = self._span(pod, starts=True)
        self._timers.set((Step.START, uid), self._platform.after(span, "start", *key, uid))

    def _reject(self, pod: RawObject, reason: str, message: str) -> None:
        body = failed(pod, reason, f"Pod was rejected: {message}", self._platform.stamp())
        self._platform.try_patch(PODS, pod, body, "status")

    def _check_room(self, node: str, needs: Needs) -> None:
        item = self._nodes.objects.get(("", node))
        allocatable = ((item or {}).get("status") or {}).get("allocatable") or {}
        cpu_milli, memory_bytes = self._taken.get(node, [0, 0])
        for resource, wanted, used, scale in (
            ("cpu", needs.cpu_milli, cpu_milli, 1000),
            ("memory", needs.memory_bytes, memory_bytes, 1),
        ):
            room = int(parse_amount(str(allocatable.get(resource, "0"))) * scale)
            if wanted and used + wanted > room:
                raise OutOfResource(resource, wanted, used, room)

    def _take(self, node: str, needs: Needs, sign: int) -> None:
        taken = self._taken.setdefault(node, [0, 0])
        taken[0] += sign * needs.cpu_milli
        taken[1] += sign * needs.memory_bytes

    def _advance(self, step: Step, uid: str) -> None:
        run = self._runs.get(uid)
        pod = self._pods.objects.get(run.key) if run else None
        if run is None or pod is None or uid_of(pod) != uid:
            return
        if run.node in self._platform.faults.not_ready:
            self._timers.set((step, uid), self._platform.now_s() + RETRY_S)
        elif step is Step.START:
            self._start(run, pod)
        elif step is Step.END:
            self._end(run, pod)
        elif self._is_stuck(run, pod):
            self._timers.set((step, uid), self._platform.now_s() + 1.0)
        else:
            self._release(uid)
            self._platform.try_delete(PODS, pod, grace_s=0)

    def _start(self, run: Run, pod: RawObject) -> None:
        uid = uid_of(pod)
        try:
            self._open_processes(run, pod)
        except DriverError as error:
            # The devices that kubelet gave away are not there any more.
            body = waiting(pod, "CreateContainerError", str(error))
            self._platform.try_patch(PODS, pod, body, "status")
            self._timers.set((Step.START, uid), self._platform.now_s() + RETRY_S)
            return
        run.is_running = True
        self._platform.try_patch(
            PODS, pod, running(pod, self._address(run.node), self._platform.stamp()), "status"
        )
        run_s = seconds_annotation(pod, RUN_SECONDS)
        if run_s is not None:
            self._timers.set((Step.END, uid), self._platform.now_s() + run_s)

    def _end(self, run: Run, pod: RawObject) -> None:
        uid = uid_of(pod)
        gpus = (
            self._hardware.gpu_of(run.node, device)
            for device in self._devices.of(run.node).devices_of(uid)
        )
        is_broken = any(gpu is None for gpu in gpus)
        succeeded = not is_broken and annotations_of(pod).get(EXIT, "0") == "0"
        self._release(uid)
        body = finished(pod, succeeded=succeeded, stamp=self._platform.stamp())
        self._platform.try_patch(PODS, pod, body, "status")

    def _begin_stop(self, uid: str, pod: RawObject) -> None:
        run = self._runs[uid]
        if run.is_stopping:
            return
        run.is_stopping = True
        self._timers.cancel((Step.START, uid))
        self._timers.cancel((Step.END, uid))
        grace_s = pod["metadata"].get("deletionGracePeriodSeconds")
        limit_s = self._platform.now_s() + float(
            DEFAULT_GRACE_S if grace_s is None else grace_s
        )
        wished_s = seconds_annotation(pod, STOP_SECONDS)
        if wished_s is None:
            at_s = self._platform.after(self._span(pod, starts=False), "stop", *run.key, uid)
        else:
            at_s = self._platform.now_s() + wished_s
        self._timers.set((Step.STOP, uid), min(at_s, limit_s))

    def _release(self, uid: str) -> None:
        run = self._runs.pop(uid, None)
        if run is None:
            return
        manager = self._devices.of(run.node)
        for device in manager.devices_of(uid):
            if gpu := self._hardware.gpu_of(run.node, device):
                gpu.close_process(device, uid)
        manager.free(uid)
        self._take(run.node, run.needs, -1)
        for step in Step:
            self._timers.cancel((step, uid))

    def _open_processes(self, run: Run, pod: RawObject) -> None:
        uid = uid_of(pod)
        opens = annotations_of(pod).get(PROCESS, "true") == "true"
        for device in self._devices.of(run.node).devices_of(uid):
            gpu = self._hardware.gpu_of(run.node, device)
            if gpu is None:
                # Any GPU of the node words the refusal.
                self._hardware.gpus(run.node)[0].open_process(device, uid)
            elif opens:
                gpu.open_process(device, uid)

    def _span(self, pod: RawObject, *, starts: bool) -> Span:
        timing = self._platform.timing
        if self._is_operand(pod):
            return timing.operand_start if starts else timing.operand_stop
        return timing.pod_start if starts else timing.pod_stop

    def _is_operand(self, pod: RawObject) -> bool:
        owner = controller_of(pod)
        in_operator = pod["metadata"].get("namespace") == self._platform.namespace
        return in_operator and owner is not None and owner["kind"] == "DaemonSet"

    def _is_stuck(self, run: Run, pod: RawObject) -> bool:
        faults = self._platform.faults
        app = labels_of(pod).get("app", "")
        return (
            "/".join(run.key) in faults.stuck_pods or (run.node, app) in faults.stuck_operands
        )

    def _address(self, node: str) -> str:
        item = self._nodes.objects.get(("", node)) or {}
        addresses = (item.get("status") or {}).get("addresses") or []
        internal = (a["address"] for a in addresses if a.get("type") == "InternalIP")
        return next(internal, "")


class OutOfResource(Exception):
    """A node has not enough of an ordinary resource; kubelet's words."""

    def __init__(self, resource: str, wanted: int, used: int, room: int) -> None:
        super().__init__(
            f"Node didn't have enough resource: {resource}, requested: {wanted}, "
            f"used: {used}, capacity: {room}"
        )
        self.resource = resource
