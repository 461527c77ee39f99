"""The jobs of the MISO study, with the speeds that were measured on parts of an A100.

A job runs longer on a smaller instance. The study has 100 jobs and no times at which they
came; its simulator draws gaps between them, and so do we: batches of all jobs in a drawn
order, one batch after another, so that there are days to learn from and days to be judged
on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from autoscaler.adapters.csv_file import CsvFile, Row, read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.sources.source import hash_of, hash_of_file
from autoscaler.simulation.study.trace_file import Trace, TraceRow, shipped_trace

JOBS, SPEEDS = "miso_jobs.csv", "miso_speeds.csv"
SHARES = ("1g", "2g", "3g", "4g", "7g")
# Mean gap in whole seconds, drawn by Poisson as the study's simulator does; the first third
# of its jobs comes twice as densely.
GAP_S, DENSE_GAP_S, DENSE_PART = 60, 30, 3
# Slowest share of the full speed that a job's owner would accept, by column: the smallest
# instance that holds it at all, one with at least half of the speed, or nothing but all.
COLUMNS: Mapping[str, float] = {"fit": 0.0, "half": 0.5, "whole": 1.0}


@dataclass(frozen=True, slots=True)
class MeasuredJobs:
    """Batches of measured jobs.

    Parameters
    ----------
    column
        Which instance each job asks for.
    days
        How long batches come.
    """

    column: str = "fit"
    days: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if self.column not in COLUMNS:
            raise ConfigError(
                f"miso has no column {self.column}; columns: {', '.join(COLUMNS)}"
            )

    @property
    def name(self) -> str:
        """Name of the trace."""
        return "miso"

    def seeded(self, seed: int) -> "MeasuredJobs":
        """Return batches and gaps drawn by a seed."""
        return replace(self, seed=seed)

    def read(self, model: GpuModel) -> Trace:
        """Return the jobs."""
        return _read(self)

    def fingerprint(self) -> str:
        """Return a hash of the files and what is drawn from them."""
        files = [hash_of_file(shipped_trace(name)) for name in (JOBS, SPEEDS)]
        return hash_of(files, self.column, self.days, self.seed)


@lru_cache(maxsize=8)
def _read(source: MeasuredJobs) -> Trace:
    jobs = measured_jobs(COLUMNS[source.column])
    random = np.random.default_rng(source.seed)
    rows: list[TraceRow] = []
    now_s = 0.0
    while now_s < source.days * DAY_S:
        order = random.permutation(len(jobs)).tolist()
        for place, number in enumerate(order):
            is_dense = place < len(jobs) // DENSE_PART
            now_s += float(random.poisson(DENSE_GAP_S if is_dense else GAP_S))
            rows.append(replace(jobs[number], arrival_s=now_s))
    kept = tuple(row for row in rows if row.arrival_s < source.days * DAY_S)
    notice = (
        "miso: arrivals are drawn as the study's own simulator does; run times are measured"
    )
    return Trace(source.name, kept, is_drawn=True, notices=(notice,), days=source.days)


def measured_jobs(slowest: float) -> tuple[TraceRow, ...]:
    """Return each job of the study once, asking for the smallest instance that will do.

    Parameters
    ----------
    slowest
        Least share of the whole GPU's speed.
    """
    speeds = _speeds()
    file = read_csv(shipped_trace(JOBS))
    rows = []
    for line, record in file.rows():
        own = speeds[_kind(record)]
        whole_s = _number(file, line, record, "whole_gpu_s")
        run_on_s = tuple((share, whole_s / own[share]) for share in SHARES if share in own)
        able: Sequence[tuple[str, float]] = [
            (share, run_s) for share, run_s in run_on_s if own[share] >= slowest
        ]
        share, run_s = able[0] if slowest < 1 else run_on_s[-1]
        rows.append(TraceRow(0.0, run_s, share, 1, run_on_s, line))
    return tuple(rows)


def _speeds() -> dict[tuple[str, str], dict[str, float]]:
    """Return the measured speeds of each kind of job by share; none where it does not fit."""
    file = read_csv(shipped_trace(SPEEDS))
    found: dict[tuple[str, str], dict[str, float]] = {}
    for line, record in file.rows():
        speed = _number(file, line, record, "speed")
        found.setdefault(_kind(record), {})[record["profile"]] = speed
    return found


def _kind(record: Row) -> tuple[str, str]:
    return record["model"], record["batch"]


def _number(file: CsvFile, line: int, record: Row, column: str) -> float:
    found = file.number(line, record, column)
    if not found:
        raise file.wrong(line, column, record[column], "not a number above 0")
    return found
