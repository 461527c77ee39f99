"""Job logs: a CSV of past jobs becomes single requests by profile.

Columns: ``arrival_s``; how long it held its instances, as ``duration_s`` or ``end_s`` with
``start_s`` (``scheduled_s`` is taken for it); the profile, in ``profile`` or ``mig`` or a
column that is named; and how many instances, in ``mig_count`` (1 without it).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.adapters.csv_file import CsvFile, Row, read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.domain.mig.resource import resource_name
from autoscaler.planning.past.demand_history import Key
from autoscaler.planning.past.queue_model import Job

ARRIVAL, DURATION, END, COUNT = "arrival_s", "duration_s", "end_s", "mig_count"
STARTS = ("start_s", "scheduled_s")
PROFILES = ("profile", "mig")
MOST_INSTANCES = 100_000
SLICES = re.compile(r"(\d+)g")


@dataclass(frozen=True, slots=True)
class JobLog:
    """The requests of a log.

    Parameters
    ----------
    jobs
        By pool and resource, in order of arrival.
    first_s, last_s
        The first and the last arrival, in the log's own time.
    notices
        What was left out.
    """

    jobs: Mapping[Key, tuple[Job, ...]]
    first_s: float
    last_s: float
    notices: tuple[str, ...] = ()


def read_job_log(
    path: str, model: GpuModel, pool: str, column: str | None = None, max_s: float = math.inf
) -> JobLog:
    """Return the requests of a CSV file, packed or not.

    Parameters
    ----------
    path
        The file.
    model
        GPU model that the profiles are of; a name like ``3g`` means its smallest profile
        with so many compute slices.
    pool
        Pool to put them into.
    column
        Column of the profile, where it is neither ``profile`` nor ``mig``.
    max_s
        Jobs that ran longer are left out: services are no jobs.

    Raises
    ------
    ConfigError
        When the file or a line of it is wrong; it names the line.
    """
    file = read_csv(path)
    reader = _Reader(file, model, column)
    requests: dict[str, list[Job]] = {}
    left_out = {"never started": 0, "ran longer than the limit": 0, "ask for no instance": 0}
    arrivals: list[float] = []
    for line, row in file.rows():
        number = reader.number(line, row)
        service_s = reader.service_s(line, row)
        if not number:
            left_out["ask for no instance"] += 1
        elif service_s is None:
            left_out["never started"] += 1
        elif service_s > max_s:
            left_out["ran longer than the limit"] += 1
        else:
            job = Job(reader.arrival_s(line, row), service_s)
            arrivals.append(job.arrival_s)
            requests.setdefault(reader.resource(line, row), []).extend([job] * number)
    if not arrivals:
        raise ConfigError(f"{path}: holds no job that could be used")
    notices = tuple(
        f"{path}: {n} jobs are left out: they {why}" for why, n in left_out.items() if n
    )
    jobs = {(pool, name): tuple(sorted(own)) for name, own in sorted(requests.items())}
    return JobLog(jobs, min(arrivals), max(arrivals), notices)


def profile_named(text: str, model: GpuModel) -> str | None:
    """Return the profile that a name means: itself, or the smallest of so many slices."""
    if model.profile(text) is not None:
        return text
    slices = SLICES.fullmatch(text)
    if slices is None:
        return None
    able = [p for p in model.profiles if p.is_plain and p.compute_slices == int(slices[1])]
    found = min(able, key=lambda p: p.memory_slices, default=None)
    return None if found is None else found.name


class _Reader:
    """Reads the fields of lines; ConfigError names the file, the line and the column."""

    def __init__(self, file: CsvFile, model: GpuModel, column: str | None) -> None:
        self._file = file
        self._model = model
        self._columns = file.columns
        self._start = next((name for name in STARTS if name in self._columns), None)
        wanted = (column,) if column is not None else PROFILES
        profile = next((name for name in wanted if name in self._columns), None)
        if profile is None:
            raise file.lacks(" or ".join(wanted))
        self._profile = profile
        if ARRIVAL not in self._columns:
            raise file.lacks(ARRIVAL)
        if DURATION not in self._columns and END not in self._columns:
            raise file.lacks(f"{DURATION} or {END}")
        file.require_spelling(COUNT)

    def arrival_s(self, line: int, row: Row) -> float:
        """Return when it was asked for."""
        found = self._file.number(line, row, ARRIVAL)
        if found is None:
            raise self._file.wrong(line, ARRIVAL, "", "is empty")
        return found

    def service_s(self, line: int, row: Row) -> float | None:
        """Return how long it held its instances, ``None`` when it never did."""
        if DURATION in self._columns:
            found = self._file.number(line, row, DURATION)
            if found is not None or END not in self._columns:
                return self._not_negative(line, DURATION, found)
        end_s = self._file.number(line, row, END)
        start_s = self.arrival_s(line, row)
        if self._start is not None:
            own = self._file.number(line, row, self._start)
            if own is None:
                return None
            start_s = own
        return None if end_s is None else self._not_negative(line, END, end_s - start_s)

    def _not_negative(self, line: int, column: str, seconds: float | None) -> float | None:
        if seconds is not None and seconds < 0:
            raise self._file.wrong(line, column, f"{seconds:g}", "it ends before it starts")
        return seconds

    def number(self, line: int, row: Row) -> int:
        """Return how many instances."""
        found = self._file.whole(line, row, COUNT)
        if found is None:
            return 1
        if not 0 <= found <= MOST_INSTANCES:
            raise self._file.wrong(line, COUNT, f"{found}", f"not from 0 to {MOST_INSTANCES}")
        return found

    def resource(self, line: int, row: Row) -> str:
        """Return the resource of its profile."""
        text = (row.get(self._profile) or "").strip()
        profile = profile_named(text, self._model)
        if profile is None:
            known = ", ".join(p.name for p in self._model.profiles)
            raise self._file.wrong(
                line, self._profile, text, f"no profile of {self._model.key}: {known}"
            )
        return resource_name(profile)
