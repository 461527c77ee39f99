"""What of a run is drawn over time: who waits, what is busy, what is idle in vain."""

from collections.abc import Iterator

from autoscaler.simulation.study.figures import usages
from autoscaler.simulation.study.outcome import Outcome
from autoscaler.simulation.study.report.steps import Steps, steps_of
from autoscaler.simulation.study.splits import Case


def queue_curves(outcome: Outcome, case: Case) -> dict[str, Steps]:
    """Return how many jobs wait for each profile; one that was evicted waits again."""
    names = sorted({times.job.profile for times in outcome.jobs})
    moves: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for times in outcome.jobs:
        own = moves[times.job.profile]
        own.append((times.job.arrival_s, 1.0))
        if times.start_s is not None:
            own.append((times.start_s, -1.0))
    return {name: steps_of(own, case.present.span_s) for name, own in moves.items()}


def busy_curve(outcome: Outcome, case: Case) -> Steps:
    """Return the share of the fleet's slices that jobs hold."""
    return _share(outcome, case, is_lost=False)


def lost_curve(outcome: Outcome, case: Case) -> Steps:
    """Return the share that is idle though it would be enough for a job that waits."""
    return _share(outcome, case, is_lost=True)


def _share(outcome: Outcome, case: Case, *, is_lost: bool) -> Steps:
    total = case.gpus * case.model.compute_slices

    def moves() -> Iterator[tuple[float, float]]:
        before = 0
        for usage in usages(outcome, case):
            value = usage.lost if is_lost else usage.busy
            yield usage.start_s, (value - before) / total
            before = value

    return steps_of(moves(), case.present.span_s)
