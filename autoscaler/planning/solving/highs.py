"""HiGHS through highspy."""

import highspy
import numpy as np

# The public class prints a banner to standard output, where a plan in JSON goes.
from highspy._core import _Highs

from autoscaler.planning.solving.answer import (
    ABSOLUTE_GAP,
    Answer,
    Status,
    answer_without_columns,
    judged,
)
from autoscaler.planning.solving.linear import LinearProgram


def quiet_highs() -> _Highs:
    """Return a solver that prints nothing, single-threaded and with a fixed seed.

    The number of threads belongs to the process: asking for another one later makes
    HiGHS return without a status. So every solver of the project comes from here.
    """
    highs = _Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("random_seed", 0)
    return highs


def solve_with_highs(program: LinearProgram, gap: float, max_nodes: int) -> Answer:
    """Solve a program with highspy; see ``solve``."""
    if not program.num_columns:
        return answer_without_columns(program)
    highs = quiet_highs()
    highs.setOptionValue("mip_rel_gap", gap)
    highs.setOptionValue("mip_abs_gap", ABSOLUTE_GAP)
    highs.setOptionValue("mip_max_nodes", max_nodes)
    highs.passModel(
        program.num_columns,
        program.num_rows,
        len(program.entries),
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMaximize),
        program.offset,
        program.value,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        program.starts[:-1].astype(np.int32),
        program.rows.astype(np.int32),
        program.entries,
        program.is_integer.astype(np.int32),
    )
    if not program.is_integer.any():
        # Programs come here without what is fixed or without use; looking for more of it
        # takes a quarter of the time and finds nothing.
        highs.setOptionValue("presolve", "off")
    if isinstance(program.start, highspy.HighsBasis):
        highs.setBasis(program.start)
    highs.run()
    return _read(highs, program)


def _read(highs: _Highs, program: LinearProgram) -> Answer:
    status, info = highs.getModelStatus(), highs.getInfo()
    seconds = float(highs.getRunTime())
    kinds = highspy.HighsModelStatus
    if status in {kinds.kInfeasible, kinds.kUnboundedOrInfeasible}:
        return Answer(Status.INFEASIBLE, seconds=seconds)
    # A status outside of these has come with an objective of 0 and no solution.
    if status not in {kinds.kOptimal, kinds.kSolutionLimit}:
        return Answer(Status.FAILURE, seconds=seconds)
    solution = highs.getSolution()
    if not solution.value_valid:
        return Answer(Status.FAILURE, seconds=seconds)
    x = np.array(solution.col_value, dtype=np.float64)
    objective = program.objective(x)
    is_mip = bool(program.is_integer.any())
    bound = float(info.mip_dual_bound) if is_mip else objective
    stopped = Status.NODE_LIMIT if status == kinds.kSolutionLimit else Status.OPTIMAL
    if is_mip:
        return judged(Answer(stopped, x, objective, bound, seconds))
    duals = np.array(solution.row_dual, dtype=np.float64)
    return judged(Answer(stopped, x, objective, bound, seconds, duals, highs.getBasis()))
