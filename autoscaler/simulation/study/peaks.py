"""Peaks: hours in which more of some profiles arrives than ever before.

In the days around the release of a model the mix shifts for hours. Jobs are added to
what arrives anyway until the work of those hours is a multiple of the mean; how long
they run is drawn from past jobs of their profile.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from random import Random

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.digits import number_text
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.jobs import StudyJob, slices_of, work_of
from autoscaler.simulation.study.notices import peak_jobs
from autoscaler.simulation.study.splits import Announcement, Case, Work, numbered
from autoscaler.simulation.study.trace_file import profile_named

HOUR_S = 3600.0
LARGEST = 1000
# Of ten added jobs of a mixed peak so many are of the first profile.
SHARE_OF_FIRST = 0.7
# Days of a run that have a peak where nobody says which: four in two weeks, weekdays apart.
USUAL_DAYS = (1, 4, 7, 11)
ANNOUNCED = "announced"
DAYS = re.compile(r"days=(\d{1,6}(?:,\d{1,6})*)")
HOURS = re.compile(r"hours=(\d{1,2}(?:\.\d+)?)-(\d{1,2}(?:\.\d+)?)")
FORM = "3g:2.5, or 3g+7g:2.5 with 70 % of 3g, or 3g:2.5 days=1,4 hours=10-16 announced"


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
        Days of the run, from 0; empty for the usual ones, as far as the run has them.
    start_h, end_h
        Hours of the day.
    is_announced
        Whether policies that can are told of it beforehand.
    """

    profiles: tuple[str, ...]
    factor: float
    days: tuple[int, ...] = ()
    start_h: float = 10.0
    end_h: float = 16.0
    is_announced: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.profiles) <= 2 or not 1 < self.factor < float("inf"):
            raise ValueError(f"not a peak: {self}")
        if not 0 <= self.start_h < self.end_h <= 24:
            raise ValueError(f"not hours of a day: {self}")

    def windows(self, span_s: float) -> list[tuple[float, float]]:
        """Return start and end of each, in seconds of a run of some length.

        Raises
        ------
        ConfigError
            When the run ends before them.
        """
        start_s, end_s = self.start_h * HOUR_S, self.end_h * HOUR_S
        days = self.days or [d for d in USUAL_DAYS if d * DAY_S + end_s <= span_s]
        found = [(day * DAY_S + start_s, day * DAY_S + end_s) for day in sorted(set(days))]
        if not found or found[-1][1] > span_s:
            last = max(days, default=USUAL_DAYS[0])
            raise ConfigError(f"the run is too short for a peak on day {last}")
        return found

    @property
    def drawn_from(self) -> str:
        """What decides its jobs; an announcement changes none of them."""
        return f"{self.profiles} {self.factor} {self.days} {self.start_h} {self.end_h}"


def parse_peaks(text: str, model: GpuModel) -> list[Peak]:
    """Return peaks set apart by semicolons; ConfigError when one is not of its form."""
    try:
        return [parse_peak(part, model) for part in text.split(";")] if text.strip() else []
    except ConfigError as error:
        raise ConfigError(f"peak: {error}") from error


def parse_peak(text: str, model: GpuModel) -> Peak:
    """Return a peak given as ``3g:2.5`` or ``3g+7g:2.5``, with words for days and hours.

    Raises
    ------
    ConfigError
        When it is not of that form.
    """
    words = text.split()
    names, _, factor = (words[0] if words else "").partition(":")
    try:
        value = float(factor)
    except ValueError:
        value = 0.0
    parts = names.split("+")
    if not (isfinite(value) and value > 1 and len(parts) <= 2 and all(parts)):
        raise ConfigError(f"{text!r} is no peak such as {FORM}")
    if value > LARGEST:
        raise ConfigError(f"{text!r}: a peak has at most {LARGEST} times the mean")
    peak = Peak(tuple(profile_named(model, part) for part in parts), value)
    given: set[str] = set()
    for word in words[1:]:
        peak = _with_word(peak, word, text)
        kind = word.partition("=")[0]
        if kind in given:
            raise ConfigError(f"{text!r}: {kind} is there twice")
        given.add(kind)
    return peak


