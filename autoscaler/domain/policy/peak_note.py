"""What the annotation of a peak says, and how it is read.

The annotation ``mig-autoscaler.io/peak`` holds one peak or several, as JSON or in a short
form::

    3g.20gb=8 mon-fri 09:00-13:00 Asia/Shanghai
    3g.20gb=8,1g.5gb=4 2026-12-01T09:00:00+08:00/2026-12-01T13:00:00+08:00
    3g.20gb=8 for=2h

The words of a short form may come in any order; a semicolon parts peaks. Without times a
CronJob means each of its runs, and a Job the time until it is resumed.
"""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import load_models
from autoscaler.domain.policy.complaints import complaints
from autoscaler.domain.policy.quantity import (
    ALL_DAYS,
    Day,
    Duration,
    EndTime,
    StartTime,
    TimeZone,
    ordered_days,
)
from autoscaler.domain.policy.schedule import DailySpan
from autoscaler.domain.policy.section import Problem, Section, path_text, refuse

CLOCK = re.compile(r"\d\d:\d\d-\d\d:\d\d")
ONCE = re.compile(r"\d{4}-\d\d-\d\dT[^/]+/\d{4}-\d\d-\d\dT[^/]+")
AMOUNTS = re.compile(r"[^=,]+=\d+(,[^=,]+=\d+)*")
MOST = 100_000
MOST_TEXT = 4096


def _instant(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"{text!r} is not a time with a zone like 2026-12-01T09:00:00+08:00")
    return text


Instant = Annotated[str, AfterValidator(_instant)]
Amount = Annotated[int, Field(gt=0, le=MOST)]


class PeakNote(Section):
    """One peak as an annotation says it."""

    profiles: Annotated[dict[str, Amount], Field(min_length=1)] | None = None
    """Instances of each profile that will be asked for."""

    days: Annotated[tuple[Day, ...], AfterValidator(ordered_days)] | None = None
    """Weekdays on which it starts."""

    start: StartTime | None = None
    """Local time at which it starts."""

    end: EndTime | None = None
    """Local time at which it ends."""

    time_zone: TimeZone | None = None
    """Zone of both."""

    from_: Instant | None = None
    """Moment at which it starts, once."""

    to: Instant | None = None
    """Moment at which it ends."""

    for_: Duration | None = None
    """How long each run of a CronJob asks for its instances."""

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterable[Problem]:
        clock = (self.start, self.end)
        if (self.start is None) != (self.end is None):
            yield Problem(("start",), "start and end go together")
        if (self.from_ is None) != (self.to is None):
            yield Problem(("from",), "from and to go together")
        if None not in clock and self.from_ is not None:
            yield Problem(("from",), "cannot go with start; keep one")
        if None in clock and (self.days is not None or self.time_zone is not None):
            yield Problem(("start",), "is missing beside days or timeZone")
        if None not in clock and self.start == self.end:
            yield Problem(("end",), "is the same as start")
        if self.from_ is not None and self.to is not None and self.to_s <= self.from_s:
            yield Problem(("to",), "is not after from")
        known = {p.name for model in load_models() for p in model.profiles}
        for name in sorted(set(self.profiles or ()) - known):
            yield Problem(("profiles", name), "is no profile of any known GPU model")

    @property
    def from_s(self) -> float:
        """Epoch seconds of ``from``; 0 where there is none."""
        return datetime.fromisoformat(self.from_).timestamp() if self.from_ else 0.0

    @property
    def to_s(self) -> float:
        """Epoch seconds of ``to``; 0 where there is none."""
        return datetime.fromisoformat(self.to).timestamp() if self.to else 0.0

    @property
    def span(self) -> DailySpan | None:
        """The times of the week, if it has such."""
        if self.start is None or self.end is None:
            return None
        return DailySpan(
            days=self.days or ALL_DAYS,
            start=self.start,
            end=self.end,
            time_zone=self.time_zone or "UTC",
        )


def read_notes(text: str) -> tuple[PeakNote, ...]:
    """Return the peaks that an annotation says.

    Parameters
    ----------
    text
        JSON of one peak or a list of them, or the short form.

    Raises
    ------
    ConfigError
        When any of it cannot be read; then none of it counts.
    """
    if len(text) > MOST_TEXT:
        raise ConfigError(f"is longer than {MOST_TEXT} characters")
    stripped = text.strip()
    if stripped[:1] in {"{", "["}:
        try:
            found = json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"is not JSON: {error}") from error
        parts = found if isinstance(found, list) else [found]
    else:
        parts = [_long_form(part) for part in stripped.split(";") if part.strip()]
    if not parts:
        raise ConfigError("says nothing")
    return tuple(_note(part) for part in parts)


def _note(value: object) -> PeakNote:
    if not isinstance(value, dict):
        raise ConfigError("a peak is a mapping like {profiles: {1g.5gb: 4}, …}")
    # Only now is it a mapping with a word that Python keeps for itself.
    try:
        return PeakNote.model_validate_json(json.dumps(value), by_alias=True, by_name=False)
    except ValidationError as error:
        problems = complaints(error, PeakNote, data=value)
        said = (f"{path_text(p.path)}: {p.message}".removeprefix(": ") for p in problems)
        raise ConfigError("; ".join(said)) from error


def _long_form(text: str) -> dict[str, object]:
    """Return the mapping that a short form stands for."""
    found: dict[str, object] = {}
    for word in text.split():
        for key, value in _meaning(word).items():
            if key in found:
                raise ConfigError(f"{word!r} says {key} a second time")
            found[key] = value
    return found


def _meaning(word: str) -> dict[str, object]:
    if word.startswith("for="):
        return {"for": word.removeprefix("for=")}
    if AMOUNTS.fullmatch(word):
        pairs = [part.split("=") for part in word.split(",")]
        if len({name for name, _ in pairs}) < len(pairs):
            raise ConfigError(f"{word!r} names a profile twice")
        return {"profiles": {name: int(number) for name, number in pairs}}
    if CLOCK.fullmatch(word):
        start, end = word.split("-")
        return {"start": start, "end": end}
    if ONCE.fullmatch(word):
        start, end = word.split("/")
        return {"from": start, "to": end}
    days = _days(word)
    if days:
        return {"days": days}
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]*", word):
        return {"timeZone": word}
    raise ConfigError(f"{word!r} is not understood")


def _days(word: str) -> list[str]:
    """Return the weekdays of ``mon``, ``mon-fri`` or ``mon,wed``; none for other words."""
    days: list[str] = []
    for part in word.lower().split(","):
        first, dash, last = part.partition("-")
        if first not in ALL_DAYS or (dash and last not in ALL_DAYS):
            return []
        begin = ALL_DAYS.index(first)
        number = (ALL_DAYS.index(last) - begin) % 7 if dash else 0
        days += [ALL_DAYS[(begin + i) % 7] for i in range(number + 1)]
    return days
