"""Capacity: the fewest empty GPUs that hold a demand, and what a number of them holds.

For the common shapes the answer is a formula, and the largest of its bounds says what
the demand is short of. For everything else an integer program over the maximal
multisets of the model gives it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf

import numpy as np

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import PlanningError
from autoscaler.domain.mig.layouts import maximal_multisets
from autoscaler.domain.mig.placement import LIMITS_BEFORE_ENGINES, limits_of, used_by
from autoscaler.domain.mig.profile import GpuModel, Profile
from autoscaler.planning.solving.linear import LinearProgram, ProgramBuilder
from autoscaler.planning.solving.solver import solve

COMPUTE, MEMORY, MID, FOUR, MEDIA, PACKING = (
    "compute",
    "memory",
    "mid",
    "4g",
    "media",
    "packing",
)

MAX_NODES = 100_000

# Compute slices, memory slices and starts of the standard profiles of a 7-slice GPU.
SEVEN_SLICES = {
    (1, 1, (0, 1, 2, 3, 4, 5, 6)),
    (2, 2, (0, 2, 4)),
    (3, 4, (0, 4)),
    (4, 4, (0,)),
    (7, 8, (0,)),
}
# The 1g with twice the memory.
DOUBLE_MEMORY = (1, 2, (0, 2, 4, 6))
# Share of a GPU's room for mid-size instances that one takes, by compute slices: three
# of 2g and 3g fit, one 4g leaves room for one of them, a 7g for none.
MID_SHARES = {
    2: Fraction(1, 3),
    3: Fraction(1, 3),
    4: Fraction(2, 3),
    7: Fraction(1),
}
# Only memory slice 0 lets a 4g or a 7g start.
FOUR_SHARES = {4: Fraction(1), 7: Fraction(1)}


@dataclass(frozen=True, slots=True)
class Capacity:
    """The fewest GPUs for a demand.

    Parameters
    ----------
    gpus
        How many are enough, and fewer are not.
    bounds
        GPUs needed at least on each count alone, rounded up: ``compute`` and ``memory``
        slices, room for ``mid``-size instances, ``4g`` (of 4g and 7g one a GPU),
        ``media`` (of +me one a GPU), engines by kind, and ``packing`` where instances
        waste more than all of these say.
    binding
        The largest of them before rounding; empty without demand.
    """

    gpus: int
    bounds: Counts
    binding: str


def fewest_gpus(model: GpuModel, demand: Counts) -> Capacity:
    """Return how many empty GPUs hold a demand, and which bound makes it so many.

    Parameters
    ----------
    model
        The GPU model.
    demand
        Instances by profile name.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    PlanningError
        When the solver fails.
    """
    shares = dict(_shares(model, model.require(demand), demand))
    bounds = {name: ceil(share) for name, share in shares.items()}
    binding = max(shares, key=lambda name: shares[name]) if demand else ""
    if has_closed_form(model, demand):
        gpus = max(bounds.values(), default=0)
    else:
        gpus = fewest_by_program(model, demand)
    if gpus > max(bounds.values(), default=0):
        bounds[PACKING], binding = gpus, PACKING
    return Capacity(gpus, Counts(bounds), binding)


def has_closed_form(model: GpuModel, demand: Counts) -> bool:
    """Say whether the largest bound, rounded up, is the answer for these profiles.

    True for the standard profiles of every known shape, and with them the 1g with
    twice the memory of a 7-slice GPU.
    """
    asked = model.require(demand)
    if _has_seven_slices(model):
        return all(p.is_plain or _is_double_memory(p) for p in asked)
    return all(p.is_plain for p in asked) and _halves_evenly(model, asked)


def fewest_by_program(model: GpuModel, demand: Counts) -> int:
    """Return the fewest GPUs as the optimum of an integer program.

    Minimize the number of GPUs over how many get each maximal multiset, so that every
    profile's instances add up to its demand at least.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    PlanningError
        When the solver fails.
    """
    patterns = maximal_multisets(model, demand)
    builder = ProgramBuilder()
    columns = [builder.column(-1.0, demand.total(), is_integer=True) for _ in patterns]
    for name, number in demand.items():
        row = builder.row(number, inf)
        for column, pattern in zip(columns, patterns, strict=True):
            builder.enter(row, column, pattern[name])
    return sum(_solve(builder.build()))


def what_fits(model: GpuModel, demand: Counts, gpus: int) -> Counts:
    """Return the part of a demand that so many empty GPUs can hold.

    The part with the most compute slices, and of those with the most instances.

    Parameters
    ----------
    model
        The GPU model.
    demand
        Instances by profile name.
    gpus
        Number of GPUs, at least 0.

    Raises
    ------
    ConfigError
        When the model has no such profile.
    PlanningError
        When the solver fails.
    ValueError
        When ``gpus`` is negative.
    """
    if gpus < 0:
        raise ValueError(f"number of GPUs is negative: {gpus}")
    asked = model.require(demand)
    if not demand or not gpus:
        return Counts()
    builder = ProgramBuilder()
    served = {p.name: builder.column(1.0, demand[p.name], is_integer=True) for p in asked}
    _limit_to_gpus(builder, served, maximal_multisets(model, demand), gpus)
    slices = {p.name: p.compute_slices for p in asked}
    most = _served(builder.build(), served, slices)
    # Of all that serve so many slices, the one with the most instances.
    reached = sum(slices[name] * number for name, number in most.items())
    row = builder.row(reached, inf)
    for name, column in served.items():
        builder.enter(row, column, slices[name])
    return _served(builder.build(), served, dict.fromkeys(slices, 1))


def _limit_to_gpus(
    builder: ProgramBuilder, served: Mapping[str, int], patterns: Sequence[Counts], gpus: int
) -> None:
    """Let no more be served than so many GPUs with some of the patterns supply."""
    columns = [builder.column(0.0, gpus, is_integer=True) for _ in patterns]
    total = builder.row(-inf, gpus)
    for column in columns:
        builder.enter(total, column, 1.0)
    for name, own in served.items():
        row = builder.row(0.0, inf)
        builder.enter(row, own, -1.0)
        for column, pattern in zip(columns, patterns, strict=True):
            builder.enter(row, column, pattern[name])


def _served(
    program: LinearProgram, served: Mapping[str, int], worth: Mapping[str, int]
) -> Counts:
    value = np.zeros(program.num_columns)
    for name, column in served.items():
        value[column] = worth[name]
    x = _solve(replace(program, value=value))
    return Counts({name: x[column] for name, column in served.items()})


def _shares(
    model: GpuModel, asked: Sequence[Profile], demand: Counts
) -> Iterator[tuple[str, Fraction]]:
    """Yield GPUs needed at least, by name of the bound, the plainest reason first."""
    used, limits = used_by(model, demand), limits_of(model)
    memory = sum(demand[p.name] * p.memory_slices for p in asked)
    yield COMPUTE, Fraction(used[0], limits[0])
    yield MEMORY, Fraction(memory, model.memory_slices)
    if _has_seven_slices(model):
        yield MID, _weigh(MID_SHARES, asked, demand)
        yield FOUR, _weigh(FOUR_SHARES, asked, demand)
    if has_closed_form(model, demand):
        return
    yield MEDIA, Fraction(used[1], limits[1])
    for offset, kind in enumerate(model.engine_totals or ()):
        index = LIMITS_BEFORE_ENGINES + offset
        yield kind, Fraction(used[index], limits[index])


def _weigh(
    shares: Mapping[int, Fraction], asked: Sequence[Profile], demand: Counts
) -> Fraction:
    weights = (shares.get(p.compute_slices, Fraction(0)) * demand[p.name] for p in asked)
    return sum(weights, Fraction(0))


def _has_seven_slices(model: GpuModel) -> bool:
    shapes = {
        (p.compute_slices, p.memory_slices, p.starts) for p in model.profiles if p.is_plain
    }
    return shapes == SEVEN_SLICES and (model.compute_slices, model.memory_slices) == (7, 8)


def _is_double_memory(profile: Profile) -> bool:
    shape = (profile.compute_slices, profile.memory_slices, profile.starts)
    return profile.more_memory and shape == DOUBLE_MEMORY


def _halves_evenly(model: GpuModel, asked: Sequence[Profile]) -> bool:
    """Say whether instances start at multiples of their size and sizes divide each other.

    Then sorted by size they fill GPUs without a gap, so only slices count.
    """
    sizes = sorted({p.memory_slices for p in asked} | {model.memory_slices})
    divide = all(large % small == 0 for small, large in pairwise(sizes))
    return divide and all(_is_aligned(model, p) for p in asked)


def _is_aligned(model: GpuModel, profile: Profile) -> bool:
    starts = tuple(range(0, model.memory_slices, profile.memory_slices))
    in_proportion = (
        profile.compute_slices * model.memory_slices
        == profile.memory_slices * model.compute_slices
    )
    return profile.starts == starts and profile.max_instances == len(starts) and in_proportion


def _solve(program: LinearProgram) -> tuple[int, ...]:
    answer = solve(program, max_nodes=MAX_NODES)
    # Values are whole numbers, so a bound less than one away proves the optimum.
    if answer.x is None or answer.bound - answer.objective >= 1.0:
        raise PlanningError(f"capacity program: the solver ended with {answer.status}")
    return tuple(round(float(value)) for value in answer.x)
