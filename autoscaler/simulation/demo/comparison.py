"""The same hours twice, with and without the autoscaler, in figures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from autoscaler.simulation.demo.run_record import ChangeRecord, RunRecord
from autoscaler.simulation.figures import PodTimes

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both runs, rounded as it is shown."""

    figure: str
    unit: str
    alone: float
    autoscaled: float

    @property
    def digits(self) -> int:
        """Digits after the point: numbers of things have none."""
        return 1 if self.unit else 0


def compare(
    alone: RunRecord, autoscaled: RunRecord, changes: Sequence[ChangeRecord]
) -> tuple[Row, ...]:
    """Return the figures of a run without and one with the autoscaler.

    A pod that had not started by the end has waited until then.
    """

    def row(figure: str, unit: str, of: Callable[[RunRecord], float]) -> Row:
        return Row(figure, unit, round(of(alone), 1), round(of(autoscaled), 1))

    done = [change for change in changes if change.is_done]
    rows = [
        row("waiting time, mean", "s", lambda run: mean(waits_of(run))),
        row("waiting time, 95th percentile", "s", lambda run: percentile(waits_of(run), 95)),
    ]
    for profile in profiles_of(alone):
        name = f"waiting time for {profile}, mean"
        rows.append(row(name, "s", partial(_mean_wait, profile=profile)))
    rows += [
        row("served", "slice-hours", lambda run: run.served / HOUR_S),
        row("jobs started", "", lambda run: sum(p.started_s is not None for p in run.pods)),
        row("jobs finished", "", lambda run: sum(p.outcome == "Succeeded" for p in run.pods)),
        Row("changes of nodes", "", 0, len(done)),
        Row("GPUs cut anew", "", 0, sum(len(change.journal.gpus) for change in done)),
        Row("changes given up or undone", "", 0, len(changes) - len(done)),
    ]
    return tuple(rows)


def _mean_wait(run: RunRecord, profile: str) -> float:
    return mean(waits_of(run, profile))


def profiles_of(run: RunRecord) -> tuple[str, ...]:
    """Return the profiles that pods asked for, in order of name."""
    return tuple(sorted({profile_of(pod) for pod in run.pods}))


def profile_of(pod: PodTimes) -> str:
    """Return the profile a pod asks for, without NVIDIA's prefix."""
    return short_name(next(iter(pod.requests)))


def short_name(resource: str) -> str:
    """Return a resource name without NVIDIA's prefix."""
    return resource.removeprefix("nvidia.com/").removeprefix("mig-")


def waits_of(run: RunRecord, profile: str | None = None) -> list[float]:
    """Return the waiting times of all pods, or of those that ask for a profile."""
    return [run.wait_s(p) for p in run.pods if profile is None or profile_of(p) == profile]


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the smallest value that so many percent do not exceed, 0 of nothing."""
    found = sorted(values)
    return found[ceil(percent / 100 * len(found)) - 1] if found else 0.0
