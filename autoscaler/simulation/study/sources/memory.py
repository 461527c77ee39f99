"""Jobs that people know by the GPU memory they need, or by the profile they asked for.

A CSV with a row a job: when it came, how long it ran, how much memory of a GPU it takes. Each
asks for the smallest instance that holds it. A column of profiles does in place of memory.
Columns may carry their unit in the name (``memory_mib``) or not; then times are seconds or
written out (``2026-11-02T09:00:00Z``, ``1h30m``), and memory is in GiB.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil
from pathlib import Path

from autoscaler.adapters.csv_file import CsvFile, Row, read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel, Profile, load_models
from autoscaler.domain.policy.quantity import parse_duration
from autoscaler.simulation.study.sources.source import (
    JobSource,
    hash_of,
    hash_of_file,
    require_regular,
)
from autoscaler.simulation.study.trace_file import (
    LATEST_S,
    NO_DURATION,
    PROFILE_COLUMNS,
    Job,
    Trace,
    jobs_in,
    left_out,
    trace_by_profile,
    trace_of,
)

ARRIVALS, DURATIONS = ("arrival_s", "arrival"), ("duration_s", "duration")
GIB_MIB = 1024.0
# No GPU comes near it; more is a slip, or no number at all.
MOST_MIB = 1e9
UNITS_MIB: Mapping[str, float] = {
    "mib": 1.0,
    "gib": GIB_MIB,
    "mb": 1e6 / 2**20,
    "gb": 1e9 / 2**20,
    "bytes": 1 / 2**20,
}
MEMORIES: Mapping[str, float] = {
    f"{prefix}memory{suffix}": factor
    for prefix in ("", "gpu_")
    for suffix, factor in (("", GIB_MIB), *((f"_{u}", f) for u, f in UNITS_MIB.items()))
}
AMOUNT = re.compile(r"([0-9]*\.?[0-9]+) *(Ki|Mi|Gi|k|M|G|KiB|MiB|GiB|KB|MB|GB)")
PREFIX_BYTES = {"k": 1e3, "m": 1e6, "g": 1e9, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}
NAMED_GB = re.compile(r"\.(\d+)gb")


@dataclass(frozen=True, slots=True)
class MemoryJobs:
    """Jobs of a CSV file, each on the smallest instance that holds it."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def column(self) -> str:
        """What decides the profile."""
        return "memory"

    def seeded(self, seed: int) -> "MemoryJobs":
        """Return itself: nothing of it is drawn."""
        return self

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs as they come to GPUs of a model."""
        return _read(self.path, model)

    def fingerprint(self) -> str:
        """Return a hash of the file."""
        return hash_of(hash_of_file(self.path), self.column)


@dataclass(frozen=True, slots=True)
class ProfileJobs:
    """Jobs of a CSV file, each on the profile that it says.

    Parameters
    ----------
    column
        Column of profiles.
    """

    path: Path
    column: str

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def seeded(self, seed: int) -> "ProfileJobs":
        """Return itself: nothing of it is drawn."""
        return self

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs."""
        return _read_profiles(self.path, model, self.column)

    def fingerprint(self) -> str:
        """Return a hash of the file and the column."""
        return hash_of(hash_of_file(self.path), self.column)


def jobs_of(path: Path) -> JobSource:
    """Return the jobs of a CSV by memory, or by profile where it has no column of memory."""
    require_regular(path)
    file = read_csv(path)
    if any(name in file.columns for name in MEMORIES):
        return MemoryJobs(path)
    column = next((name for name in PROFILE_COLUMNS if name in file.columns), None)
    if column is None:
        raise file.lacks("memory (or memory_gib, memory_mib, …, or profile)")
    return ProfileJobs(path, column)


@lru_cache(maxsize=8)
def _read(path: Path, model: GpuModel) -> Trace:
    file = read_csv(path)
    reader = _reader_of(file, model, tuple(MEMORIES))

    def job(line: int, record: Row, needed_mib: float) -> Job:
        return *reader.times_s(line, record), reader.profile(line, record, needed_mib)

    found = jobs_in(file, reader.duration, reader.needed_mib, job)
    if not found.rows:
        raise ConfigError(f"{path}: holds no job that ran and needs GPU memory")
    notices = (
        *left_out(path, found.without_gpu, "need no GPU memory"),
        *left_out(path, found.unfinished, NO_DURATION),
    )
    return trace_of(path, found.rows, notices)


