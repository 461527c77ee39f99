"""A flood of whole-GPU pods with small ones behind it, and the past that calls it one."""

from dataclasses import dataclass

from autoscaler.planning.past.demand_history import history_of_jobs
from autoscaler.planning.past.queue_model import Job
from tests.worlds import START_S, THREE, WHOLE, task

FULL = {"7g.40gb": 1}
# One whole GPU and two halves were always wanted, for so many seconds each time.
ALWAYS = {WHOLE: (1, 4800), THREE: (2, 600)}
POLICY = {
    "rollout": {"warmUp": "1s", "surplusDeadline": "1h"},
    "planning": {"persistence": "0s", "persistenceLooks": 1, "minGain": 1},
}


@dataclass
class Steady:
    """A past in which the same was always wanted."""

    def demand(self, pool, grid, alone):
        first_s, last_s = int(grid.start_s), int(grid.end_s)
        jobs = {
            (pool, name): [
                Job(float(start_s), float(run_s))
                for start_s in range(first_s, last_s, run_s)
                for _ in range(number)
            ]
            for name, (number, run_s) in ALWAYS.items()
        }
        return history_of_jobs(jobs, grid)


def flood(world, number, *, run_s=1000.0):
    """Use so many whole GPUs, and have twice as many pods and two small ones wait."""
    world.submit(task(f"first-{i}", {WHOLE: 1}, run_s=run_s) for i in range(number))
    world.submit(
        task(f"flood-{i}", {WHOLE: 1}, run_s=90_000.0, arrival_s=START_S + 5)
        for i in range(2 * number)
    )
    world.submit(
        task(f"small-{i}", {THREE: 1}, run_s=90_000.0, arrival_s=START_S + 10) for i in range(2)
    )
