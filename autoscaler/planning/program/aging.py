"""Aging: requests that have waited long count more, where a policy asks for fairness.

Serving what frees most wait a slice keeps the mean low and lets a few large or long
requests wait far longer than under a fixed mix. With fairness their weight grows with
every doubling of their wait, in steps, so that requests of one step stay one group.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import floor, log2

from autoscaler.domain.demand.demand import DemandGroup
from autoscaler.planning.program.worth import Worth

# Steps beyond change no order any more: a request of the last one has waited for
# 64 times the service time of its profile.
MOST_STEPS = 7


def aged(groups: Iterable[DemandGroup], worth: Worth, now_s: float) -> Iterator[DemandGroup]:
    """Yield the groups, those with requests of different ages in parts.

    Parameters
    ----------
    groups
        As they were asked for. Gangs stay as they are: they start whole or not at all.
    worth
        Holds the fairness, and the service times that waits are measured by.
    now_s
        Epoch seconds.
    """
    fairness = worth.rules.fairness
    for group in groups:
        if not fairness or group.gang or len(group.created_s) != group.number:
            yield group
            continue
        usual_s = worth.service_of(group.bundle)
        steps: dict[int, list[int]] = {}
        for place, created_s in enumerate(group.created_s):
            steps.setdefault(step_of(now_s - created_s, usual_s), []).append(place)
        for step, places in sorted(steps.items(), reverse=True):
            yield replace(
                group,
                weight=group.weight * (1.0 + fairness * step),
                pods=tuple(group.pods[place] for place in places),
                created_s=tuple(group.created_s[place] for place in places),
            )


def step_of(waited_s: float, usual_s: float) -> int:
    """Return how many steps of age a wait makes.

    Parameters
    ----------
    waited_s
        How long a request has waited, in seconds; below 0 counts as 0.
    usual_s
        Service time of its profile, in seconds, above 0.

    Returns
    -------
    int
        0 below the service time, then one more for each doubling, up to 7.
    """
    times = waited_s / usual_s
    return 0 if times < 1 else min(MOST_STEPS, 1 + floor(log2(times)))
