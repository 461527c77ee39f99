"""The exact mix: the best static mix where each instance serves its own profile alone.

That is what pods get who ask by resource name on nodes that nobody re-cuts. Exact under
the queue model: an integer program chooses how many GPUs get each
multiset, and reads what each number of instances costs from the replayed queues.
"""

from collections.abc import Mapping, Sequence
from math import inf

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.profile import GpuModel
from autoscaler.planning.past.queue_model import Job, waits_by_servers
from autoscaler.planning.past.static_mix import StaticMix
from autoscaler.planning.solving.linear import ProgramBuilder
from autoscaler.planning.solving.solver import solve


def exact_mix(
    model: GpuModel, past: Mapping[str, Sequence[Job]], gpus: int, horizon_s: float
) -> StaticMix:
    """Return the static mix under which the past jobs would have waited least.

    Parameters
    ----------
    model
        The GPU model.
    past
        Past jobs by profile name.
    gpus
        Number of GPUs, at least 1.
    horizon_s
        End of the past that is looked at, in the time of the jobs.

    Raises
    ------
    ConfigError
        When the model has no profile of a name.
    PlanningError
        When the solver fails.
    """
    names = [profile.name for profile in model.require(past)]
    patterns = maximal_multisets(model, names) if names else ()
    if not patterns:
        whole = Counts({model.whole_gpu.name: 1})
        return StaticMix((whole,) * gpus, wait_s=0.0)
    builder = ProgramBuilder()
    chosen = [builder.column(0.0, gpus, is_integer=True) for _ in patterns]
    exactly = builder.row(gpus, gpus)
    for column in chosen:
        builder.enter(exactly, column, 1.0)
    for name in names:
        most = gpus * max(pattern[name] for pattern in patterns)
        waits = waits_by_servers(past[name], most, horizon_s)
        _choose_number(builder, chosen, [p[name] for p in patterns], waits)
    answer = solve(builder.build(), gap=1e-6, max_nodes=100_000)
    if answer.x is None:
        raise PlanningError(f"static mix: the solver ended with {answer.status}")
    numbers = [round(float(answer.x[column])) for column in chosen]
    ranked = sorted(zip(patterns, numbers, strict=True), key=lambda pair: _rank(model, pair[0]))
    layout = tuple(pattern for pattern, number in ranked for _ in range(number))
    return StaticMix(layout, wait_s=-answer.objective)


def _choose_number(
    builder: ProgramBuilder, chosen: Sequence[int], each: Sequence[int], waits: Sequence[float]
) -> None:
    """Add the choice of how many instances of one profile are used.

    One switch a number, because what one more instance saves need not fall with their
    number: a burst can make the third worth more than the second.
    """
    one = builder.row(1.0, 1.0)
    supply = builder.row(-inf, 0.0)
    for number, wait_s in enumerate(waits):
        switch = builder.column(-wait_s, 1.0, is_integer=True)
        builder.enter(one, switch, 1.0)
        builder.enter(supply, switch, number)
    for column, number in zip(chosen, each, strict=True):
        builder.enter(supply, column, -number)


def _rank(model: GpuModel, pattern: Counts) -> tuple[int, ...]:
    """Order multisets by their instances, larger profiles first."""
    return tuple(-pattern[profile.name] for profile in reversed(model.profiles))
