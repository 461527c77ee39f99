"""Continuous integration: bursts of short jobs in working hours, and a run each night."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from autoscaler.domain.policy.quantity import Duration, duration
from autoscaler.domain.policy.section import Problem, Section, refuse
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.sources.rhythm import (
    HOUR_S,
    Hour,
    Mix,
    NotNegative,
    Positive,
    Share,
    Spread,
    draw_profiles,
    draw_runs_s,
    is_weekend,
    spread_over,
)
from autoscaler.simulation.study.trace_file import TraceRow

# Jobs of one push are submitted one after another, within a minute.
BURST_S = 60.0


class Pipelines(Section):
    """Pushes to a repository; each starts several jobs at once."""

    kind: Literal["ci"] = "ci"
    """Which workload this is."""

    pushes_per_hour: Positive = 60.0
    """Pushes in an hour of work. Default: 60, those of some two hundred people."""

    jobs_per_push: Positive = 6.0
    """Mean jobs of a push, at least one each. Default: 6, a matrix of two versions and
    three suites."""

    start_hour: Hour = 9.0
    """Hour at which work begins. Default: 9."""

    end_hour: Annotated[float, Field(gt=0, le=24, allow_inf_nan=False)] = 19.0
    """Hour at which it ends. Default: 19, because few leave at the same time."""

    idle: Share = 0.05
    """Pushes at other hours and on weekends, as a share. Default: 0.05, a few people and
    robots."""

    median_run_s: Duration = duration("6m", positive=True)
    """Half of the jobs run no longer. Default: 6m: people wait for the result."""

    spread: Spread = 0.7
    """Standard deviation of the logarithm of run times. Default: 0.7: suites differ less
    than what users submit."""

    mix: Mix = Field(default={"1g": 0.8, "2g": 0.15, "3g": 0.05})
    """Shares of the jobs by size. Default: mostly the smallest; tests need a GPU, not much
    of it."""

    nightly: NotNegative = 40.0
    """Jobs of the run each night. Default: 40, all suites on all versions."""

    nightly_hour: Hour = 2.0
    """When it starts. Default: 2."""

    @model_validator(mode="after")
    def _check_hours(self) -> Self:
        if self.start_hour >= self.end_hour:
            refuse([Problem(("endHour",), "is not after startHour: nobody would work")])
        return self

    def rows(self, random: np.random.Generator, days: int) -> Iterator[TraceRow]:
        """Yield the jobs of some days; the first is a Monday."""
        # Work may begin and end within an hour, which is then drawn in parts.
        hours = sorted({*map(float, range(25)), self.start_hour, self.end_hour})
        means = {
            (day, hour): self.pushes_per_hour * (end - hour) * self._level(day, hour)
            for day in range(days)
            for hour, end in pairwise(hours)
        }
        for push_s in spread_over(random, means):
            number = 1 + int(random.poisson(max(0.0, self.jobs_per_push - 1)))
            yield from self._burst(random, push_s, number)
        for day in range(days):
            start_s = day * DAY_S + self.nightly_hour * HOUR_S
            yield from self._burst(random, start_s, round(self.nightly))

    def _level(self, day: int, hour: float) -> float:
        is_work = self.start_hour <= hour < self.end_hour and not is_weekend(day)
        return 1.0 if is_work else self.idle

    def _burst(
        self, random: np.random.Generator, start_s: float, number: int
    ) -> Iterator[TraceRow]:
        delays: Sequence[float] = np.sort(random.random(number) * BURST_S).tolist()
        profiles = draw_profiles(random, self.mix, number)
        runs = draw_runs_s(random, self.median_run_s, self.spread, number)
        for delay_s, profile, run_s in zip(delays, profiles, runs, strict=True):
            yield TraceRow(round(start_s + delay_s, 3), run_s, profile, 1)
