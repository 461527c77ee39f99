"""Times one dry run on the dump of a large cluster, as a process of its own.

The target is three seconds and 300 MB for 200 nodes with 1,600 GPUs and 6,000 pods,
the start of Python included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.large_dump import AT, Size

TARGET_S, TARGET_MB = 3.0, 300.0
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Result:
    """What one run took; megabytes are those of the largest resident set."""

    nodes: int
    gpus: int
    pods: int
    dump_mb: float
    seconds: float
    cpu_seconds: float
    memory_mb: float
    changes: int
    served: int
    gap: float | None


def run(size: Size) -> Result:
    """Write a dump, plan on it, and return what that took."""
    with tempfile.TemporaryDirectory() as folder:
        dump, plan = Path(folder, "dump.json"), Path(folder, "plan.json")
        # In a process of its own: a child begins with the memory of its parent.
        options = [str(getattr(size, name)) for name in size.__slots__]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.large_dump", str(dump), *options],
            check=True,
            cwd=ROOT,
        )
        command = [sys.executable, "-m", "autoscaler", "plan", "--from", str(dump)]
        command += ["--at", AT, "-o", "json"]
        with plan.open("wb") as out:
            start = time.perf_counter()
            process = subprocess.Popen(command, stdout=out, cwd=ROOT)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"plan ended with exit code {process.returncode}")
        found = json.loads(plan.read_text())
        # Linux counts in kilobytes, macOS in bytes.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Result(
            nodes=size.nodes,
            gpus=size.nodes * size.gpus,
            pods=size.pods,
            dump_mb=dump.stat().st_size / 1e6,
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            memory_mb=usage.ru_maxrss * unit / 1e6,
            changes=len(found["changes"]),
            served=sum(len(change["serves"]) for change in found["changes"]),
            gap=found["optimality"] and found["optimality"]["gap"],
        )


def main(arguments: list[str] | None = None) -> int:
    """Read the options, run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=Size().nodes)
    parser.add_argument("--pods", type=int, default=Size().pods)
    parser.add_argument("--busy", type=float, default=Size().busy, help="share in use")
    parser.add_argument("--seed", type=int, default=Size().seed)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args(arguments)
    size = Size(options.nodes, pods=options.pods, busy=options.busy, seed=options.seed)
    result = run(size)
    if options.output == "json":
        print(json.dumps(asdict(result), indent=2))
        return 0
    fleet = f"{result.nodes} nodes, {result.gpus} GPUs, {result.pods} pods"
    print(f"{fleet}: {result.dump_mb:.0f} MB of JSON")
    print(f"{result.changes} nodes change, {result.served} pods served, gap {result.gap}")
    print(f"{result.seconds:.2f} s (target {TARGET_S:g} s), {result.cpu_seconds:.2f} s of CPU")
    print(f"{result.memory_mb:.0f} MB (target {TARGET_MB:g} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
