"""Queued work: as much of it as unused quota would let start."""

import pytest

from autoscaler.domain.cluster.queueing import (
    ClusterQueue,
    Kueue,
    QueuedWorkload,
    instances_to_come,
)
from autoscaler.domain.counts import Counts
from tests.pasts import ONE, THREE


def workload(name="w", number=1, resource=ONE, queue="cq", **changes):
    """Return a workload that waits for so many instances."""
    return QueuedWorkload("team", name, queue, Counts({resource: number}), **changes)


def queue(nominal=4, reserved=0, **changes):
    """Return a queue with a quota of the smallest instances."""
    own = {"covered": frozenset({ONE}), "reserved": Counts({ONE: reserved}), **changes}
    return ClusterQueue("cq", nominal=Counts({ONE: nominal}), **own)


def to_come(*workloads, queues=None):
    """Return what is counted of these workloads, and notices."""
    found = queues if queues is not None else (queue(),)
    return instances_to_come(Kueue(workloads, found))


def test_what_fits_into_the_unused_quota_counts():
    """Four of nominal, one of them reserved: two and one fit, the last does not."""
    work = [
        workload("a", 2, created_s=1),
        workload("b", 1, created_s=2),
        workload("c", 1, created_s=3),
    ]
    assert to_come(*work, queues=(queue(4, 1),)) == (Counts({ONE: 3}), ())


def test_a_workload_counts_as_a_whole_or_not_at_all():
    """Five do not fit into four; what is behind them may."""
    work = [workload("a", 5, created_s=1), workload("b", 3, created_s=2)]
    assert to_come(*work)[0] == Counts({ONE: 3})


def test_in_a_strict_queue_the_first_that_does_not_fit_stops_the_others():
    """StrictFIFO."""
    work = [workload("a", 5, created_s=1), workload("b", 3, created_s=2)]
    assert to_come(*work, queues=(queue(is_strict=True),))[0] == Counts()


def test_priority_goes_before_age():
    """The later and more important one fits, the other does not any more."""
    work = [workload("old", 3, created_s=1), workload("vip", 2, created_s=9, priority=10)]
    assert to_come(*work)[0] == Counts({ONE: 2})


def test_quota_that_is_reserved_already_need_not_fit_again():
    """Only its checks are left."""
    held = workload("a", 4, has_quota=True)
    assert to_come(held, queues=(queue(4, 4),))[0] == Counts({ONE: 4})


def test_a_stopped_queue_lets_nothing_start():
    """People hold it."""
    assert to_come(workload(), queues=(queue(is_stopped=True),)) == (Counts(), ())


@pytest.mark.parametrize("name", ["", "other"])
def test_a_workload_of_no_known_queue_is_not_counted_and_said(name):
    """Its LocalQueue may have gone."""
    total, notices = to_come(workload(queue=name))
    assert total == Counts()
    assert notices == (
        f"1 workloads of Kueue are not counted: there is no ClusterQueue {name!r} (team/w)",
    )


def test_resources_without_a_quota_are_not_counted_and_said():
    """No quota is not an endless one."""
    total, notices = to_come(workload(resource=THREE), workload("b"))
    assert total == Counts({ONE: 1})
    assert notices == (f"ClusterQueue cq has no quota for {THREE}: not counted",)


def test_a_queue_that_has_borrowed_has_nothing_left():
    """More is reserved than is its own."""
    assert to_come(workload(), queues=(queue(2, 5),)) == (Counts(), ())
