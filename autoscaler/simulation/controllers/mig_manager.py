"""NVIDIA's MIG manager on every node, step by step as it really goes.

It protects nobody and acknowledges nothing: it acts when the value of a label changes,
on the file as its node sees it, and can be left waiting for ever with the device
plugin gone. What makes rollouts hard is here on purpose.
"""

from collections.abc import Generator
from dataclasses import dataclass

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.configuration import Entries
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.config_mount import ConfigMount
from autoscaler.simulation.controllers.operands import (
    DCGM,
    DEPLOY,
    DEVICE_PLUGIN,
    EXPORTER,
    FEATURE_DISCOVERY,
    MIG_MANAGER,
    VALIDATOR,
)
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import is_ready, labels_of, node_of, uid_of
from autoscaler.simulation.controllers.timers import Timers
from autoscaler.simulation.hardware import Hardware
from autoscaler.simulation.mig_parted import apply_instances, apply_mode, is_applied
from autoscaler.simulation.timing import Span

CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
PAUSED = "paused-for-mig-change"
SWITCHES = ("device-plugin", "gpu-feature-discovery", "dcgm-exporter", "dcgm", "nvsm")
OPTIONAL_SWITCH = "client"
WAITED_FOR = (DEVICE_PLUGIN, FEATURE_DISCOVERY, EXPORTER, DCGM)
SHORT_LIVED = ("nvidia-cuda-validator", "nvidia-device-plugin-validator")

Steps = Generator[float, None, None]


@dataclass(slots=True)
class Process:
    """One manager pod.

    Parameters
    ----------
    latest
        Value of the label as last seen; only the last one is remembered.
    acted_on
        Value the last run was for.
    run
        The run in progress.
    has_succeeded
        Whether a run of this process ever did. A failed run after that does not
        restore the paused labels: the flag is never reset.
    """

    uid: str
    node: str
    latest: str = ""
    acted_on: str = ""
    run: Steps | None = None
    has_succeeded: bool = False


