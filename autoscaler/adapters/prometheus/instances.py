"""From samples to one statement an instance: busy, provably idle, or unknown.

Absence is never idleness: an instance without an activity sample, with an old one, or
with a zero that nothing else confirms is unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autoscaler.adapters.prometheus.labels import (
    InstanceKey,
    Labels,
    exporters_in,
    gpu_index_of,
    instance_key,
    node_of,
    pod_of,
)
from autoscaler.adapters.prometheus.samples import LabelSet, Sample
from autoscaler.domain.cluster.objects import InstanceSample, PodRef

# Activity is the share of time that any work ran. On boards with instances of several
# sizes a saturated large one may show a third, so its height means nothing; only
# "close to zero" does.
CLOSE_TO_ZERO = 0.01
# An instance without any process shows some tens of MiB of its own; the context of
# one idle CUDA process takes more than this.
EMPTY_MIB = 100.0


@dataclass(frozen=True, slots=True)
class Age:
    """How old a sample may be, at which time."""

    now_s: float
    max_age_s: float

    def allows(self, at_s: float | None) -> bool:
        """Whether a time is known and near; one far ahead is of a wrong clock."""
        return at_s is not None and abs(self.now_s - at_s) <= self.max_age_s


@dataclass(frozen=True, slots=True)
class Reading:
    """What one series set (one exporter, seen by one replica) says of an instance."""

    labels: Labels
    activity: float | None = None
    activity_at_s: float | None = None
    memory_mib: float | None = None
    memory_at_s: float | None = None

    @property
    def at_s(self) -> float | None:
        """The newest time at which it was seen at all."""
        times = [at_s for at_s in (self.activity_at_s, self.memory_at_s) if at_s is not None]
        return max(times, default=None)


@dataclass(frozen=True, slots=True)
class InstanceData:
    """Samples of instances, by what they measure; times are epoch seconds."""

    activity: Sequence[Sample] = ()
    activity_times: Sequence[Sample] = ()
    memory: Sequence[Sample] = ()
    memory_times: Sequence[Sample] = ()
    others: Sequence[Sample] = ()


def instances_from(data: InstanceData, age: Age) -> tuple[InstanceSample, ...]:
    """Return one entry an instance; samples of replicas are merged on the safe side."""
    readings = _readings(data)
    exporters = exporters_in(reading.labels for reading in readings)
    by_instance: defaultdict[InstanceKey, list[Reading]] = defaultdict(list)
    for reading in readings:
        key = instance_key(reading.labels)
        if key is not None:
            by_instance[key].append(reading)
    merged = [_merge(key, group, exporters, age) for key, group in by_instance.items()]
    return tuple(sorted(merged, key=_place))


def _readings(data: InstanceData) -> list[Reading]:
    """Join samples that have all labels in common."""
    activity, activity_times, memory, memory_times, others = (
        {sample.series: sample for sample in samples}
        for samples in (
            data.activity,
            data.activity_times,
            data.memory,
            data.memory_times,
            data.others,
        )
    )
    known = {**others, **memory, **activity}
    return [
        Reading(
            sample.labels,
            _value(activity, series),
            _value(activity_times, series),
            _value(memory, series),
            _value(memory_times, series),
        )
        for series, sample in sorted(known.items(), key=lambda item: sorted(item[0]))
    ]


def _value(samples: Mapping[LabelSet, Sample], series: LabelSet) -> float | None:
    sample = samples.get(series)
    return None if sample is None else sample.value


def _merge(
    key: InstanceKey,
    group: Sequence[Reading],
    exporters: frozenset[tuple[str, str]],
    age: Age,
) -> InstanceSample:
    # Of two replicas one may be down and repeat its last values for a while.
    used = [reading for reading in group if age.allows(reading.at_s)] or group
    newest = max(used, key=lambda reading: reading.at_s or 0.0)
    pods = {pod_of(reading.labels, exporters) for reading in used} - {None}
    return InstanceSample(
        node=node_of(newest.labels),
        gpu_uuid=key[0],
        gpu_index=gpu_index_of(newest.labels),
        instance_id=key[1],
        profile=newest.labels.get("gpu_i_profile", ""),
        busy=_busy(group, age),
        sampled_at_s=newest.at_s,
        pod=_only(pods),
    )


def _busy(group: Sequence[Reading], age: Age) -> bool | None:
    fresh = [
        r.activity for r in group if r.activity is not None and age.allows(r.activity_at_s)
    ]
    if not fresh:
        # Without a time a high value still says busy, which is the safe side; a known
        # old one says nothing.
        undated = [r.activity for r in group if r.activity and r.activity_at_s is None]
        return True if undated and max(undated) > CLOSE_TO_ZERO else None
    if max(fresh) > CLOSE_TO_ZERO:
        return True
    # Exporters that have run for long have shown zeros for busy instances, so a zero
    # needs a second witness: memory that is empty.
    witnesses = [mib for r in group if (mib := _fresh_memory(r, age)) is not None]
    return False if witnesses and max(witnesses) < EMPTY_MIB else None


def _fresh_memory(reading: Reading, age: Age) -> float | None:
    # What has no time of its own is of the same scrape as the activity beside it.
    at_s = reading.activity_at_s if reading.memory_at_s is None else reading.memory_at_s
    return reading.memory_mib if age.allows(at_s) else None


def _only(pods: Iterable[PodRef | None]) -> PodRef | None:
    """Return the one pod; two at once (time-slicing) prove nothing about either."""
    found = [pod for pod in pods if pod is not None]
    return found[0] if len(found) == 1 else None


def _place(sample: InstanceSample) -> tuple[str, int, str, int, str]:
    index = -1 if sample.gpu_index is None else sample.gpu_index
    number = int(sample.instance_id) if sample.instance_id.isdecimal() else -1
    return sample.node, index, sample.gpu_uuid, number, sample.instance_id
