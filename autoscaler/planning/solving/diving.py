"""Whole solutions of programs that are whole but for a few columns.

Where many hosts are alike for a request, a relaxed program may give half of it to each of
two. Taking the half away and solving again from there moves it to a host that has room for
all of it, at hardly any price in time or worth.
"""

from dataclasses import replace

import numpy as np

from autoscaler.planning.solving.answer import ABSOLUTE_GAP, Answer
from autoscaler.planning.solving.linear import TOLERANCE, FloatArray, LinearProgram
from autoscaler.planning.solving.solver import Solver

# Each step is one continuous program from a near-by start; most programs need three.
MAX_STEPS = 12
# Branch-and-bound nodes where that does not end in a whole solution.
MAX_NODES = 1000
# Programs of more columns than this are settled to a relative distance, with fewer nodes,
# because no clock ends this search; smaller ones to the end.
EXACT_COLUMNS, RELATIVE_GAP, MAX_NODES_LARGE = 4000, 1e-6, 50


def whole_answer(program: LinearProgram, solver: Solver) -> Answer:
    """Return the best whole solution of a program whose relaxation is almost whole.

    Parameters
    ----------
    program
        Mixed-integer; with no branching at all where its relaxation is whole.
    solver
        The backend.

    Returns
    -------
    Answer
        Its seconds are those of all solves.
    """
    relaxed = solver(program.relaxed(), 0.0, 0)
    if relaxed.x is None or program.is_whole(relaxed.x):
        return relaxed
    allowed, nodes = ABSOLUTE_GAP, MAX_NODES
    if program.num_columns > EXACT_COLUMNS:
        allowed = max(allowed, RELATIVE_GAP * abs(relaxed.objective))
        nodes = MAX_NODES_LARGE
    dived = _dive(program, relaxed, relaxed.objective - allowed, solver)
    if dived.x is not None:
        return dived
    answer = solver(program, allowed / max(1.0, abs(relaxed.objective)), nodes)
    seconds = answer.seconds + dived.seconds
    if answer.x is None:
        # The whole part of each breaks no limit; only a gang may then lack its start.
        places = np.flatnonzero(program.is_integer)
        floors = np.floor(relaxed.x[places] + TOLERANCE)
        answer = solver(program.with_fixed(places, floors).relaxed(), 0.0, 0)
        seconds += answer.seconds
    return replace(answer, seconds=seconds)


def _dive(program: LinearProgram, relaxed: Answer, least: float, solver: Solver) -> Answer:
    """Return a whole solution worth at least so much, or an answer without one."""
    answer, seconds = relaxed, relaxed.seconds
    for _ in range(MAX_STEPS):
        if answer.x is None or answer.objective < least:
            break
        if program.is_whole(answer.x):
            return replace(answer, seconds=seconds)
        program = _nearer(program, answer.x)
        answer = solver(replace(program.relaxed(), start=answer.basis), 0.0, 0)
        seconds += answer.seconds
    return Answer(answer.status, seconds=seconds)


def _nearer(program: LinearProgram, x: FloatArray) -> LinearProgram:
    """Take the parts away, but fill up the largest of them."""
    parts = np.where(program.is_integer, x - np.floor(x + TOLERANCE), 0.0)
    places = np.flatnonzero(parts > TOLERANCE)
    largest = places[[np.argmax(parts[places])]]
    program = program.with_at_most(places, np.floor(x[places]))
    return program.with_fixed(largest, np.ceil(x[largest]))
