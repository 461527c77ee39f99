"""Schedules of CronJobs: when the next runs are."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from autoscaler.domain.errors import ConfigError

# What Kubernetes understands beside the five fields.
NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def runs_after(schedule: str, time_zone: str, after_s: float) -> Iterator[float]:
    """Yield the times of the runs after a moment, in epoch seconds, for years to come.

    Parameters
    ----------
    schedule
        As a CronJob writes it; ``@every`` has no times that could be foreseen.
    time_zone
        IANA zone; empty for UTC, in which most control planes run.
    after_s
        Epoch seconds, itself excluded.

    Raises
    ------
    ConfigError
        When it is no schedule, or there is no such zone.
    """
    try:
        zone = ZoneInfo(time_zone or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"{time_zone!r} is not a time zone") from error
    text = NAMED.get(schedule.strip().lower(), schedule.strip()).replace("?", "*")
    if len(text.split()) != 5:
        raise ConfigError(f"the times of schedule {schedule!r} cannot be foreseen")
    try:
        runs = CronSim(text.upper(), datetime.fromtimestamp(after_s, UTC).astimezone(zone))
    except (CronSimError, ValueError, OverflowError) as error:
        raise ConfigError(f"schedule {schedule!r} is not understood: {error}") from error
    return (run.timestamp() for run in runs)
