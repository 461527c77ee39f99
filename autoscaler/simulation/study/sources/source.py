"""What all sources of jobs have in common, and the plainest one: a trace file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autoscaler.adapters.csv_file import read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.trace_file import Trace, column_of, read_trace

HASH_DIGITS = 12


class JobSource(Protocol):
    """Where jobs come from; a value: equal ones give equal jobs.

    It is small, so that it can be handed to another process, which reads the jobs itself.
    """

    @property
    def name(self) -> str:
        """Name for reports and files."""
        ...

    @property
    def column(self) -> str:
        """What says which profile a job asks for."""
        ...

    def seeded(self, seed: int) -> "JobSource":
        """Return the source of the jobs that a seed draws; itself where nothing is drawn."""
        ...

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs as they come to GPUs of a model; ConfigError when they cannot."""
        ...

    def fingerprint(self) -> str:
        """Return a short hash of all that the jobs are made from."""
        ...


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace in a file.

    Parameters
    ----------
    path
        CSV, plain or gzip.
    column
        Column that says what a job asks for.
    """

    path: Path
    column: str

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def seeded(self, seed: int) -> "TraceFile":
        """Return itself: nothing of it is drawn."""
        return self

    def read(self, model: GpuModel) -> Trace:
        """Return its jobs."""
        return read_trace(self.path, self.column)

    def fingerprint(self) -> str:
        """Return a hash of the file and the column."""
        return hash_of(hash_of_file(self.path), self.column)


def hash_of(*parts: object) -> str:
    """Return a short hash of some values that have a text of their own."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:HASH_DIGITS]


def hash_of_file(path: Path) -> str:
    """Return a hash of what a file holds; ConfigError when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def require_regular(path: Path) -> None:
    """Refuse a pipe: jobs are read again by each process, and to tell what is kept."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigError(f"{path}: is no regular file; jobs are read more than once")


def trace_file(path: Path, column: str = "") -> TraceFile:
    """Return a trace in a file, by its first usual column where none is named."""
    require_regular(path)
    return TraceFile(path, column or column_of(read_csv(path)))
