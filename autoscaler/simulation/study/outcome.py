"""What came of a run: the times of each job, and each change of a GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.domain.mig.geometry import Geometry
from autoscaler.simulation.study.jobs import StudyJob


@dataclass(frozen=True, slots=True)
class JobTimes:
    """The life of one job.

    Parameters
    ----------
    start_s, end_s
        Seconds from the start of the run; ``None`` when it never started or ended.
    profile
        Profile of the instance it ran on.
    place
        Where it ran: GPU or node, and instance as far as it is known.
    restarts
        How often it was evicted and had to begin anew.
    lost_s
        Run time that evictions made worthless.
    left_s
        When it left its place, ended or not; ``None`` where it did not, or with its end.
    """

    job: StudyJob
    start_s: float | None = None
    end_s: float | None = None
    profile: str = ""
    place: tuple[str, str] = ("", "")
    restarts: int = 0
    lost_s: float = 0.0
    left_s: float | None = None

    @property
    def until_s(self) -> float | None:
        """Seconds of the run until which it held its place; ``None`` for ever."""
        return self.left_s if self.end_s is None else self.end_s

    @property
    def completion_s(self) -> float | None:
        """Seconds from arrival to end."""
        return None if self.end_s is None else self.end_s - self.job.arrival_s

    @property
    def wait_s(self) -> float | None:
        """Seconds from arrival to the last start."""
        return None if self.start_s is None else self.start_s - self.job.arrival_s


@dataclass(frozen=True, slots=True)
class Cut:
    """One change of a GPU or node, and what it looks like from then on."""

    at_s: float
    where: str
    layout: str
    geometry: Geometry | None = None


@dataclass(frozen=True, slots=True)
class LoopWork:
    """What the loop did in a run.

    Parameters
    ----------
    cycles, plans
        How often it looked, and how many plans it made.
    errors, first_error
        How often it complained, and of what first.
    ends
        How many of the rollouts that it began ended how, by result.
    """

    cycles: int = 0
    plans: int = 0
    errors: int = 0
    first_error: str = ""
    ends: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of one policy on one case.

    Parameters
    ----------
    jobs
        By number.
    ended_s
        When the run was over.
    changes
        How many times a GPU got another layout. What it passes through on the way, and
        what was given up before, does not count.
    cuts
        Each change by time; the layout of the start comes first, at 0.
    evictions
        Jobs that had to give way.
    resizes
        Whether jobs move to other instances while they run, so that the profile of a job
        says nothing about the time before its end.
    plan_gap
        Largest gap of all plans, 0 where none were made.
    loop
        What the loop did; ``None`` where there is none.
    """

    policy: str
    jobs: tuple[JobTimes, ...]
    ended_s: float
    changes: int = 0
    cuts: tuple[Cut, ...] = ()
    evictions: int = 0
    resizes: bool = False
    plan_gap: float = 0.0
    loop: LoopWork | None = None