@lru_cache(maxsize=8)
def _read_profiles(path: Path, model: GpuModel, column: str) -> Trace:
    file = read_csv(path)
    reader = _reader_of(file, model, (column,))
    return trace_by_profile(file, column, reader.duration, reader.times_s)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads fields of rows; columns by what they mean."""

    file: CsvFile
    model: GpuModel
    arrival: str
    duration: str
    memory: str

    def needed_mib(self, line: int, record: Row) -> float:
        """Return the memory of a row; 0 is for jobs without a GPU."""
        text = record[self.memory].strip()
        if not text:
            raise self.file.wrong(line, self.memory, "", "is empty; 0 is for none")
        amount = AMOUNT.fullmatch(text)
        if amount:
            unit = PREFIX_BYTES[amount[2].lower().rstrip("b")] / 2**20
            value: float | None = float(amount[1])
        else:
            unit, value = MEMORIES[self.memory], self.file.number(line, record, self.memory)
        if value is None or not 0 <= value * unit <= MOST_MIB:
            problem = f"not an amount from 0 to {MOST_MIB:,.0f} MiB"
            raise self.file.wrong(line, self.memory, text, problem)
        return value * unit

    def times_s(self, line: int, record: Row) -> tuple[float, float]:
        """Return when the job of a row arrived, and how long it ran."""
        arrival_s = self._time_s(line, record, self.arrival, _moment)
        return arrival_s, self._time_s(line, record, self.duration, parse_duration)

    def _time_s(
        self, line: int, record: Row, column: str, read: Callable[[str], float]
    ) -> float:
        """Return a time of a row, given in seconds or as text that ``read`` knows."""
        text = record[column].strip()
        try:
            value = float(text)
        except ValueError:
            try:
                value = read(text)
            except ValueError as error:
                problem = "neither seconds nor a time"
                raise self.file.wrong(line, column, text, problem) from error
        if not 0 <= value <= LATEST_S:
            raise self.file.wrong(line, column, text, "not a number of seconds from 0 on")
        return value

    def profile(self, line: int, record: Row, needed_mib: float) -> str:
        """Return the profile of the smallest instance that holds a row's job."""
        found = smallest_holding(self.model, needed_mib)
        if found is None:
            most, text = usable_mib(self.model.whole_gpu), record[self.memory]
            problem = f"{ceil(needed_mib)} MiB: a {self.model.key} holds {most} MiB"
            raise self.file.wrong(line, self.memory, text, problem)
        return found.name


def _reader_of(file: CsvFile, model: GpuModel, needs: tuple[str, ...]) -> _Reader:
    """Return what reads rows; ``needs`` are the columns that may say what a job needs."""
    found = (_column(file, names) for names in (ARRIVALS, DURATIONS, needs))
    return _Reader(file, model, *found)


def smallest_holding(model: GpuModel, needed_mib: float) -> Profile | None:
    """Return the smallest standard profile whose memory holds so much; ``None`` for none."""
    able = [p for p in model.profiles if p.is_plain and usable_mib(p) >= needed_mib]
    return min(able, key=lambda p: (p.compute_slices, p.memory_slices), default=None)


def usable_mib(profile: Profile) -> int:
    """Return the memory that a workload can use on an instance.

    Where nobody has published it, the least share of what the name says that any known
    profile leaves, so that no job is put where it may not fit.
    """
    if profile.memory_mib is not None:
        return profile.memory_mib
    return int(_named_mib(profile) * _least_share())


@lru_cache(maxsize=1)
def _least_share() -> float:
    known = [p for model in load_models() for p in model.profiles if p.memory_mib is not None]
    return min((p.memory_mib or 0) / _named_mib(p) for p in known)


def _named_mib(profile: Profile) -> float:
    found = NAMED_GB.search(profile.name)
    if found is None:
        raise ConfigError(f"the name of {profile.name} says nothing of its memory")
    return int(found[1]) * GIB_MIB


def _column(file: CsvFile, names: tuple[str, ...]) -> str:
    found = [name for name in names if name in file.columns]
    if not found:
        raise file.lacks(" or ".join(names[:2]))
    if len(found) > 1:
        raise ConfigError(f"{file.path}:1: {found[0]} and {found[1]} say the same: keep one")
    return found[0]


def _moment(text: str) -> float:
    """Return the epoch seconds of a date and time, of UTC where it names no zone."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
