"""Solves linear programs with the backend that loads.

A solve stops on the gap or on the number of nodes, never on a clock: a time limit
would give another plan on a slower machine, and HiGHS overruns its own limit many
times over.
"""

from collections.abc import Callable

from autoscaler.planning.solving.answer import Answer
from autoscaler.planning.solving.linear import LinearProgram

try:
    from autoscaler.planning.solving.highs import solve_with_highs as _backend
except ImportError:
    from autoscaler.planning.solving.scipy_highs import solve_with_scipy as _backend

Solver = Callable[[LinearProgram, float, int], Answer]
"""Solves a program to a relative gap within a number of nodes."""


def solve(program: LinearProgram, gap: float = 0.0, max_nodes: int = 2000) -> Answer:
    """Solve a program with whichever backend loads.

    Parameters
    ----------
    program
        Continuous or mixed-integer; without columns its answer is the offset.
    gap
        Relative gap at which to stop, at least 0; without meaning for continuous
        programs, which are solved to the end.
    max_nodes
        Branch-and-bound nodes after which to stop.

    Returns
    -------
    Answer
        Never raises: trouble of the solver is a status.
    """
    return _backend(program, gap, max_nodes)
