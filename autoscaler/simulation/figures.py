"""What happened in a run: each pod's times, the queue, the served slices, the layouts."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaler.domain.cluster.marks import PLACEHOLDER
from autoscaler.domain.counts import Counts
from autoscaler.ports import NODES, PODS, RawObject
from autoscaler.simulation.controllers.informer import Key, Notice
from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.controllers.pods import (
    is_finished,
    is_terminating,
    labels_of,
    needs_of,
    node_of,
    parse_amount,
    phase_of,
    uid_of,
)
from autoscaler.simulation.workload import TASK_LABEL

GPU = "nvidia.com/gpu"
MIG = re.compile(r"nvidia\.com/mig-(\d+)g\.")


@dataclass(frozen=True, slots=True)
class PodTimes:
    """The life of one pod that asked for GPU devices.

    Parameters
    ----------
    task
        Name of the task it works on; several pods share it after an eviction.
    requests
        Devices by resource name.
    submitted_s, bound_s, started_s, ended_s
        Epoch seconds; ``None`` for what has not happened.
    outcome
        ``Succeeded``, ``Failed``, ``Deleted``, or the last phase seen.
    """

    namespace: str
    name: str
    task: str
    requests: Counts
    submitted_s: float
    node: str = ""
    bound_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    outcome: str = "Pending"

    @property
    def wait_s(self) -> float | None:
        """Seconds from submission to start; ``None`` when it never started."""
        return None if self.started_s is None else self.started_s - self.submitted_s


@dataclass(frozen=True, slots=True)
class Sample:
    """Amounts by name from a moment on, until the next sample."""

    at_s: float
    amounts: Counts


class Series:
    """Amounts over time, kept where they change."""

    def __init__(self) -> None:
        self._amounts: dict[str, int] = {}
        self._samples: list[Sample] = []

    def add(self, at_s: float, changes: Mapping[str, int], times: int = 1) -> None:
        """Add some amounts from a moment on, ``times`` may be negative."""
        for name, number in changes.items():
            self._amounts[name] = self._amounts.get(name, 0) + times * number
        self._note(at_s)

    def set(self, at_s: float, amounts: Mapping[str, int]) -> None:
        """Replace all amounts from a moment on."""
        self._amounts = dict(amounts)
        self._note(at_s)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples, by time."""
        return tuple(self._samples)

    def _note(self, at_s: float) -> None:
        sample = Sample(at_s, Counts(self._amounts))
        if self._samples and self._samples[-1].amounts == sample.amounts:
            return
        if self._samples and self._samples[-1].at_s == at_s:
            self._samples[-1] = sample
        else:
            self._samples.append(sample)


class Observer:
    """Watches pods and nodes and keeps the figures of a run."""

    def __init__(self, platform: Platform, whole_gpu_slices: int = 7) -> None:
        self._platform = platform
        self._whole_gpu_slices = whole_gpu_slices
        self._pod_feed = platform.informers.of(PODS).subscribe()
        self._node_feed = platform.informers.of(NODES).subscribe()
        self._times: dict[str, PodTimes] = {}
        self._layouts: dict[str, Series] = {}
        self.queue = Series()
        self.running = Series()

    def step(self) -> None:
        """Take in what changed."""
        for notice in self._pod_feed.take():
            self._observe_pod(notice)
        for notice in self._node_feed.take():
            self._observe_node(notice.key, notice.new)

    @property
    def pods(self) -> tuple[PodTimes, ...]:
        """All pods that asked for devices, by submission; placeholders are nobody's work."""
        return tuple(self._times.values())

    @property
    def layouts(self) -> dict[str, tuple[Sample, ...]]:
        """Advertised devices over time, by node."""
        return {node: series.samples for node, series in sorted(self._layouts.items())}

    def served_slices(self, start_s: float, end_s: float) -> float:
        """Return the slice-seconds that pods were running on between two moments."""
        return _integral(self.running.samples, self._slices, start_s, end_s)

    def mean_queue(self, start_s: float, end_s: float) -> float:
        """Return the mean number of instances waited for between two moments."""
        waited = _integral(self.queue.samples, Counts.total, start_s, end_s)
        return waited / (end_s - start_s)

    def _observe_pod(self, notice: Notice) -> None:
        pod = notice.new or notice.old
        if pod is None:
            return
        uid, now_s = uid_of(pod), self._platform.now_s()
        old = self._times.get(uid) or self._begin(notice.key, pod)
        if old is None or old.ended_s is not None:
            return
        new = _later(old, pod, now_s, is_gone=notice.new is None)
        if new == old:
            return
        self._times[uid] = new
        self._count(old, new, now_s)

    def _begin(self, key: Key, pod: RawObject) -> PodTimes | None:
        devices = dict(needs_of(pod).devices)
        if not devices or PLACEHOLDER in labels_of(pod):
            return None
        now_s = self._platform.now_s()
        task = labels_of(pod).get(TASK_LABEL, key[1])
        times = PodTimes(key[0], key[1], task, Counts(devices), submitted_s=now_s)
        self._times[uid_of(pod)] = times
        self.queue.add(now_s, times.requests)
        return times

    def _count(self, old: PodTimes, new: PodTimes, now_s: float) -> None:
        for series, was, is_in in (
            (self.queue, _is_waiting(old), _is_waiting(new)),
            (self.running, _is_running(old), _is_running(new)),
        ):
            if was != is_in:
                series.add(now_s, new.requests, 1 if is_in else -1)

    def _observe_node(self, key: Key, node: RawObject | None) -> None:
        allocatable = ((node or {}).get("status") or {}).get("allocatable") or {}
        amounts = {
            name: int(parse_amount(str(text)))
            for name, text in allocatable.items()
            if name == GPU or MIG.match(name)
        }
        self._layouts.setdefault(key[1], Series()).set(self._platform.now_s(), amounts)

    def _slices(self, amounts: Counts) -> int:
        return sum(number * self.slices_of(name) for name, number in amounts.items())

    def slices_of(self, resource: str) -> int:
        """Return the compute slices of one device of a resource; 0 for other kinds."""
        found = MIG.match(resource)
        if found:
            return int(found[1])
        return self._whole_gpu_slices if resource == GPU else 0


def _later(times: PodTimes, pod: RawObject, now_s: float, *, is_gone: bool) -> PodTimes:
    if times.bound_s is None and node_of(pod):
        times = replace(times, bound_s=now_s, node=node_of(pod))
    phase = phase_of(pod)
    if times.started_s is None and phase == "Running":
        times = replace(times, started_s=now_s, outcome="Running")
    if is_finished(pod):
        return replace(times, ended_s=now_s, outcome=phase)
    if is_gone:
        return replace(times, ended_s=now_s, outcome="Deleted")
    if is_terminating(pod) and times.bound_s is None:
        return replace(times, ended_s=now_s, outcome="Deleted")
    return times


def _is_waiting(times: PodTimes) -> bool:
    return times.bound_s is None and times.ended_s is None


def _is_running(times: PodTimes) -> bool:
    return times.started_s is not None and times.ended_s is None


def _integral(
    samples: Iterable[Sample], weigh: Callable[[Counts], int], start_s: float, end_s: float
) -> float:
    total, since_s, value = 0.0, start_s, 0
    for sample in samples:
        until_s = min(max(sample.at_s, start_s), end_s)
        total += value * (until_s - since_s)
        since_s, value = until_s, weigh(sample.amounts)
    return total + value * (end_s - since_s)
