"""Peaks: hours in which more of some profiles arrives than ever before.

In the days around the release of a model the mix shifts for hours. Jobs are added to
what arrives anyway until the work of those hours is a multiple of the mean; how long
they run is drawn from past jobs of their profile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from random import Random

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import StudyJob, slices_of, work_of
from autoscaler.simulation.study.splits import DAY_S, Case, Work, numbered
from autoscaler.simulation.study.trace_file import profile_named

HOUR_S = 3600.0
# Of ten added jobs of a mixed peak so many are of the first profile.
SHARE_OF_FIRST = 0.7


@dataclass(frozen=True, slots=True)
class Peak:
    """What is added.

    Parameters
    ----------
    profiles
        One profile, or two of which the first has 70 % of the added jobs.
    factor
        Work of the hours as a multiple of the mean, above 1.
    days
        Days of the run, from 0.
    start_h, end_h
        Hours of the day.
    """

    profiles: tuple[str, ...]
    factor: float
    days: tuple[int, ...] = (1, 4, 7, 11)
    start_h: float = 10.0
    end_h: float = 16.0

    def __post_init__(self) -> None:
        if not 1 <= len(self.profiles) <= 2 or not 1 < self.factor < float("inf"):
            raise ValueError(f"not a peak: {self}")
        if not 0 <= self.start_h < self.end_h <= 24:
            raise ValueError(f"not hours of a day: {self}")

    def windows(self) -> list[tuple[float, float]]:
        """Return start and end of each, in seconds of the run."""
        hours = (self.start_h * HOUR_S, self.end_h * HOUR_S)
        return [(day * DAY_S + hours[0], day * DAY_S + hours[1]) for day in self.days]


def parse_peak(text: str, model: GpuModel) -> Peak:
    """Return a peak given as ``3g:2.5`` or ``3g+7g:2.5``.

    Raises
    ------
    ConfigError
        When it is not of that form.
    """
    names, _, factor = text.partition(":")
    try:
        value = float(factor)
    except ValueError:
        value = 0.0
    parts = names.split("+")
    if not (isfinite(value) and value > 1 and len(parts) <= 2):
        raise ConfigError(f"{text!r} is no peak such as 3g:2.5, or 3g+7g:2.5 with 70 % of 3g")
    return Peak(tuple(profile_named(model, part) for part in parts), value)


def with_peak(case: Case, peak: Peak) -> Case:
    """Return a case with the jobs of a peak added, and those of its hours marked.

    Raises
    ------
    ConfigError
        When the run is too short for the peak, or the past has no job of its profile.
    """
    windows = peak.windows()
    if windows and windows[-1][1] > case.present.span_s:
        raise ConfigError(f"the run is too short for a peak on day {peak.days[-1]}")
    random = Random(f"peak {case.seed} {peak}")
    past = {name: _run_times(case, name) for name in peak.profiles}
    mean_per_s = work_of(case.present.jobs, case.model) / case.present.span_s
    jobs = [replace(job, in_peak=_is_within(job, windows)) for job in case.present.jobs]
    for start_s, end_s in windows:
        own = [job for job in jobs if start_s <= job.arrival_s < end_s]
        lacking = peak.factor * mean_per_s * (end_s - start_s) - work_of(own, case.model)
        jobs += _added(_Draws(peak, past, random, slices_of(case.model)), lacking, start_s)
    name = f"{case.name} peak {'+'.join(peak.profiles)}:{peak.factor:g}"
    return replace(case, name=name, present=Work(numbered(jobs), case.present.span_s))


def _run_times(case: Case, profile: str) -> Sequence[float]:
    found = [job.run_s for job in case.past.jobs if job.profile == profile]
    if not found:
        raise ConfigError(f"no past job asked for {profile}: nobody knows how long one runs")
    return found


def _is_within(job: StudyJob, windows: Sequence[tuple[float, float]]) -> bool:
    return any(start_s <= job.arrival_s < end_s for start_s, end_s in windows)


@dataclass(frozen=True, slots=True)
class _Draws:
    """What jobs of a peak are drawn from."""

    peak: Peak
    past: Mapping[str, Sequence[float]]
    random: Random
    slices: Mapping[str, int]


def _added(draws: _Draws, work: float, start_s: float) -> list[StudyJob]:
    """Return jobs that need an amount of work; the last only if that comes closer."""
    peak, random = draws.peak, draws.random
    span_s = (peak.end_h - peak.start_h) * HOUR_S
    jobs: list[StudyJob] = []
    while work > 0:
        is_first = len(peak.profiles) == 1 or random.random() < SHARE_OF_FIRST
        name = peak.profiles[0 if is_first else 1]
        run_s = random.choice(draws.past[name])
        own = run_s * draws.slices[name]
        if own - work > work:
            break
        work -= own
        arrival_s = round(start_s + random.random() * span_s, 3)
        jobs.append(StudyJob(arrival_s, 0, run_s, name, in_peak=True))
    return jobs
