"""Records: samples of all profiles of a pool up to now, and how they are remembered."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.forecasting.season import HOUR_S, IntArray, hours_of_week
from autoscaler.planning.past.demand_history import Grid


@dataclass(frozen=True, slots=True)
class Recall:
    """How the past is remembered.

    Parameters
    ----------
    half_life_s
        Age at which a past hour counts half, above 0.
    prior_hours
        How many hours of this hour of the week weigh as much as all others together.
    is_seasonal
        Whether what hours of the day and week have in common is taken apart first.
    """

    half_life_s: float
    prior_hours: float
    is_seasonal: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What is known up to now.

    Parameters
    ----------
    samples
        Instances wanted, one row a point of the grid, one column a profile; NaN where
        not known.
    grid
        Points in time; the last one is now.
    hours
        Hour of the week of each point, and of those to come as far as they may be asked
        for.
    """

    samples: NDArray[np.float64]
    grid: Grid
    hours: IntArray

    @property
    def number(self) -> int:
        """How many points."""
        return self.grid.number

    def between(self, first: int, end: int) -> "Record":
        """Return the points from ``first`` up to before ``end``."""
        start_s = self.grid.start_s + first * self.grid.step_s
        grid = replace(self.grid, start_s=start_s, number=end - first)
        return Record(self.samples[first:end], grid, self.hours[first:])

    def hourly(self) -> "Record":
        """Return the points that lie whole hours before now; coarser records stay."""
        every = max(1, round(HOUR_S / self.grid.step_s))
        first = (self.number - 1) % every
        step_s = self.grid.step_s * every
        start_s = self.grid.start_s + first * self.grid.step_s
        samples = self.samples[first::every]
        grid = Grid(start_s, step_s, len(samples))
        return Record(samples, grid, self.hours[first::every])


def record_of(samples: NDArray[np.float64], grid: Grid, leads: int, time_zone: str) -> Record:
    """Return a record; hours of the week are those of a time zone's clocks."""
    longer = replace(grid, number=grid.number + leads)
    return Record(samples, grid, hours_of_week(longer, time_zone))
