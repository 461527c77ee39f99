"""Training jobs of ten internal clusters of Microsoft, which ask for whole GPUs.

They say nothing of parts of a GPU. A finer mix is drawn from the sizes of the other trace
that is shipped, independently of how long a job runs, and so is semi-synthetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from autoscaler.adapters.csv_file import read_csv
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.simulation.study.sources.source import hash_of, hash_of_file
from autoscaler.simulation.study.trace_file import (
    ARRIVAL,
    DURATION,
    Trace,
    TraceRow,
    count_of,
    in_order,
    read_trace,
    shipped_trace,
    span_of,
)

FILE = "msitp_jobs.csv.gz"
CLUSTER = "cluster"
WHOLE = "whole"
# Which sizes each mixed column draws from.
DRAWN = {"mixed_share": "mig_share", "mixed_v100eq": "mig_v100eq"}
COLUMNS = (WHOLE, *DRAWN)


@dataclass(frozen=True, slots=True)
class ItpTrace:
    """The jobs of all clusters, or of one.

    Parameters
    ----------
    column
        ``whole`` as the trace has it; a mixed one draws the sizes of jobs of one GPU.
    cluster
        Number of a cluster; empty for all.
    """

    column: str = WHOLE
    cluster: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.column not in COLUMNS:
            raise ConfigError(
                f"msitp has no column {self.column}; columns: {', '.join(COLUMNS)}"
            )

    @property
    def name(self) -> str:
        """Name of the trace, with the cluster."""
        return f"msitp:{self.cluster}" if self.cluster else "msitp"

    def seeded(self, seed: int) -> "ItpTrace":
        """Return the trace with sizes drawn by a seed."""
        return self if self.column == WHOLE else replace(self, seed=seed)

    def read(self, model: GpuModel) -> Trace:
        """Return its jobs."""
        return _read(self)

    def fingerprint(self) -> str:
        """Return a hash of the file and what is taken of it."""
        return hash_of(hash_of_file(shipped_trace(FILE)), self.column, self.cluster, self.seed)


@lru_cache(maxsize=4)
def _read(source: ItpTrace) -> Trace:
    rows = in_order(_rows(source.cluster))
    if not rows:
        raise ConfigError(f"msitp has no cluster {source.cluster}; there are 1 to 10")
    if source.column == WHOLE:
        return Trace(source.name, rows)
    sizes = [r.profile for r in _openb_rows(DRAWN[source.column]) if r.count == 1]
    random = np.random.default_rng(source.seed)
    drawn = random.integers(len(sizes), size=len(rows)).tolist()
    mixed = tuple(
        replace(row, profile=sizes[place]) if row.count == 1 else row
        for row, place in zip(rows, drawn, strict=True)
    )
    notice = (
        f"{source.name}: the sizes of jobs of one GPU are drawn from {DRAWN[source.column]} of"
        " openb, so this is semi-synthetic"
    )
    return Trace(source.name, mixed, is_drawn=True, notices=(notice,))


def _openb_rows(column: str) -> tuple[TraceRow, ...]:
    return read_trace(shipped_trace(), column).rows


def _rows(cluster: str) -> Iterator[TraceRow]:
    file = read_csv(shipped_trace(FILE))
    for line, record in file.rows():
        if not cluster or record[CLUSTER] == cluster:
            arrival_s, run_s = (span_of(file, line, record, c) for c in (ARRIVAL, DURATION))
            yield TraceRow(arrival_s, run_s, "7g", count_of(file, line, record), line=line)
