"""HiGHS through SciPy, for platforms where highspy does not load.

SciPy bundles an older HiGHS: same programs, same optima, many times slower.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from autoscaler.planning.solving.answer import (
    Answer,
    Status,
    answer_without_columns,
    judged,
)
from autoscaler.planning.solving.linear import LinearProgram

# Values of the status that SciPy documents.
OPTIMAL, LIMIT_REACHED, INFEASIBLE = 0, 1, 2


def solve_with_scipy(program: LinearProgram, gap: float, max_nodes: int) -> Answer:
    """Solve a program with ``scipy.optimize.milp``; see ``solve``."""
    if not program.num_columns:
        return answer_without_columns(program)
    shape = (program.num_rows, program.num_columns)
    matrix = csc_array((program.entries, program.rows, program.starts), shape=shape)
    result = milp(
        -program.value,
        integrality=program.is_integer.astype(np.int64),
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
        options={"mip_rel_gap": gap, "node_limit": max_nodes},
    )
    status = int(result.status)
    if status == INFEASIBLE:
        return Answer(Status.INFEASIBLE)
    if result.x is None or status not in {OPTIMAL, LIMIT_REACHED}:
        return Answer(Status.FAILURE)
    x = np.array(result.x, dtype=np.float64)
    objective = program.objective(x)
    dual = getattr(result, "mip_dual_bound", None)
    bound = objective if dual is None else program.offset - float(dual)
    stopped = Status.NODE_LIMIT if status == LIMIT_REACHED else Status.OPTIMAL
    return judged(Answer(stopped, x, objective, bound))
