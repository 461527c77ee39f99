"""Inference: services whose replicas live for hours and whose number follows the day."""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from autoscaler.domain.policy.section import Section
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.sources.rhythm import (
    HOUR_S,
    Hour,
    Mix,
    Positive,
    Share,
    draw_profiles,
    is_weekend,
    swing,
)
from autoscaler.simulation.study.trace_file import TraceRow

# A new version each day replaces all replicas, at an hour of its own.
ROLLOUT_HOURS = (8, 18)


class InferenceFleet(Section):
    """Services that are scaled with their traffic; each has one size of replica.

    No replica outlives a day: a new version replaces all of a service's once a day.
    """

    kind: Literal["inference"] = "inference"
    """Which workload this is."""

    services: Annotated[int, Field(ge=1, le=1000)] = 8
    """How many. Default: 8."""

    replicas: Positive = 8.0
    """Mean replicas of a service at its busiest; each has from half to one and a half of
    that. Default: 8."""

    night: Share = 0.3
    """Replicas at the quietest hour, as a share of those at the busiest. Default: 0.3, a
    service whose users sleep; at least one stays."""

    weekend: Share = 0.7
    """Replicas on weekends, as a share of those on working days. Default: 0.7."""

    peak_hour: Hour = 20.0
    """Busiest hour. Default: 20, an evening: most users are at home."""

    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    """Standard deviation of a day's traffic about its mean, as a share. Default: 0.1."""

    step_minutes: Annotated[int, Field(ge=1, le=60)] = 15
    """How often the number of replicas is set. Default: 15, slower than the five minutes for
    which Kubernetes holds back a scale-down, because models take minutes to load."""

    mix: Mix = Field(default={"1g": 0.5, "2g": 0.3, "3g": 0.2})
    """Shares of the services by size. Default: small models most."""

    def rows(self, random: np.random.Generator, days: int) -> Iterator[TraceRow]:
        """Yield the replicas of some days as jobs; the first day is a Monday."""
        sizes = draw_profiles(random, self.mix, self.services)
        for profile in sizes:
            most = self.replicas * float(random.uniform(0.5, 1.5))
            rollout_h = int(random.integers(*ROLLOUT_HOURS))
            # One more day, so that the last replicas end as all others do.
            traffic = np.clip(random.normal(1.0, self.jitter, days + 1), 0.2, 2.0).tolist()
            numbers = [most * own for own in traffic]
            for start_s, end_s in self._lives(numbers, rollout_h):
                if start_s < days * DAY_S:
                    yield TraceRow(start_s, end_s - start_s, profile, 1)

    def wanted(self, most: float, at_s: float) -> int:
        """Return the replicas that a moment asks for, of so many on the busiest."""
        day, second = divmod(at_s, DAY_S)
        level = (1 + swing(second / HOUR_S, self.peak_hour)) / 2
        share = self.night + (1 - self.night) * level
        return max(1, round(most * share * (self.weekend if is_weekend(int(day)) else 1.0)))

    def _lives(self, numbers: list[float], rollout_h: int) -> Iterator[tuple[float, float]]:
        """Yield start and end of each replica, given the most of each day."""
        step_s = self.step_minutes * 60.0
        running: list[float] = []
        rollout_s = rollout_h * HOUR_S
        for step in range(round(len(numbers) * DAY_S / step_s)):
            at_s = step * step_s
            if at_s >= rollout_s:
                yield from ((start_s, at_s) for start_s in running)
                running = []
                rollout_s += DAY_S
            want = self.wanted(numbers[int(at_s // DAY_S)], at_s)
            # The youngest go first, as with ReplicaSets.
            while len(running) > want:
                yield running.pop(), at_s
            running += [at_s] * (want - len(running))
        end_s = len(numbers) * DAY_S
        yield from ((start_s, end_s) for start_s in running)
