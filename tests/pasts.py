"""Histories of demand for tests: valid by default, on a grid of hours or as told."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autoscaler.planning.past.demand_history import DemandHistory, Grid, Service, Source
from autoscaler.planning.past.queue_model import Job
from tests.worlds import START_S

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
WEEK_S = 7 * DAY_S
# Midnight of a Monday, in UTC.
MONDAY_S = 1_699_833_600.0
POOL = "pool"
ONE, TWO, THREE, WHOLE = (
    f"nvidia.com/mig-{name}" for name in ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb")
)
assert START_S > MONDAY_S


def samples(values: Iterable[float | None]) -> Any:
    """Return samples; None is not known."""
    return np.array([np.nan if v is None else float(v) for v in values])


def history(
    wanted: Mapping[str, Sequence[float | None]],
    held: Mapping[str, Sequence[float | None]] | None = None,
    *,
    start_s: float = MONDAY_S,
    step_s: float = HOUR_S,
    services: Mapping[str, Service] | None = None,
    pool: str = POOL,
) -> DemandHistory:
    """Return the history of one pool by resource."""
    number = len(next(iter(wanted.values()))) if wanted else 0
    return DemandHistory(
        grid=Grid(start_s, step_s, number),
        wanted={(pool, name): samples(own) for name, own in wanted.items()},
        held={(pool, name): samples(own) for name, own in (held or {}).items()},
        services={(pool, name): own for name, own in (services or {}).items()},
        sources=(Source.OWN_METRICS,),
    )


def jobs(*times: tuple[float, float]) -> tuple[Job, ...]:
    """Return jobs of arrival and service time in hours after the start."""
    return tuple(Job(MONDAY_S + a * HOUR_S, s * HOUR_S) for a, s in times)


def daily(hours: Sequence[float], days: int) -> list[float]:
    """Return one value an hour, the same every day."""
    return [hours[h] for _ in range(days) for h in range(24)]