def _with_word(peak: Peak, word: str, text: str) -> Peak:
    if word == ANNOUNCED:
        return replace(peak, is_announced=True)
    days, hours = DAYS.fullmatch(word), HOURS.fullmatch(word)
    if days:
        return replace(peak, days=tuple(sorted({int(day) for day in days[1].split(",")})))
    if hours and 0 <= float(hours[1]) < float(hours[2]) <= 24:
        return replace(peak, start_h=float(hours[1]), end_h=float(hours[2]))
    raise ConfigError(f"{text!r}: {word!r} is not understood; a peak is like {FORM}")


def with_peaks(case: Case, peaks: Sequence[Peak]) -> Case:
    """Return a case with the jobs of some peaks added, and those of their hours marked.

    Raises
    ------
    ConfigError
        When the run is too short for a peak, or the past has no job of its profile; the
        message names the peak.
    """
    # Of what arrives anyway: a peak is no larger for another that was added before it.
    mean_per_s = work_of(case.present.jobs, case.model) / case.present.span_s
    for peak in peaks:
        try:
            case = _with_peak(case, peak, mean_per_s)
        except ConfigError as error:
            raise ConfigError(f"peak {_title_of(peak)}: {error}") from error
    return case


def _title_of(peak: Peak) -> str:
    return f"{'+'.join(peak.profiles)}:{number_text(peak.factor)}"


def _with_peak(case: Case, peak: Peak, mean_per_s: float) -> Case:
    windows = peak.windows(case.present.span_s)
    random = Random(f"peak {case.seed} {peak.drawn_from}")
    past = {name: _past_jobs(case, name) for name in peak.profiles}
    jobs = [
        replace(job, in_peak=job.in_peak or _is_within(job, windows))
        for job in case.present.jobs
    ]
    for start_s, end_s in windows:
        own = [job for job in jobs if start_s <= job.arrival_s < end_s]
        lacking = peak.factor * mean_per_s * (end_s - start_s) - work_of(own, case.model)
        jobs += _added(_Draws(peak, past, random, slices_of(case.model)), lacking, start_s)
    title = _title_of(peak)
    name, present = f"{case.name} peak {title}", Work(numbered(jobs), case.present.span_s)
    told = (*case.notices, peak_jobs(title, len(jobs) - len(case.present.jobs)))
    if not peak.is_announced:
        return replace(case, name=name, present=present, notices=told)
    announced = (*case.announced, *_announcements(case, peak, present, windows))
    name += f" {ANNOUNCED}"
    return replace(case, name=name, present=present, notices=told, announced=announced)


def _announcements(
    case: Case, peak: Peak, present: Work, windows: Sequence[tuple[float, float]]
) -> Iterator[Announcement]:
    """Yield what somebody says who knows how much will come, but not when in these hours.

    That is the mean number of instances that the hours' jobs of a profile hold within
    them if none waits, as far as the fleet can have so many.
    """
    multisets = maximal_multisets(case.model, case.model.plain_names)
    for start_s, end_s in windows:
        for name in peak.profiles:
            held_s = (
                min(job.arrival_s + job.run_s, end_s) - job.arrival_s
                for job in present.jobs
                if job.profile == name and start_s <= job.arrival_s < end_s
            )
            number = ceil(sum(held_s) / (end_s - start_s))
            most = case.gpus * max(counts[name] for counts in multisets)
            if number:
                yield Announcement(start_s, end_s, name, min(number, most))


def _past_jobs(case: Case, profile: str) -> Sequence[StudyJob]:
    found = [job for job in case.past.jobs if job.profile == profile]
    if not found:
        raise ConfigError(f"no past job asked for {profile}: nobody knows how long one runs")
    return found


def _is_within(job: StudyJob, windows: Sequence[tuple[float, float]]) -> bool:
    return any(start_s <= job.arrival_s < end_s for start_s, end_s in windows)


@dataclass(frozen=True, slots=True)
class _Draws:
    """What jobs of a peak are drawn from."""

    peak: Peak
    past: Mapping[str, Sequence[StudyJob]]
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
        like = random.choice(draws.past[name])
        own = like.run_s * draws.slices[name]
        if own - work > work:
            break
        work -= own
        arrival_s = round(start_s + random.random() * span_s, 3)
        jobs.append(replace(like, arrival_s=arrival_s, in_peak=True))
    return jobs
