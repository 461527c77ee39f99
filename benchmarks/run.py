"""Runs all benchmarks in turn; prints, and never fails on seconds."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTANCES = "tests/data/instances/reconfig_optima.json.gz"
RUNS = (
    ("plan --from, a busy fleet", "plan_from", ()),
    ("plan --from, a fleet with room", "plan_from", ("--busy", "0.3")),
    ("planner, 1,000 GPUs", "planner", ("--gpus", "1000")),
    ("planner, 10,000 GPUs", "planner", ("--gpus", "10000")),
    ("golden instances", "optima", (INSTANCES,)),
)


def main() -> int:
    """Run each benchmark as a process of its own, at the sizes that have a target."""
    failed = 0
    for title, module, options in RUNS:
        print(f"# {title}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{module}", *options]
        failed += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
