"""Work that Kueue holds back, as far as its quota would let it start.

It has no pods that could be scheduled, so it is never pending demand: it says what will
be asked for next. What no quota is free for will not be asked for soon.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.counts import Counts


@dataclass(frozen=True, slots=True)
class QueuedWorkload:
    """A workload that has not been admitted.

    Parameters
    ----------
    queue
        Its ClusterQueue; empty where its LocalQueue names none.
    requests
        What all its pods together ask for, by GPU resource name.
    priority
        The larger go first.
    created_s
        Epoch seconds; the older go first.
    has_quota
        Whether its quota is reserved already and only checks are left.
    """

    namespace: str
    name: str
    queue: str
    requests: Counts
    priority: int = 0
    created_s: float = 0.0
    has_quota: bool = False

    @property
    def title(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue's quota of GPU resources.

    Parameters
    ----------
    covered
        Resources it has a quota for.
    nominal, reserved
        Its own quota, and what of it is reserved, all flavors together.
    is_strict
        Whether a workload that does not fit stops all behind it.
    is_stopped
        Whether it admits nothing for now.
    """

    name: str
    covered: frozenset[str]
    nominal: Counts
    reserved: Counts = Counts()
    is_strict: bool = False
    is_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Kueue:
    """What Kueue has in its queues; of a cluster without Kueue there is none."""

    workloads: tuple[QueuedWorkload, ...] = ()
    queues: tuple[ClusterQueue, ...] = ()


def instances_to_come(kueue: Kueue) -> tuple[Counts, tuple[str, ...]]:
    """Return what queued work will ask for within unused nominal quota, and notices.

    Parameters
    ----------
    kueue
        Quota that a queue may borrow from others does not count: it is theirs first.
    """
    total = Counts()
    notices: list[str] = []
    queues = {queue.name: queue for queue in kueue.queues}
    waiting: dict[str, list[QueuedWorkload]] = {}
    for workload in kueue.workloads:
        if workload.has_quota:
            total = total.plus(workload.requests)
        else:
            waiting.setdefault(workload.queue, []).append(workload)
    for name, own in sorted(waiting.items()):
        queue = queues.get(name)
        if queue is None:
            notices.append(
                f"{len(own)} workloads of Kueue are not counted:"
                f" there is no ClusterQueue {name!r} ({own[0].title})"
            )
        elif not queue.is_stopped:
            amounts, said = _admissible(queue, own)
            total = total.plus(amounts)
            notices += said
    return total, tuple(notices)


def _admissible(
    queue: ClusterQueue, waiting: Iterable[QueuedWorkload]
) -> tuple[Counts, list[str]]:
    """Return what a queue could admit by its own quota, in the order of the queue."""
    left, total = queue.nominal.minus(queue.reserved), Counts()
    unknown: set[str] = set()
    ordered = sorted(waiting, key=lambda w: (-w.priority, w.created_s, w.title))
    for workload in ordered:
        foreign = set(workload.requests) - queue.covered
        if foreign:
            unknown |= foreign
        elif left.covers(workload.requests):
            left = left.minus(workload.requests)
            total = total.plus(workload.requests)
            continue
        if queue.is_strict:
            break
    if not unknown:
        return total, []
    names = ", ".join(sorted(unknown))
    return total, [f"ClusterQueue {queue.name} has no quota for {names}: not counted"]
