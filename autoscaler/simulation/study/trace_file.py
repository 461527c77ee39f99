"""Reads a trace: one row a job, with its arrival, its run time and what it asks for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

from autoscaler.adapters.csv_file import CsvFile, Row, read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel, load_models
from autoscaler.simulation.study.dates import zero_of
from autoscaler.simulation.study.jobs import profile_of

OPENB = "openb_pods.csv.gz"
ARRIVAL, DURATION, COUNT, PRIORITY = "arrival_s", "duration_s", "mig_count", "priority"
PROFILE_COLUMNS = ("profile", "mig_share", "mig_v100eq", "mig")
MOST_INSTANCES = 100_000
# Kubernetes keeps what is above for itself.
MOST_PRIORITY = 10**9
# Epoch seconds are fine too; what is later than the year 5138 is no time of a job.
LATEST_S = 1e11
# A share of more digits is none, and of thousands not even a number.
SHARE_DIGITS = 3
NO_DURATION = "have no duration"

Job = tuple[float, float, str]
"""Arrival and run time in seconds, and what it asks for."""
Need = TypeVar("Need", str, float)


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
    run_on_s
        How long it runs on instances of other profiles, where that is known.
    line
        Where it stands in its file, for messages; 0 for nowhere.
    priority
        Those of higher priority go first.
    """

    arrival_s: float
    run_s: float
    profile: str
    count: int
    run_on_s: tuple[tuple[str, float], ...] = ()
    line: int = field(default=0, compare=False)
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs that came one after another.

    Parameters
    ----------
    name
        Name of the file or of what made them, for reports.
    rows
        By arrival.
    is_drawn
        Whether another seed gives other jobs.
    notices
        What a reader of results must know about the jobs.
    days
        Whole days that it covers from day 0 on, where that is known.
    zero_s
        Epoch second of its zero; ``None`` where days count from one that nobody knows.
    """

    name: str
    rows: tuple[TraceRow, ...]
    is_drawn: bool = False
    notices: tuple[str, ...] = ()
    days: int | None = None
    zero_s: float | None = None


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
        Which column says what a job asks for; empty for the first there is of the usual.

    Raises
    ------
    ConfigError
        When the file cannot be read, a column is missing or a value is not what the
        column says; the message names the line.
    """
    file = read_csv(path)
    chosen = column or column_of(file)
    for name in (ARRIVAL, DURATION, chosen):
        if name not in file.columns:
            raise file.lacks(name)

    def times_s(line: int, record: Row) -> tuple[float, float]:
        arrival_s, run_s = (span_of(file, line, record, c) for c in (ARRIVAL, DURATION))
        return arrival_s, run_s

    return trace_by_profile(file, chosen, DURATION, times_s)


def trace_by_profile(
    file: CsvFile,
    column: str,
    duration: str,
    times_s: Callable[[int, Row], tuple[float, float]],
) -> Trace:
    """Return the trace of a file whose jobs name their profile.

    Pods without a GPU are no jobs of it, and nothing is said of them.

    Parameters
    ----------
    column, duration
        Columns of profiles and of durations.
    times_s
        Returns arrival and run time of a line in seconds.
    """
    path = Path(file.path)

    def job(line: int, record: Row, profile: str) -> Job:
        return *times_s(line, record), profile

    found = jobs_in(file, duration, lambda _, record: record[column].strip(), job)
    if not found.rows:
        raise ConfigError(f"{path}: no row has a duration and a value of {column}")
    return trace_of(path, found.rows, left_out(path, found.unfinished, NO_DURATION))


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """The jobs of a file, and how many of its rows are none.

    Parameters
    ----------
    without_gpu
        Rows that ask for no GPU.
    unfinished
        Rows that ask for one and have no duration.
    """

    rows: list[TraceRow]
    without_gpu: int
    unfinished: int


def jobs_in(
    file: CsvFile,
    duration: str,
    needs: Callable[[int, Row], Need],
    job: Callable[[int, Row, Need], Job],
) -> FoundJobs:
    """Return the jobs of a file with a row a job.

    Parameters
    ----------
    duration
        Column of durations; what is empty there never ran to its end.
    needs
        Returns what a line asks for, empty or 0 for no GPU.
    job
        Returns the job of a line that has both.
    """
    file.require_spelling(COUNT, PRIORITY)
    rows: list[TraceRow] = []
    without_gpu = unfinished = 0
    for line, record in file.rows():
        need, count = needs(line, record), count_of(file, line, record)
        if not need or not count:
            without_gpu += 1
        elif not record[duration].strip():
            unfinished += 1
        else:
            own = priority_of(file, line, record)
            rows.append(TraceRow(*job(line, record, need), count, line=line, priority=own))
    return FoundJobs(rows, without_gpu, unfinished)


