"""Samples without storing them: what a series is worth, and when it was scraped.

Values in the simulated cluster change rarely and scrapes are many, so a series keeps
its changes, and the sample of a moment is worked out from the times of the scrapes.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor

from autoscaler.simulation.prometheus.syntax import Matcher

# How old a sample may be and still stand for the present.
LOOKBACK_S = 300.0
# Changes of one series that are kept; older ones are forgotten by half.
MAX_STEPS = 20_000

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One scraped value."""

    at_s: float
    value: float


@dataclass(slots=True)
class Steps:
    """A value that is constant between changes; ``None`` where there is none."""

    times_s: list[float] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def set(self, at_s: float, value: float | None) -> None:
        """Note a value from a moment on."""
        if self.values and self.values[-1] == value:
            return
        if self.times_s and self.times_s[-1] >= at_s:
            self.values[-1] = value
            return
        if len(self.times_s) >= MAX_STEPS:
            del self.times_s[: MAX_STEPS // 2], self.values[: MAX_STEPS // 2]
        self.times_s.append(at_s)
        self.values.append(value)

    def at(self, time_s: float) -> float | None:
        """Return the value of a moment."""
        index = bisect_right(self.times_s, time_s)
        return self.values[index - 1] if index else None

    @property
    def last(self) -> float | None:
        """The latest value."""
        return self.values[-1] if self.values else None


@dataclass(slots=True)
class Target:
    """Something that is scraped.

    Parameters
    ----------
    labels
        Added to every sample: job, instance and the like.
    interval_s, phase_s
        When it is scraped.
    collection_s
        How often it refreshes what it shows, counted from its start; 0 for always.
    up
        When it answered: the time of its start as value, ``None`` while down.
    missed
        When it was not scraped at all, as 1.
    """

    labels: Labels
    interval_s: float
    phase_s: float = 0.0
    collection_s: float = 0.0
    up: Steps = field(default_factory=Steps)
    missed: Steps = field(default_factory=Steps)

    def last_scrape_s(self, time_s: float) -> float:
        """Return the time of the last scrape that was due, up to a moment."""
        number = floor((time_s - self.phase_s) / self.interval_s + 1e-9)
        return round(self.phase_s + number * self.interval_s, 3)

    def shown_s(self, scrape_s: float) -> float | None:
        """Return the moment that a scrape shows; ``None`` when it failed."""
        started_s = self.up.at(scrape_s)
        if started_s is None or not self.collection_s:
            return None if started_s is None else scrape_s
        number = floor((scrape_s - started_s) / self.collection_s + 1e-9)
        return started_s + number * self.collection_s


@dataclass(slots=True)
class Series:
    """One series; its labels include those of its target and its name."""

    labels: Labels
    target: Target
    steps: Steps = field(default_factory=Steps)

    @property
    def ended_s(self) -> float | None:
        """When it went away; ``None`` while it is there."""
        return (
            self.steps.times_s[-1] if self.steps.last is None and self.steps.times_s else None
        )

    def sample(self, time_s: float) -> Sample | None:
        """Return the sample that stands for a moment.

        A scrape that failed, or no longer shows the series, ends it at once; scrapes
        that were never made leave the older sample standing for the lookback time.
        """
        target = self.target
        scrape_s = target.last_scrape_s(time_s)
        while time_s - scrape_s < LOOKBACK_S:
            if not target.missed.at(scrape_s):
                return self._scraped(scrape_s)
            scrape_s = round(scrape_s - target.interval_s, 3)
        return None

    def samples(self, start_s: float, end_s: float) -> list[Sample]:
        """Return the samples after ``start_s`` up to ``end_s``."""
        found: list[Sample] = []
        scrape_s = self.target.last_scrape_s(end_s)
        while scrape_s > start_s:
            if not self.target.missed.at(scrape_s):
                sample = self._scraped(scrape_s)
                if sample is not None:
                    found.append(sample)
            scrape_s = round(scrape_s - self.target.interval_s, 3)
        return found[::-1]

    def _scraped(self, scrape_s: float) -> Sample | None:
        shown_s = self.target.shown_s(scrape_s)
        value = None if shown_s is None else self.steps.at(shown_s)
        return None if value is None else Sample(scrape_s, value)


class Selection:
    """The series that match a selector, kept up to date as series come and go."""

    def __init__(self, matchers: tuple[Matcher, ...]) -> None:
        self._matchers = matchers
        self._live: dict[Labels, Series] = {}
        self._ended: deque[Series] = deque()

    def offer(self, series: Series) -> None:
        """Take a series in if it matches."""
        labels = dict(series.labels)
        if not all(m.accepts(labels.get(m.label, "")) for m in self._matchers):
            return
        if series.ended_s is None:
            self._live[series.labels] = series
        else:
            self._ended.append(series)

    def end(self, series: Series) -> None:
        """Note that a series went away."""
        if self._live.pop(series.labels, None) is not None:
            self._ended.append(series)

    def drop_before(self, time_s: float) -> None:
        """Forget series that went away before a moment."""
        _drop_before(self._ended, time_s)

    def since(self, time_s: float) -> Iterator[Series]:
        """Yield the series that were there at some moment from ``time_s`` on."""
        yield from self._live.values()
        for series in reversed(self._ended):
            ended_s = series.ended_s
            if ended_s is not None and ended_s < time_s:
                return
            yield series


def _drop_before(ended: deque[Series], time_s: float) -> None:
    while ended and (ended[0].ended_s or time_s) < time_s:
        ended.popleft()


class SeriesStore:
    """All series by name.

    Parameters
    ----------
    retention_s
        How long series that went away can still be asked for.
    """

    def __init__(self, retention_s: float = 7200.0) -> None:
        self._retention_s = retention_s
        self._series: dict[str, dict[Labels, Series]] = {}
        self._ended: dict[str, deque[Series]] = {}
        self._selections: dict[str, dict[tuple[Matcher, ...], Selection]] = {}

    @property
    def names(self) -> list[str]:
        """Names of all metrics that ever had a series."""
        return sorted(self._series)

    def set(
        self, target: Target, name: str, labels: Mapping[str, str], at_s: float, value: float
    ) -> Labels:
        """Set the value of a series from a moment on; return its key."""
        merged = {**labels, **dict(target.labels), "__name__": name}
        key = tuple(sorted((k, v) for k, v in merged.items() if v != ""))
        present = self._series.setdefault(name, {})
        series = present.get(key)
        if series is None:
            series = present[key] = Series(key, target)
            series.steps.set(at_s, float(value))
            for selection in self._selections.get(name, {}).values():
                selection.offer(series)
        else:
            series.steps.set(at_s, float(value))
        return key

    def end(self, name: str, key: Labels, at_s: float) -> None:
        """Let a series go away from a moment on."""
        series = self._series.get(name, {}).pop(key, None)
        if series is None:
            return
        series.steps.set(at_s, None)
        ended = self._ended.setdefault(name, deque())
        ended.append(series)
        _drop_before(ended, at_s - self._retention_s)
        for selection in self._selections.get(name, {}).values():
            selection.end(series)
            selection.drop_before(at_s - self._retention_s)

    def select(
        self, name: str, matchers: tuple[Matcher, ...], since_s: float
    ) -> Iterable[Series]:
        """Return matching series that were there at some moment from a time on."""
        if not name:
            parts = (self.select(n, matchers, since_s) for n in self.names)
            return [series for part in parts for series in part]
        selections = self._selections.setdefault(name, {})
        selection = selections.get(matchers)
        if selection is None:
            selection = selections[matchers] = Selection(matchers)
            for series in (*self._ended.get(name, ()), *self._series.get(name, {}).values()):
                selection.offer(series)
        return selection.since(since_s)
