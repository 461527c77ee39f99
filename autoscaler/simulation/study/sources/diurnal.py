"""Batch and interactive jobs that come with the rhythm of days and weeks."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from autoscaler.domain.policy.quantity import Duration, duration
from autoscaler.domain.policy.section import Section
from autoscaler.simulation.study.jobs import TRACE_SLICES
from autoscaler.simulation.study.sources.rhythm import (
    HOUR_S,
    Hour,
    Mix,
    Positive,
    Share,
    Spread,
    draw_profiles,
    draw_runs_s,
    is_weekend,
    mean_run_s,
    mean_slices,
    spread_over,
    swing,
)
from autoscaler.simulation.study.trace_file import TraceRow


class Diurnal(Section):
    """Jobs of independent users; more by day than by night, fewer on weekends."""

    kind: Literal["diurnal"] = "diurnal"
    """Which workload this is."""

    busy_gpus: Positive = 8.0
    """Whole GPUs that the jobs of a working day fill on average. Default: 8, a server."""

    mix: Mix = Field(default={"1g": 0.3, "2g": 0.3, "3g": 0.2, "4g": 0.05, "7g": 0.15})
    """Shares of the jobs by size. Default: many small jobs and some whole GPUs, between the
    two ways in which sizes are read from the openb trace."""

    median_run_s: Duration = duration("10m", positive=True)
    """Half of the jobs run no longer. Default: 10m, as in the openb trace."""

    spread: Spread = 1.7
    """Standard deviation of the logarithm of run times. Default: 1.7, as in the openb
    trace: one job in forty runs longer than five hours."""

    peak_hour: Hour = 15.0
    """Busiest hour of the day. Default: 15, an afternoon."""

    depth: Share = 0.6
    """How far the rate swings about its mean. Default: 0.6, as in the openb trace, whose
    busiest hour has about four times the jobs of the quietest."""

    weekend: Share = 0.5
    """Rate of weekends as a share of that of working days. Default: 0.5; the training jobs
    of Microsoft's clusters have 0.9, people at their desks far less."""

    def rows(self, random: np.random.Generator, days: int) -> Iterator[TraceRow]:
        """Yield the jobs of some days; the first is a Monday."""
        work = mean_slices(self.mix) * mean_run_s(self.median_run_s, self.spread)
        per_hour = self.busy_gpus * TRACE_SLICES * HOUR_S / work
        means: dict[tuple[int, float], float] = {
            (day, hour): per_hour
            * (self.weekend if is_weekend(day) else 1.0)
            * (1 + self.depth * swing(hour + 0.5, self.peak_hour))
            for day in range(days)
            for hour in range(24)
        }
        arrivals = spread_over(random, means)
        profiles = draw_profiles(random, self.mix, len(arrivals))
        runs = draw_runs_s(random, self.median_run_s, self.spread, len(arrivals))
        for arrival_s, profile, run_s in zip(arrivals, profiles, runs, strict=True):
            yield TraceRow(arrival_s, run_s, profile, 1)
