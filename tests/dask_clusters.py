"""A small Dask cluster for tests, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# It ends when its standard input does, so it cannot outlive the test.
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=None,
        host="127.0.0.1",
        protocol="tcp://",
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def dask_cluster() -> Iterator[str]:
    """Run a cluster of one worker with two threads; yield its address."""
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
