"""Whole numbers from the relaxed program: an answer in hand before any branching.

Shares are rounded by largest remainder, closings first, because what a closed node may
change depends on them. What requests then go where is left to a second program.
"""

from dataclasses import replace

import numpy as np

from autoscaler.planning.program.formulation import Formulation
from autoscaler.planning.program.mix import ALL_GPUS
from autoscaler.planning.solving.linear import TOLERANCE, FloatArray
from autoscaler.planning.solving.solver import Solver


def round_relaxed(
    formulation: Formulation, relaxed: FloatArray, basis: object | None, solver: Solver
) -> FloatArray:
    """Return whole numbers for the decisions of a relaxed solution.

    Parameters
    ----------
    relaxed, basis
        A solution of the relaxed program, one entry a column, and its basis if known.
    solver
        Solves the relaxed program once more with the closings settled, where they
        were not whole.

    Returns
    -------
    FloatArray
        One entry a decision, in the order of ``Formulation.decisions``.
    """
    columns = np.array(sorted(formulation.closed.values()), dtype=np.int64)
    closings = largest_remainder(relaxed[columns], np.inf)
    if np.abs(closings - relaxed[columns]).max(initial=0.0) > TOLERANCE:
        program = formulation.program.with_fixed(columns, closings).relaxed()
        answer = solver(replace(program, start=basis), 0.0, 0)
        if answer.x is not None:
            relaxed = answer.x
    closed = dict(zip(columns.tolist(), closings.tolist(), strict=True))
    taken = _round_taken(formulation, relaxed, closed)
    return np.concatenate([taken, closings])


def largest_remainder(shares: FloatArray, most: float) -> FloatArray:
    """Return whole numbers whose sum is that of the shares, rounded, or ``most``.

    Ties go to the earlier entry.
    """
    whole = np.floor(shares + TOLERANCE)
    total = min(float(np.rint(shares.sum())), most)
    left = int(total - whole.sum())
    if left > 0:
        order = np.argsort(whole - shares, kind="stable")
        whole[order[:left]] += 1.0
    return whole


def _round_taken(
    formulation: Formulation, relaxed: FloatArray, closed: dict[int, float]
) -> FloatArray:
    taken = np.zeros(len(formulation.taken))
    groups: dict[tuple[int, int], list[int]] = {}
    # What nothing is taken of is rounded to nothing.
    for column in np.flatnonzero(relaxed[: len(taken)] > TOLERANCE).tolist():
        kind, gpu, _ = formulation.taken[column]
        groups.setdefault((kind, gpu), []).append(column)
    nodes_taken: dict[int, float] = {}
    # The options of whole nodes come first: what they take is gone for single GPUs.
    for (kind, gpu), columns in sorted(groups.items()):
        node_kind = formulation.mix.kinds[kind]
        closing = formulation.closed.get(kind)
        nodes = node_kind.number if closing is None else closed[closing]
        if gpu == ALL_GPUS:
            if node_kind.gpus:
                taken[columns] = np.floor(relaxed[columns] + TOLERANCE)
            else:
                taken[columns] = largest_remainder(relaxed[columns], nodes)
            nodes_taken[kind] = float(taken[columns].sum())
            continue
        most = (nodes - nodes_taken.get(kind, 0.0)) * node_kind.gpus[gpu].number
        taken[columns] = largest_remainder(relaxed[columns], most)
    return taken
