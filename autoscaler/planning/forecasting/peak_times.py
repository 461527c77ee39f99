"""Times of peaks: which occurrence is under way or comes next, and whose pods are its."""

from dataclasses import dataclass
from math import inf

from autoscaler.domain.cluster.announcement import JOB
from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.counts import Counts
from autoscaler.domain.policy.cron import runs_after
from autoscaler.domain.policy.schedule import DailySpan
from autoscaler.domain.policy.window import closes_at_s, next_open_s

DAY_S = 86400.0
# How long after its start a run of a CronJob is waited for: its controller looks every
# ten seconds and may be late, and from then on its pods speak for themselves.
RUN_GRACE_S = 300.0


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose pods a peak stands for; empty parts are anyone's.

    Parameters
    ----------
    job
        Name of the Job that owns them.
    cron_job
        Name of the CronJob whose Jobs own them.
    """

    namespace: str = ""
    job: str = ""
    cron_job: str = ""

    def has(self, pod: Pod) -> bool:
        """Say whether a pod is one of them."""
        if self.namespace and pod.namespace != self.namespace:
            return False
        if not (self.job or self.cron_job):
            return True
        if pod.owner is None or pod.owner.kind != JOB:
            return False
        if self.job:
            return pod.owner.name == self.job
        # A CronJob names its Jobs after itself and the minute.
        stem, _, minute = pod.owner.name.rpartition("-")
        return stem == self.cron_job and minute.isdigit()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a peak, epoch seconds.

    Parameters
    ----------
    since_s
        Pods created since then are part of it.
    """

    start_s: float
    end_s: float
    since_s: float


@dataclass(frozen=True, slots=True)
class Peak:
    """Demand that is announced; one of the times is set.

    Parameters
    ----------
    source
        Who says so, for people.
    requests
        Instances by resource name.
    whose
        Whose pods it stands for.
    span
        Times of the week.
    once
        Start and end, epoch seconds.
    schedule
        Schedule and zone of a CronJob.
    run_s
        How long each run of a CronJob asks for its instances; 0 until its pods are there.
    """

    source: str
    requests: Counts
    whose: Whose = Whose()
    span: DailySpan | None = None
    once: tuple[float, float] | None = None
    schedule: tuple[str, str] | None = None
    run_s: float = 0.0

    @property
    def is_passing(self) -> bool:
        """Whether pods that have finished have had their share of it."""
        return self.schedule is not None and not self.run_s

    def occurrence(self, now_s: float, lead_s: float) -> Occurrence | None:
        """Return the time that is under way or comes next, ``None`` when none does.

        Raises
        ------
        ConfigError
            When its schedule cannot be read.
        """
        if self.schedule is not None:
            keep_s = self.run_s or RUN_GRACE_S
            run_s = next(runs_after(*self.schedule, now_s - keep_s), None)
            if run_s is None:
                return None
            # What an earlier run started is not this one's.
            return Occurrence(run_s, run_s + keep_s, run_s)
        times = self.once
        if self.span is not None:
            times = _this_or_next(self.span, now_s)
        if times is None or times[1] <= now_s:
            return None
        return Occurrence(times[0], times[1], times[0] - lead_s)


def _this_or_next(span: DailySpan, now_s: float) -> tuple[float, float] | None:
    """Return start and end of a span's time that is under way, or else comes next."""
    # None is longer than a day and the hour that a clock may be turned back.
    from_s = now_s - DAY_S - 3 * 3600.0
    for _ in range(4):
        opens_s = next_open_s((span,), from_s)
        if opens_s is None:
            return None
        closes_s = closes_at_s((span,), opens_s)
        if closes_s is None:
            return opens_s, inf
        if closes_s > now_s:
            return opens_s, closes_s
        from_s = closes_s
    return None
