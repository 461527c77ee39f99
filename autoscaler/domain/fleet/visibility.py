"""Visibility: whether metrics show which GPU of its node each pod sits on.

MIG manager changes part of a node only when that is proven, after the cordon, by fresh
samples. Where today's samples do not show it, those of a few minutes later will not
either, and the node would be closed for the whole drain and opened again for nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaler.domain.cluster.objects import InstanceSample, MetricsView, Pod
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.seating import Table, slices_in_name, table_of
from autoscaler.domain.fleet.sightings import Sightings
from autoscaler.domain.fleet.snapshot import FleetNode
from autoscaler.domain.mig.resource import GPU
from autoscaler.domain.policy.pool import Driver

COLLECTION_S = 30.0
SCRAPE_S = 15.0
# By then the exporter has collected once and been scraped twice: two scrapes can show
# one collection.
SHOWN_AFTER_S = COLLECTION_S + 2 * SCRAPE_S


def metrics_gap(view: MetricsView | None) -> str:
    """Return why nothing is proven by metrics, empty where they may prove something."""
    if view is None:
        return "there are no metrics"
    if view.partial:
        return "metrics are partial: what they do not list is unknown"
    return ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What metrics show of a node.

    Parameters
    ----------
    gap
        What ``metrics_gap`` says.
    samples
        Of this node.
    seen
        Which of its pods they name.
    index_of
        Index of each board by UUID, where an inventory tells.
    """

    gap: str
    samples: tuple[InstanceSample, ...]
    seen: Sightings
    index_of: Mapping[str, int]


def unseen(node: FleetNode, shown: Shown, now_s: float) -> str:
    """Return why metrics do not show where the pods of a node sit, empty when they do.

    Parameters
    ----------
    node
        With its pods.
    shown
        What metrics show of it.
    now_s
        Epoch seconds. A pod that has just started is not shown yet, and will be.

    Returns
    -------
    str
        Empty too where nothing has to be shown: on a node without pods, and on one of
        the node agent, whose report says who sits where.
    """
    if node.driver is Driver.AGENT or not node.holders or node.unit:
        return ""
    if shown.gap:
        return shown.gap
    table = table_of(node)
    if table is None:
        return ""
    own = _newest(shown.samples)
    if not own:
        return "metrics show nothing of this node"
    hidden = [p for p in node.holders if _is_hidden(p, table, shown.seen, now_s)]
    if hidden:
        more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        return f"metrics do not show where {hidden[0].ref}{more} sits"
    return instance_gap(table, own, shown.index_of)


def _newest(samples: Iterable[InstanceSample]) -> tuple[InstanceSample, ...]:
    """Return the samples of the last look: older ones are of instances that are gone."""
    timed = [(s.sampled_at_s, s) for s in samples if s.sampled_at_s is not None]
    newest_s = max((at_s for at_s, _ in timed), default=0.0)
    return tuple(s for at_s, s in timed if at_s >= newest_s - SHOWN_AFTER_S)


def instance_gap(
    table: Table, samples: Iterable[InstanceSample], indexes: Mapping[str, int]
) -> str:
    """Return where samples and advertised instances differ, empty when nowhere.

    Parameters
    ----------
    table
        The GPUs of the node.
    samples
        Of this node, all of them fresh.
    indexes
        Index of each board by UUID, where an inventory tells.
    """
    seen: dict[int | None, dict[str, int]] = {}
    for sample in samples:
        index = indexes.get(sample.gpu_uuid, sample.gpu_index)
        slices = seen.setdefault(index, {})
        name = slices_in_name(sample.profile)
        slices[name] = slices.get(name, 0) + 1
    for gpu in table.gpus:
        expected: dict[str, int] = {}
        for profile, number in gpu.counts.items():
            name = slices_in_name(profile)
            expected[name] = expected.get(name, 0) + number
        found = seen.pop(gpu.index, {}) if gpu.mig_enabled else {}
        if found != expected:
            return (
                f"fresh samples show {Counts(found)} on GPU {gpu.index},"
                f" it should hold {Counts(expected)}"
            )
    strange = sorted(str(i) for i, found in seen.items() if not _is_whole(table, i, found))
    return f"samples are of unknown GPUs: {', '.join(strange)}" if strange else ""


def _is_whole(table: Table, index: int | None, found: Mapping[str, int]) -> bool:
    """Say whether samples are those of a GPU with MIG off, which has no instances."""
    known = index is not None and 0 <= index < len(table.gpus)
    return known and set(found) <= {""}


def _is_hidden(pod: Pod, table: Table, seen: Sightings, now_s: float) -> bool:
    """Say whether a pod has run for long enough to be shown, and is not."""
    if pod.started_s is None or now_s - pod.started_s < SHOWN_AFTER_S:
        return False
    needed = table.needs(pod)
    is_whole = needed is not None and set(needed) == {GPU}
    if is_whole and any(not gpu.mig_enabled for gpu in table.gpus):
        return False
    return pod.ref not in seen.labelled
