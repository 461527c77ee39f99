"""Values over time that stay as they are until they change, and how many are drawn."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Steps:
    """A value over time.

    Parameters
    ----------
    times_s
        From when on each value holds, ascending.
    values
        As many.
    end_s
        Until when the last one holds.
    mean_over_s
        Time that each value is the mean of; 0 where it is the value itself.
    """

    times_s: tuple[float, ...]
    values: tuple[float, ...]
    end_s: float
    mean_over_s: float = 0.0


def steps_of(moves: Iterable[tuple[float, float]], end_s: float) -> Steps:
    """Return the sum of moves over time, up to an end.

    Parameters
    ----------
    moves
        Moment and by how much the value changes then, in any order.
    """
    changes: dict[float, float] = {0.0: 0.0}
    for at_s, change in sorted(moves):
        at_s = max(0.0, at_s)
        changes[at_s] = changes.get(at_s, 0.0) + change
    value = 0.0
    times_s: list[float] = []
    values: list[float] = []
    for at_s, change in changes.items():
        value += change
        if at_s < end_s and (change or not values):
            times_s.append(at_s)
            values.append(value)
    return Steps(tuple(times_s), tuple(values), end_s)


def thinned(steps: Steps, most: int) -> Steps:
    """Return steps of which there are no more than so many: means over equal times."""
    if len(steps.times_s) <= most:
        return steps
    edges = np.linspace(0.0, steps.end_s, most + 1)
    own = np.append(np.array(steps.times_s), steps.end_s)
    area = np.concatenate([[0.0], np.cumsum(np.diff(own) * np.array(steps.values))])
    means = np.diff(np.interp(edges, own, area)) / np.diff(edges)
    return Steps(
        tuple(edges[:-1].tolist()), tuple(means.tolist()), steps.end_s, steps.end_s / most
    )
