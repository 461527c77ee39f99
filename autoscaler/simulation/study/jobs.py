"""Jobs of a study: each asks for one GPU instance of one profile."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.planning.past.queue_model import Job

# Columns of traces count compute slices of GPUs with so many.
TRACE_SLICES = 7


@dataclass(frozen=True, slots=True, order=True)
class StudyJob:
    """One job.

    Parameters
    ----------
    arrival_s
        Seconds from the start of the run.
    number
        Its place among all jobs of the run, in order of arrival.
    run_s
        How long it runs on an instance of its own profile.
    profile
        Profile it asks for.
    priority
        Those of higher priority go first.
    in_peak
        Whether it arrives while a peak lasts.
    run_on_s
        How long it runs on instances of which profiles, where that differs.
    """

    arrival_s: float
    number: int
    run_s: float
    profile: str
    priority: int = 0
    in_peak: bool = False
    run_on_s: tuple[tuple[str, float], ...] = ()

    def run_time_s(self, profile: str) -> float:
        """Return how long it runs on an instance of a profile."""
        return next((run_s for name, run_s in self.run_on_s if name == profile), self.run_s)


def profile_of(model: GpuModel, slices: int, of: int = TRACE_SLICES) -> Profile:
    """Return the smallest standard profile with at least a share of the whole GPU.

    Parameters
    ----------
    slices, of
        The share: so many compute slices of a GPU that has ``of``.

    Raises
    ------
    ConfigError
        When the share is no share.
    """
    if not 1 <= slices <= of:
        raise ConfigError(f"{slices} of {of} compute slices are no share of a GPU")
    able = (
        profile
        for profile in model.profiles
        if profile.is_plain and profile.compute_slices * of >= slices * model.compute_slices
    )
    return min(able, key=lambda p: (p.compute_slices, p.memory_slices))


def work_of(jobs: Iterable[StudyJob], model: GpuModel) -> float:
    """Return the slice-seconds that jobs need on instances of their own profile."""
    slices = slices_of(model)
    return sum(job.run_s * slices[job.profile] for job in jobs)


def slices_of(model: GpuModel) -> dict[str, int]:
    """Return the compute slices of each profile."""
    return {profile.name: profile.compute_slices for profile in model.profiles}


def queued_by_profile(jobs: Iterable[StudyJob]) -> dict[str, list[Job]]:
    """Return jobs by profile, as the queue model wants them."""
    queued: dict[str, list[Job]] = {}
    for job in jobs:
        queued.setdefault(job.profile, []).append(Job(job.arrival_s, job.run_s))
    return queued
