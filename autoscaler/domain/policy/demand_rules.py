"""What of a policy says which demand counts: that which waits, and that which will come."""

from typing import Annotated

from pydantic import Field

from autoscaler.domain.policy.quantity import Duration, TimeZone, duration
from autoscaler.domain.policy.schedule import ScheduledPeak
from autoscaler.domain.policy.section import Section


class PendingRules(Section):
    """Which pending pods count."""

    min_age_s: Duration = duration("0s")
    """Age from which a pending pod counts as demand. Default: 0s, because a proposal must
    persist anyway before anything starts."""


class PeakRules(Section):
    """How demand that people announce is counted."""

    lead_s: Duration = duration("30m", positive=True)
    """How long before its start a peak counts. Where changes start in windows only, one
    that starts before the next window counts in the last window before it. Default: 30m,
    time for about six nodes one after another at the usual five minutes each."""

    weight: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    """Worth of an instance for a peak, as a share of the worth of one that a pod waits
    for. Default: 1, because an announcement is a request with a date. With less, GPUs that
    many already wait for are not made ready, and there a peak hurts most: see the
    announced peaks in docs/decision-quality.md."""

    annotations: bool = True
    """Whether the annotation mig-autoscaler.io/peak of Namespaces, Jobs and CronJobs
    counts, and the schedules of CronJobs that ask for GPUs. Default: true, because nothing
    counts that people have not written; turn it off where not everyone who may write
    Jobs may also bid for GPUs."""


class ForecastRules(Section):
    """Demand expected from history."""

    history_s: Duration = duration("14d", positive=True)
    """How far back to look. Default: 14d, two of each weekday."""

    horizon_s: Duration = duration("4h", positive=True)
    """How far ahead to look. Default: 4h, longer than re-cutting a fleet takes."""

    min_history_s: Duration = duration("7d", positive=True)
    """Time that must be known before anything is forecast. Default: 7d, one of each hour
    of the week."""

    half_life_s: Duration = duration("7d", positive=True)
    """Age at which a past hour counts half. Default: 7d; on the traces that were tried,
    3.5d to 28d gave errors within 1 % of each other."""

    prior_hours: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20.0
    """How many past hours of this hour of the week weigh as much as all other hours
    together. The more, the wider the forecast while history is short. Default: 20; on the
    traces that were tried, 5 gave errors 3 % larger and ranges too narrow, and 50 gave
    the same."""

    time_zone: TimeZone = "UTC"
    """IANA time zone of the hours of the week. Default: UTC; set the one that the people
    behind the demand live in, so that daylight saving does not shift their habits."""


class DemandRules(Section):
    """What counts as demand."""

    pending: PendingRules = PendingRules()
    """Which pending pods count."""

    scheduled: tuple[ScheduledPeak, ...] = ()
    """Demand known to come at times of the week. Default: none."""

    peaks: PeakRules = PeakRules()
    """How demand that people announce is counted."""

    forecast: ForecastRules | None = None
    """Expect demand from history. Default: off, because a forecast needs weeks of
    metrics first."""
