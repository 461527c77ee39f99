"""Drain: how long a closed GPU waits for its holders, and whether that succeeds.

A holder is gone by a known time, or its stay is memoryless with the mean of its kind:
how long it has been there says nothing about how long it will be. Whoever is not gone
by the deadline keeps its GPU, and the change is given up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, inf

# Steps of the integral over the time in which several holders leave.
STEPS = 64


@dataclass(frozen=True, slots=True, order=True)
class Stay:
    """How long one holder stays.

    Parameters
    ----------
    mean_s
        Mean time until it ends by itself; infinity for never.
    gone_in_s
        By when it is gone at the latest; infinity for never.
    """

    mean_s: float = inf
    gone_in_s: float = inf

    def chance_by(self, at_s: float) -> float:
        """Return the chance that it is gone by then."""
        if at_s >= self.gone_in_s:
            return 1.0
        if self.mean_s == inf:
            return 0.0
        return 1.0 - exp(-at_s / self.mean_s) if self.mean_s > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Drain:
    """What waiting for all holders of a GPU comes to.

    Parameters
    ----------
    chance
        That all of them are gone by the deadline.
    wait_s
        Expected time until the last is gone, or until the deadline.
    stays_s
        The same for each of them alone.
    """

    chance: float
    wait_s: float
    stays_s: tuple[float, ...]


@lru_cache(maxsize=4096)
def drain_of(stays: tuple[Stay, ...], deadline_s: float) -> Drain:
    """Return what waiting for holders comes to.

    Parameters
    ----------
    stays
        One a holder.
    deadline_s
        Seconds after which the change is given up.
    """
    chance = 1.0
    for stay in stays:
        chance *= stay.chance_by(deadline_s)
    wait_s = _expected_s(stays, deadline_s)
    return Drain(chance, wait_s, tuple(_expected_s((stay,), deadline_s) for stay in stays))


def _expected_s(stays: Sequence[Stay], deadline_s: float) -> float:
    """Return the expected time until all are gone, the deadline at most.

    It is the integral of the chance that someone is still there.
    """
    edges = sorted({0.0, deadline_s, *(s.gone_in_s for s in stays if s.gone_in_s < deadline_s)})
    total = 0.0
    for left_s, right_s in pairwise(edges):
        step_s = (right_s - left_s) / STEPS
        for place in range(STEPS):
            all_gone = 1.0
            for stay in stays:
                all_gone *= stay.chance_by(left_s + (place + 0.5) * step_s)
            total += (1.0 - all_gone) * step_s
    return total
