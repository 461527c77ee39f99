"""Prometheus text files: one sample a line, as an exporter's ``/metrics`` has them.

Only families that are asked for are read: an exporter's page has a hundred others.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autoscaler.adapters.prometheus.samples import Sample, sample_from
from autoscaler.domain.errors import ConfigError

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\\n]|\\.)*)"\s*(,|(?=\}))')
PLAIN = r'[a-zA-Z_][a-zA-Z0-9_]*="[^"\\\n]*"'
PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\\n]*)"')
# What nearly all lines have: no spaces and no escapes.
PLAIN_BLOCK = re.compile(rf"\{{(?:{PLAIN}(?:,{PLAIN})*,?)?\}}")
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
ESCAPE = re.compile(r"\\.")


@dataclass(frozen=True, slots=True)
class TimedSample:
    """A sample and its time in epoch seconds, ``None`` where the file has none."""

    sample: Sample
    at_s: float | None


def samples_of(
    text: str, source: str, is_wanted: Callable[[str], bool]
) -> Iterator[TimedSample]:
    """Yield the finite samples of the wanted families; ConfigError names file and line."""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name = NAME.match(stripped)
        if not name:
            raise ConfigError(f"{source}:{number}: not a Prometheus sample: {stripped[:60]!r}")
        if is_wanted(name[0]):
            found = _timed(name[0], stripped[name.end() :], f"{source}:{number}")
            if math.isfinite(found.sample.value):
                yield found


def _timed(name: str, rest: str, where: str) -> TimedSample:
    labels, rest = _labels(rest, where)
    parts = rest.split()
    try:
        value = float(parts[0])
        at_s = float(parts[1]) / 1000 if len(parts) == 2 else None
    except (IndexError, ValueError):
        raise ConfigError(f"{where}: not a value of {name}: {rest.strip()[:60]!r}") from None
    if len(parts) > 2:
        raise ConfigError(f"{where}: more than a value and a time: {rest.strip()[:60]!r}")
    return TimedSample(sample_from(labels, value, name), at_s)


def _labels(rest: str, where: str) -> tuple[dict[str, str], str]:
    plain = PLAIN_BLOCK.match(rest)
    if plain:
        return dict(PAIR.findall(plain[0])), rest[plain.end() :]
    labels: dict[str, str] = {}
    if not rest.startswith("{"):
        return labels, rest
    position = 1
    while rest[position : position + 1] != "}":
        match = LABEL.match(rest, position)
        if not match:
            raise ConfigError(f"{where}: not a label: {rest[position:][:60]!r}")
        labels[match[1]] = ESCAPE.sub(lambda m: ESCAPES.get(m[0], m[0]), match[2])
        position = match.end()
    return labels, rest[position + 1 :]
