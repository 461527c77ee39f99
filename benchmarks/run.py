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
    (
        "planner, 10,000 GPUs, 20 groups of pods, 5 kinds for one node",
        "planner",
        ("--gpus", "10000", "--groups", "20", "--bundles", "5"),
    ),
    (
        "planner, 10,000 GPUs, 36,000 pods in 20 groups",
        "planner",
        ("--gpus", "10000", "--groups", "20", "--load", "3.1"),
    ),
    (
        "planner, 3,000 GPUs of three models",
        "planner",
        ("--gpus", "3000", "--models", "a100-40gb,h100-80gb,a30-24gb"),
    ),
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
