"""Outlook: what is added to demand that no pod asks for yet."""

from dataclasses import replace

from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.cluster.queueing import instances_to_come
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.policy.policy import Policy
from autoscaler.planning.forecasting.peaks import announced_now, peaks_of


def look_ahead(
    demand: Demand, observation: Observation, policy: Policy, now_s: float
) -> Demand:
    """Return a demand with the peaks that count now, and what queues hold back.

    Parameters
    ----------
    demand
        What pods ask for, and what metrics know of queues.
    observation
        What it was made from.
    policy
        The policy in force.
    now_s
        Epoch seconds.

    Returns
    -------
    Demand
        What the API server says of Kueue goes before what metrics say of queues: they
        speak of the same work.
    """
    found = peaks_of(policy, observation.announcements)
    announced, notices = announced_now(found, policy, observation.pods, now_s)
    queued = demand.queued
    if observation.kueue is not None:
        queued, said = instances_to_come(observation.kueue)
        notices = (*notices, *said)
    return replace(
        demand, announced=announced, queued=queued, notices=(*demand.notices, *notices)
    )
