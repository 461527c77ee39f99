"""Jobs of a study as tasks of the embedded cluster, and the priorities that they have there."""

from collections.abc import Iterator, Mapping

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.study.splits import Case
from autoscaler.simulation.study.trace_file import MOST_PRIORITY
from autoscaler.simulation.workload import Task
from autoscaler.simulation.world import PLACEHOLDER_PRIORITY, PriorityClass

PriorityClasses = Mapping[int, PriorityClass]
"""By the priority of jobs; none where all have the same."""


def priority_classes_of(case: Case) -> PriorityClasses:
    """Return the PriorityClasses of the jobs; none where all have the same priority.

    Nobody has to go for another, as in the light simulator; pods without a class would make
    those go that are below 0.
    """
    values = sorted({job.priority for job in case.present.jobs})
    if len(values) < 2:
        return {}
    return {v: PriorityClass(f"priority-{v}", v, preempts=False) for v in values}


def placeholder_priority_of(classes: PriorityClasses) -> int:
    """Return the value that the manual tells people to give the class of placeholders.

    It is above the pods that come in floods, and so figures depend on the order of the
    jobs' priorities only.
    """
    above = [min(value + 1, MOST_PRIORITY) for value in classes]
    return max([PLACEHOLDER_PRIORITY, *above])


def tasks_of_case(
    case: Case, classes: PriorityClasses, policy: Policy | None
) -> Iterator[Task]:
    """Yield the jobs as tasks.

    Parameters
    ----------
    classes
        Of their priorities.
    policy
        Of the loop that may evict them. Then a Job owns each pod, so that it begins anew.
    """
    may_be_evicted = policy is not None and policy.disruption.eviction.enabled
    for job in case.present.jobs:
        own = classes.get(job.priority)
        yield Task(
            name=f"job-{job.number:06d}",
            arrival_s=case.start_s + job.arrival_s,
            run_s=job.run_s,
            requests=Counts({resource_name(job.profile): 1}),
            as_job=may_be_evicted,
            priority_class="" if own is None else own.name,
        )
