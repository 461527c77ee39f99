"""Reads a trace: one row a job, with its arrival, its run time and what it asks for."""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import isfinite
from pathlib import Path

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.jobs import profile_of

OPENB = "openb_pods.csv.gz"
GZIP_MAGIC = b"\x1f\x8b"
ARRIVAL, DURATION, COUNT = "arrival_s", "duration_s", "mig_count"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row of a trace that asked for GPUs and is known to have run.

    Parameters
    ----------
    arrival_s
        Seconds from the trace's own zero.
    profile
        As written: a share like ``3g`` or a profile's name.
    count
        Instances it asked for.
    """

    arrival_s: float
    run_s: float
    profile: str
    count: int


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file.

    Parameters
    ----------
    name
        Name of the file, for reports.
    rows
        By arrival.
    without_run_time
        Rows left out because they never ran, or not to their end.
    """

    name: str
    rows: tuple[TraceRow, ...]
    without_run_time: int = 0


def shipped_trace(name: str = OPENB) -> Path:
    """Return the path of a trace that comes with the package."""
    return Path(str(resources.files("autoscaler.simulation").joinpath("data", name)))


@lru_cache(maxsize=8)
def read_trace(path: Path, column: str) -> Trace:
    """Return the jobs of a trace.

    Parameters
    ----------
    path
        CSV with a header row, plain or gzip.
    column
        Which column says what a job asks for.

    Raises
    ------
    ConfigError
        When the file cannot be read, a column is missing or a value is not what the
        column says; the message names the line.
    """
    rows: list[TraceRow] = []
    skipped = 0
    for line, record in _records(path, column):
        if not (record[column] or "").strip() or record.get(COUNT) == "0":
            continue
        if not record[DURATION]:
            skipped += 1
            continue
        rows.append(_row(path, line, record, column))
    if not rows:
        raise ConfigError(f"{path}: no row has a duration and a value of {column}")
    return Trace(path.name, tuple(sorted(rows, key=lambda r: r.arrival_s)), skipped)


def profile_named(model: GpuModel, text: str) -> str:
    """Return the model's profile for a value of a trace.

    A share such as ``3g`` is that of a GPU of seven slices; a whole name is itself.

    Raises
    ------
    ConfigError
        When the model has no such standard profile.
    """
    share = text.removesuffix("g")
    if share.isdecimal() and share != text:
        return profile_of(model, int(share)).name
    profile = model.require([text])[0]
    if not profile.is_plain:
        raise ConfigError(f"{text} is a variant; studies know standard profiles only")
    return profile.name


def _records(path: Path, column: str) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        packed = path.read_bytes()
        text = (gzip.decompress(packed) if packed.startswith(GZIP_MAGIC) else packed).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    rows = csv.DictReader(text.splitlines())
    have = rows.fieldnames or []
    for name in (ARRIVAL, DURATION, column):
        if name not in have:
            raise ConfigError(
                f"{path}:1: column {name} is missing; there are {', '.join(have)}"
            )
    try:
        for record in rows:
            if None in record or None in record.values():
                raise ConfigError(f"{path}:{rows.line_num}: not {len(have)} values")
            yield rows.line_num, record
    except csv.Error as error:
        raise ConfigError(f"{path}:{rows.line_num}: {error}") from error


def _row(path: Path, line: int, record: dict[str, str], column: str) -> TraceRow:
    def number(name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value) or value < 0:
            raise ConfigError(f"{path}:{line}: {name} is {text!r}, not a number from 0 on")
        return value

    count = number(COUNT, record.get(COUNT) or "1")
    if count != int(count):
        raise ConfigError(f"{path}:{line}: {COUNT} is {record[COUNT]!r}, not a whole number")
    return TraceRow(
        arrival_s=number(ARRIVAL, record[ARRIVAL]),
        run_s=number(DURATION, record[DURATION]),
        profile=record[column].strip(),
        count=int(count),
    )
