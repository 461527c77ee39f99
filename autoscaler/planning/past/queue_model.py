"""A light model of waiting: one first-in-first-out queue a profile.

Pods ask for a profile by its resource name, so instances of one profile serve that
profile's queue and no other. What a static mix costs is then the sum over profiles
of what so many servers make their queue wait, and each can be computed alone.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """One instance asked for.

    Parameters
    ----------
    arrival_s
        When it was asked for.
    service_s
        How long the instance is held, at least 0.
    """

    arrival_s: float
    service_s: float


def total_wait_s(jobs: Sequence[Job], servers: int, horizon_s: float) -> float:
    """Return the sum of waiting times of all jobs, in seconds.

    Parameters
    ----------
    jobs
        In order of arrival.
    servers
        Number of instances, at least 0.
    horizon_s
        End of the time that is looked at: without an instance a job waits until then.
        It is no bound for the others, whose backlog counts in full.
    """
    if not servers:
        return sum(max(0.0, horizon_s - job.arrival_s) for job in jobs)
    busy_until: list[float] = []
    waited = 0.0
    for job in jobs:
        if len(busy_until) < servers:
            heapq.heappush(busy_until, job.arrival_s + job.service_s)
            continue
        start_s = max(job.arrival_s, busy_until[0])
        waited += start_s - job.arrival_s
        heapq.heapreplace(busy_until, start_s + job.service_s)
    return waited


def waits_by_servers(jobs: Sequence[Job], most: int, horizon_s: float) -> tuple[float, ...]:
    """Return the total wait for 0, 1, 2, … servers, as far as more of them help.

    Parameters
    ----------
    jobs
        In any order.
    most
        Largest number of servers of interest.
    horizon_s
        See ``total_wait_s``.

    Returns
    -------
    tuple
        Ends at ``most`` or at the first number with which nothing waits.
    """
    ordered = sorted(jobs)
    waits: list[float] = []
    for servers in range(most + 1):
        waits.append(total_wait_s(ordered, servers, horizon_s))
        if not waits[-1]:
            break
    return tuple(waits)
