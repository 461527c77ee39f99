"""What drawn workloads share: the rhythm of days and weeks, sizes, and run times."""

from collections.abc import Mapping
from math import cos, exp, log, pi
from statistics import NormalDist
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.jobs import TRACE_SLICES
from autoscaler.simulation.study.splits import LONGEST_S, SHORTEST_S

HOUR_S = 3600.0
DAYS_OF_WEEK, WORKING_DAYS = 7, 5


def _mix(shares: dict[str, float]) -> dict[str, float]:
    if not shares or not all(0 <= own < float("inf") for own in shares.values()):
        raise ValueError("names no profile, or a share that is no number from 0 on")
    if not sum(shares.values()) > 0:
        raise ValueError("all shares are 0")
    for name in shares:
        if not (
            name.removesuffix("g").isdecimal() and 1 <= slices_of_share(name) <= TRACE_SLICES
        ):
            raise ValueError(f"{name} is no share of a GPU from 1g to {TRACE_SLICES}g")
    return dict(sorted(shares.items()))


Mix = Annotated[dict[str, float], AfterValidator(_mix)]
Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Hour = Annotated[float, Field(ge=0, lt=24, allow_inf_nan=False)]
Spread = Annotated[float, Field(gt=0, le=3, allow_inf_nan=False)]


def slices_of_share(text: str) -> int:
    """Return the slices of a share such as ``3g``."""
    return int(text.removesuffix("g"))


def is_weekend(day: int) -> bool:
    """Say whether a day is on a weekend; day 0 is a Monday."""
    return day % DAYS_OF_WEEK >= WORKING_DAYS


def swing(hour: float, peak_hour: float) -> float:
    """Return how near the busiest hour of the day is: 1 then, -1 half a day later."""
    return cos(2 * pi * (hour - peak_hour) / 24)


def spread_over(
    random: np.random.Generator, means: Mapping[tuple[int, float], float]
) -> list[float]:
    """Return arrivals in seconds.

    Parameters
    ----------
    means
        Mean number of arrivals from an hour of a day to the next of that day that is
        there, or to its end.
    """
    arrivals: list[float] = []
    ordered = sorted(means)
    for (day, hour), (next_day, next_hour) in zip(
        ordered, (*ordered[1:], (-1, 0.0)), strict=True
    ):
        span_s = ((next_hour if next_day == day else 24) - hour) * HOUR_S
        number = int(random.poisson(means[day, hour]))
        arrivals += (
            (day * DAY_S + hour * HOUR_S + span_s * random.random(number)).round(3).tolist()
        )
    return sorted(arrivals)


def draw_profiles(
    random: np.random.Generator, mix: Mapping[str, float], number: int
) -> list[str]:
    """Return profiles drawn by their shares."""
    names = list(mix)
    weights = np.array([mix[name] for name in names])
    picks = random.choice(len(names), size=number, p=weights / weights.sum())
    return [names[place] for place in picks.tolist()]


def draw_runs_s(
    random: np.random.Generator, median_s: float, spread: float, number: int
) -> list[float]:
    """Return run times of a log-normal distribution, none longer than a day.

    Parameters
    ----------
    spread
        Standard deviation of the logarithm.
    """
    drawn = np.exp(random.normal(log(median_s), spread, number))
    clipped: list[float] = np.clip(drawn, SHORTEST_S, LONGEST_S).round(3).tolist()
    return clipped


def mean_run_s(median_s: float, spread: float) -> float:
    """Return the mean of the run times that are drawn, the longest ones cut off."""
    normal, top = NormalDist(), (log(LONGEST_S) - log(median_s)) / spread
    within = median_s * exp(spread**2 / 2) * normal.cdf(top - spread)
    return within + LONGEST_S * (1 - normal.cdf(top))


def mean_slices(mix: Mapping[str, float]) -> float:
    """Return the mean slices of jobs drawn by a mix."""
    total = sum(mix.values())
    return sum(own * slices_of_share(name) for name, own in mix.items()) / total
