"""Scrapes a text exposition, e.g. the autoscaler's own metrics."""

import re
from collections.abc import Callable, Iterator

from autoscaler.simulation.controllers.platform import Platform
from autoscaler.simulation.metrics.family import Reading, Shelf
from autoscaler.simulation.prometheus.series import SeriesStore, Target

_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?")
_PAIR = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*,?\s*')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class ExpositionScraper:
    """Scrapes one program at a pace.

    Parameters
    ----------
    exposition
        Returns the text; raises OSError when the program does not answer.
    """

    def __init__(
        self,
        platform: Platform,
        store: SeriesStore,
        exposition: Callable[[], str],
        *,
        job: str,
        interval_s: float = 30.0,
    ) -> None:
        self._platform = platform
        self._exposition = exposition
        labels = (("instance", f"{job}:8080"), ("job", job))
        self.target = Target(labels, interval_s, phase_s=0.0)
        self._shelf = Shelf(store, self.target)
        self._job = job
        self._next_s = self.target.last_scrape_s(platform.now_s()) + interval_s

    def step(self) -> float:
        """Scrape when it is time."""
        now_s = self._platform.now_s()
        if now_s >= self._next_s:
            self._next_s = self.target.last_scrape_s(now_s) + self.target.interval_s
            self._scrape(now_s)
        return self._next_s

    def _scrape(self, now_s: float) -> None:
        try:
            readings = list(parse_exposition(self._exposition()))
        except OSError:
            self.target.up.set(now_s, None)
            self._shelf.show(self._job, (), now_s)
            return
        if self.target.up.last is None:
            self.target.up.set(now_s, now_s)
        self._shelf.show(self._job, readings, now_s)


def parse_exposition(text: str) -> Iterator[Reading]:
    """Yield the samples of a text exposition.

    Raises
    ------
    ValueError
        When a line is neither a sample nor a comment.
    """
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"not a sample: {line!r}")
        labels = {name: _unescaped(value) for name, value in _PAIR.findall(found[2] or "")}
        yield Reading(found[1], labels, float(found[3].replace("Inf", "inf")))


def _unescaped(text: str) -> str:
    return re.sub(r'\\[\\n"]', lambda found: _ESCAPES[found[0]], text)