class MigManager:
    """The manager pods of all nodes."""

    def __init__(self, platform: Platform, hardware: Hardware, mount: ConfigMount) -> None:
        self._platform = platform
        self._hardware = hardware
        self._mount = mount
        self._nodes = platform.informers.of(NODES)
        self._pods = platform.informers.of(PODS)
        self._node_feed = self._nodes.subscribe()
        self._pod_feed = self._pods.subscribe()
        self._processes: dict[str, Process] = {}
        self._on_node: dict[str, dict[str, tuple[str, str]]] = {}
        self._timers: Timers[str] = Timers()

    def step(self) -> float | None:
        """Follow pods and labels; go on with the runs that are due."""
        self._mount.observe()
        for notice in self._pod_feed.take():
            if notice.key[0] == self._platform.namespace:
                self._follow_pod(notice.key, notice.new, notice.old)
        for notice in self._node_feed.take():
            process = self._processes.get(notice.key[1])
            if process is not None:
                self._notice_label(process, notice.new)
        for node in self._timers.pop_due(self._platform.now_s()):
            self._go_on(node)
        return self._timers.next_s()

    def _follow_pod(
        self, key: tuple[str, str], new: RawObject | None, old: RawObject | None
    ) -> None:
        pod = new or old
        if pod is None:
            return
        node, app = node_of(pod), labels_of(pod).get("app", "")
        present = self._on_node.setdefault(node, {})
        if new is not None:
            present[key[1]] = (app, uid_of(pod))
        else:
            present.pop(key[1], None)
        if app == MIG_MANAGER:
            self._follow_manager(node, pod, exists=new is not None)

    def _follow_manager(self, node: str, pod: RawObject, *, exists: bool) -> None:
        process = self._processes.get(node)
        uid = uid_of(pod)
        if not exists and process is not None and process.uid == uid:
            # The process dies with its pod, wherever its run was.
            del self._processes[node]
            self._timers.cancel(node)
        elif exists and is_ready(pod) and (process is None or process.uid != uid):
            process = self._processes[node] = Process(uid, node)
            self._mount.mount(node)
            self._notice_label(process, self._nodes.objects.get(("", node)))

    def _notice_label(self, process: Process, node: RawObject | None) -> None:
        process.latest = labels_of(node).get(CONFIG, "") if node else ""
        if process.run is None:
            self._consider(process)

    def _consider(self, process: Process) -> None:
        """Start a run when the value differs from the one acted on."""
        if process.latest == process.acted_on:
            return
        process.acted_on = process.latest
        if process.latest:
            process.run = self._reconfigure(process)
            self._timers.set(process.node, self._platform.now_s())

    def _go_on(self, node: str) -> None:
        process = self._processes.get(node)
        if process is None or process.run is None:
            return
        try:
            wait_s = next(process.run)
        except StopIteration:
            process.run = None
            self._end(process)
            return
        self._timers.set(node, self._platform.now_s() + wait_s)

    def _end(self, process: Process) -> None:
        if process.latest == process.acted_on:
            return
        if not process.latest:
            # The next run reads an empty name, which no file holds.
            process.acted_on = ""
            self._set_state(process.node, "failed")
            return
        self._consider(process)

    def _reconfigure(self, process: Process) -> Steps:
        node, timing = process.node, self._platform.timing
        yield self._draw(timing.manager_check, node)
        entries = self._wanted(node)
        if entries is None:
            self._fail(process, {})
            return
        gpus = self._hardware.gpus(node)
        if is_applied(gpus, entries):
            self._set_state(node, "success")
            return
        self._set_state(node, "pending")
        before = self._pause(node)
        for app in WAITED_FOR:
            gone = yield from self._wait_for_end(node, app)
            if not gone:
                # It gives up here: the state stays, and so do the paused labels.
                return
        self._delete_pods(node, SHORT_LIVED)
        yield from apply_mode(gpus, entries, timing)
        done = yield from apply_instances(gpus, entries, timing)
        if not done:
            self._fail(process, before)
            return
        yield self._draw(timing.device_nodes, node)
        self._delete_pods(node, (VALIDATOR,))
        self._resume(node, before)
        self._set_state(node, "success")
        process.has_succeeded = True

    def _wanted(self, node: str) -> Entries | None:
        name = labels_of(self._node(node)).get(CONFIG, "")
        try:
            return self._mount.configurations(node).get(name)
        except ConfigError:
            return None

    def _wait_for_end(self, node: str, app: str) -> Generator[float, None, bool]:
        timing = self._platform.timing
        deadline_s = self._platform.now_s() + timing.manager_pod_wait_s
        while self._has_pod(node, app):
            if self._platform.now_s() >= deadline_s:
                return False
            yield timing.manager_poll_s
        return True

    def _has_pod(self, node: str, app: str) -> bool:
        return any(name == app for name, _ in self._on_node.get(node, {}).values())

    def _delete_pods(self, node: str, apps: tuple[str, ...]) -> None:
        for name, (app, _) in sorted(self._on_node.get(node, {}).items()):
            pod = self._pods.objects.get((self._platform.namespace, name))
            if app in apps and pod is not None:
                self._platform.try_delete(PODS, pod)

    def _pause(self, node: str) -> dict[str, str]:
        """Have the GPU clients stopped; return the labels as they were."""
        labels = labels_of(self._node(node))
        names = [DEPLOY + switch for switch in SWITCHES]
        if DEPLOY + OPTIONAL_SWITCH in labels:
            names.append(DEPLOY + OPTIONAL_SWITCH)
        before = {name: labels.get(name, "") for name in names}
        self._set_labels(node, {n: PAUSED for n, value in before.items() if value != "false"})
        return before

    def _resume(self, node: str, before: dict[str, str]) -> None:
        self._set_labels(node, {n: "true" for n, value in before.items() if value != "false"})

    def _fail(self, process: Process, before: dict[str, str]) -> None:
        if not process.has_succeeded and before:
            self._resume(process.node, before)
        self._set_state(process.node, "failed")

    def _set_state(self, node: str, state: str) -> None:
        self._set_labels(node, {STATE: state})

    def _set_labels(self, node: str, labels: dict[str, str]) -> None:
        item = self._node(node)
        present = labels_of(item)
        changes = {n: v for n, v in labels.items() if present.get(n) != v}
        if changes and item:
            self._platform.try_patch(NODES, item, {"metadata": {"labels": changes}})

    def _node(self, name: str) -> RawObject:
        self._nodes.poll()
        return self._nodes.objects.get(("", name), {"metadata": {"name": name}})

    def _draw(self, span: Span, node: str) -> float:
        return span.draw(self._platform.timing.seed, node, self._platform.now_s())
