"""From the answers of one pass to the view that the loop reads."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.adapters.prometheus.amounts import amounts_from
from autoscaler.adapters.prometheus.answers import Answer
from autoscaler.adapters.prometheus.instances import Age, InstanceData, instances_from
from autoscaler.adapters.prometheus.queries import (
    ACTIVITY,
    ACTIVITY_TIME,
    MEMORY_TIME,
    MEMORY_USED,
    PENDING,
    QUEUED,
)
from autoscaler.adapters.prometheus.samples import Sample
from autoscaler.domain.cluster.objects import InstanceSample, MetricsView
from autoscaler.domain.counts import Counts

# In the order of ``InstanceData``.
INSTANCE_QUERIES = (ACTIVITY, ACTIVITY_TIME, MEMORY_USED, MEMORY_TIME)
# All fields of DCGM with this prefix but memory are those of the board, repeated on
# each of its instances, or are not measured on instances at all (utilization).
BOARD_WIDE = re.compile(r"dcgm_fi_dev_(?!fb_)", re.IGNORECASE)
# Prometheus scrapes once a minute unless told otherwise; two scrapes may be late.
MAX_AGE_S = 120.0


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass brought.

    Parameters
    ----------
    answers
        By query name; a query that failed has none.
    notices
        Why those have none.
    queries
        Text by name, of all that were to be asked.
    known
        Resource names that the cluster has.
    """

    answers: Mapping[str, Answer]
    notices: Sequence[str] = ()
    queries: Mapping[str, str] = field(default_factory=dict)
    known: Iterable[str] = ()


def view_from(found: Pass, now_s: float, max_age_s: float = MAX_AGE_S) -> MetricsView:
    """Return the view of one pass."""
    notices = list(found.notices)
    for answer in found.answers.values():
        notices += answer.notices
    warnings = sorted({w for answer in found.answers.values() for w in answer.warnings})
    notices += [f"Prometheus warns that data is partial: {text}" for text in warnings]
    instances = instances_from(_instance_data(found, notices), Age(now_s, max_age_s))
    notices += coverage(instances)
    return MetricsView(
        observed_at_s=now_s,
        instances=instances,
        pending=_amounts(found, PENDING, notices),
        queued=_amounts(found, QUEUED, notices),
        partial=bool(warnings) or any(name not in found.answers for name in found.queries),
        notices=tuple(dict.fromkeys(notices)),
    )


def coverage(instances: Sequence[InstanceSample]) -> list[str]:
    """Return a notice when the activity of some instances is not known."""
    known = sum(sample.busy is not None for sample in instances)
    if known == len(instances):
        return []
    return [f"activity is known for {known} of {len(instances)} instances"]


def _instance_data(found: Pass, notices: list[str]) -> InstanceData:
    activity, activity_times, memory, memory_times = (
        found.answers[name].samples if name in found.answers else ()
        for name in INSTANCE_QUERIES
    )
    good = [sample for sample in activity if not _is_board_wide(sample, found)]
    if len(good) < len(activity):
        notices.append(
            "query activity: this metric is of whole boards and says nothing about "
            "instances; use DCGM_FI_PROF_GR_ENGINE_ACTIVE"
        )
    if ACTIVITY_TIME not in found.queries and good:
        notices.append(
            "query activity_time is needed beside this query activity: without the times "
            "of samples none proves that an instance is idle"
        )
    others = [sample for sample in activity if _is_board_wide(sample, found)]
    return InstanceData(good, activity_times, memory, memory_times, others)


def _is_board_wide(sample: Sample, found: Pass) -> bool:
    # An expression drops the name of the metric; then the query's text names it.
    named = sample.name or found.queries.get(ACTIVITY, "")
    return BOARD_WIDE.search(named) is not None


def _amounts(found: Pass, name: str, notices: list[str]) -> Counts | None:
    if name not in found.answers:
        return None
    amounts, said = amounts_from(name, found.answers[name].samples, found.known)
    notices += said
    return amounts
