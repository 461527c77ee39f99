"""Solves a program in a process of its own, which can be killed when it takes too long.

The solver overruns its own time limit many times over, and a library that is busy cannot
be interrupted. So branching runs in a child: what comes back in time is the same answer
as without it, and what does not come back is nobody's.

Arrays go both ways in NumPy's own format, without pickles.
"""

import io
import subprocess
import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoscaler.planning.solving.answer import Answer, Status
from autoscaler.planning.solving.linear import LinearProgram
from autoscaler.planning.solving.solver import Solver, solve

MODULE = "autoscaler.adapters.solver_process"
SCALARS = ("objective", "bound", "seconds")
FLOATS = ("value", "lower", "upper", "row_lower", "row_upper", "entries", "offset")


@dataclass(frozen=True, slots=True)
class SolverProcess:
    """Runs a solve in a child that is killed at the limit; usable as a planner's guard.

    Parameters
    ----------
    limit_s
        Wall-clock seconds, the start of the child included.
    module
        What the child runs.
    """

    limit_s: float
    module: str = MODULE

    def __call__(
        self, solver: Solver, program: LinearProgram, gap: float, max_nodes: int
    ) -> Answer | None:
        """Return the answer of the default solver, ``None`` when it took too long.

        A child that dies or babbles is a failure of the solver. Another solver than the
        default one cannot be handed to a child and runs here.
        """
        if solver is not solve:
            return solver(program, gap, max_nodes)
        command = [sys.executable, "-m", self.module]
        try:
            done = subprocess.run(
                command,
                input=question_to_bytes(program, gap, max_nodes),
                capture_output=True,
                timeout=self.limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        except OSError:
            return Answer(Status.FAILURE)
        if done.returncode:
            return Answer(Status.FAILURE)
        return answer_from_bytes(done.stdout)


def question_to_bytes(program: LinearProgram, gap: float, max_nodes: int) -> bytes:
    """Return a program and its limits as bytes."""
    names = [field.name for field in fields(program) if field.name != "start"]
    arrays = {name: np.asarray(getattr(program, name)) for name in names}
    return _to_bytes({**arrays, "gap": np.array(gap), "max_nodes": np.array(max_nodes)})


def question_from_bytes(data: bytes) -> tuple[LinearProgram, float, int]:
    """Return the program and its limits."""
    found = _from_bytes(data)
    floats = {name: found[name].astype(np.float64) for name in FLOATS}
    program = LinearProgram(
        value=floats["value"],
        lower=floats["lower"],
        upper=floats["upper"],
        is_integer=found["is_integer"].astype(np.bool_),
        row_lower=floats["row_lower"],
        row_upper=floats["row_upper"],
        starts=found["starts"].astype(np.int64),
        rows=found["rows"].astype(np.int64),
        entries=floats["entries"],
        offset=float(floats["offset"]),
    )
    return program, float(found["gap"]), int(found["max_nodes"])


def answer_to_bytes(answer: Answer) -> bytes:
    """Return an answer as bytes."""
    arrays = {name: np.array(getattr(answer, name)) for name in SCALARS}
    if answer.x is not None:
        arrays["x"] = answer.x
    return _to_bytes({**arrays, "status": np.array(answer.status.value)})


def answer_from_bytes(data: bytes) -> Answer:
    """Return the answer; what is none is a failure of the solver."""
    try:
        arrays = _from_bytes(data)
        objective, bound, seconds = (float(arrays[name]) for name in SCALARS)
        status = Status(str(arrays["status"]))
    except (ValueError, KeyError, OSError, EOFError):
        return Answer(Status.FAILURE)
    x = arrays["x"].astype(np.float64) if "x" in arrays else None
    return Answer(status, x, objective, bound, seconds)


def _to_bytes(arrays: dict[str, NDArray[Any]]) -> bytes:  # Any: as above
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def _from_bytes(data: bytes) -> dict[str, NDArray[Any]]:  # Any: whatever the file holds
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def main() -> int:
    """Read a question from standard input, solve it, write the answer."""
    program, gap, max_nodes = question_from_bytes(sys.stdin.buffer.read())
    sys.stdout.buffer.write(answer_to_bytes(solve(program, gap, max_nodes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
