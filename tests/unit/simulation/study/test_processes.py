"""Processes for runs."""

import os
import subprocess
import sys

from autoscaler.simulation.study.processes import process_pool

# Prints the number of a process of its pool, then is gone as if somebody had killed it.
DYING = """
import os
from autoscaler.simulation.study.processes import process_pool

if __name__ == "__main__":
    pool = process_pool(1)
    print(pool.submit(os.getpid).result(), flush=True)
    os._exit(9)
"""


def test_work_is_done_elsewhere():
    """In a process of its own."""
    with process_pool(1) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()


def test_no_process_outlives_the_one_that_began_it(tmp_path):
    """However suddenly that ended: the pool's standard output closes when it is gone."""
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    # The output ends only when all that hold it have ended, or this would time out.
    assert ended.returncode == 9
    assert int(ended.stdout) > 0