def trace_of(path: Path, rows: Iterable[TraceRow], notices: tuple[str, ...]) -> Trace:
    """Return the trace of a file with at least one job; late times are dates."""
    ordered = in_order(rows)
    zero_s = zero_of(ordered[0].arrival_s)
    return Trace(path.name, ordered, notices=notices, zero_s=zero_s)


def left_out(path: Path, number: int, why: str) -> tuple[str, ...]:
    """Return what a reader must know of jobs that are no part of a trace, if there are any."""
    return (f"{path.name}: {number:,} jobs {why} and are left out",) if number else ()


def column_of(file: CsvFile) -> str:
    """Return the first column of the usual ones; ConfigError when there is none."""
    found = next((name for name in PROFILE_COLUMNS if name in file.columns), None)
    if found is None:
        raise file.lacks(", ".join(PROFILE_COLUMNS[:-1]) + f" or {PROFILE_COLUMNS[-1]}")
    return found


def count_of(file: CsvFile, line: int, record: Row) -> int:
    """Return how many instances a row asks for, 1 where it does not say."""
    found = file.whole(line, record, COUNT)
    if found is not None and not 0 <= found <= MOST_INSTANCES:
        raise file.wrong(line, COUNT, record[COUNT], f"not from 0 to {MOST_INSTANCES}")
    return 1 if found is None else found


def priority_of(file: CsvFile, line: int, record: Row) -> int:
    """Return the priority of a row, 0 where it does not say."""
    found = file.whole(line, record, PRIORITY)
    if found is not None and abs(found) > MOST_PRIORITY:
        problem = f"not from -{MOST_PRIORITY:,} to {MOST_PRIORITY:,}"
        raise file.wrong(line, PRIORITY, record[PRIORITY], problem)
    return found or 0


def span_of(file: CsvFile, line: int, record: Row, column: str) -> float:
    """Return a time of a row in seconds, from 0 on."""
    found = file.number(line, record, column)
    if found is None or not 0 <= found <= LATEST_S:
        raise file.wrong(line, column, record[column], "not a number of seconds from 0 on")
    return found


def in_order(rows: Iterable[TraceRow]) -> tuple[TraceRow, ...]:
    """Return rows by arrival, those of one moment in the order given."""
    return tuple(sorted(rows, key=lambda row: row.arrival_s))


def profile_named(model: GpuModel, text: str) -> str:
    """Return the model's profile for a value of a trace.

    A share such as ``3g`` is that of a GPU of seven slices; a name is itself, or where
    only other models have it, the smallest profile with its share of the compute slices.

    Raises
    ------
    ConfigError
        When the model has no such standard profile.
    """
    share = text.removesuffix("g")
    if share.isdecimal() and len(share) <= SHARE_DIGITS and share != text:
        return profile_of(model, int(share)).name
    if model.profile(text) is None and (others := _shares_elsewhere(text)):
        if len(others) > 1:
            told = " or ".join(f"{n} of {of}" for n, of in sorted(others))
            raise ConfigError(f"{text} is {told} slices on other GPUs than {model.key}: say 3g")
        return profile_of(model, *others.pop()).name
    profile = model.require([text])[0]
    if not profile.is_plain:
        raise ConfigError(f"{text} is a variant; studies know standard profiles only")
    return profile.name


def profiles_of(trace: Trace, model: GpuModel) -> dict[str, str]:
    """Return the model's profile for each text of a trace.

    Raises
    ------
    ConfigError
        When there is none for a text; the message names the first line that has it.
    """
    lines: dict[str, int] = {}
    for row in trace.rows:
        for text in (row.profile, *(other for other, _ in row.run_on_s)):
            lines.setdefault(text, row.line)
    names = {}
    for text, line in lines.items():
        try:
            names[text] = profile_named(model, text)
        except ConfigError as error:
            place = f"{trace.name}:{line}" if line else trace.name
            raise ConfigError(f"{place}: {error}") from error
    return names


def _shares_elsewhere(name: str) -> set[tuple[int, int]]:
    """Return what a standard profile's name is of the models that have it."""
    found = ((model, model.profile(name)) for model in load_models())
    return {
        (profile.compute_slices, model.compute_slices)
        for model, profile in found
        if profile is not None and profile.is_plain
    }
