"""Processes for runs."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from autoscaler.simulation.study.processes import process_pool

# Prints the number of a process of its pool, then is gone as if somebody had killed it.
DYING = """
import os
from autoscaler.simulation.study.processes import process_pool

if __name__ == "__main__":
    with process_pool(1) as pool:
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


def test_what_was_handed_over_is_left_undone_after_an_error(tmp_path):
    """All in the queue of the pool too, canceled or not: done, it would leave its marks."""
    marks = [tmp_path / str(number) for number in range(5)]
    with pytest.raises(KeyboardInterrupt):
        _hand_over_and_fail(marks)
    assert not any(mark.exists() for mark in marks)


def _hand_over_and_fail(marks):
    with process_pool(1) as pool:
        pool.submit(os.getpid).result()
        tasks = [pool.submit(time.sleep, 60), *(pool.submit(Path.touch, m) for m in marks)]
        tasks[-1].cancel()
        raise KeyboardInterrupt


def test_a_lost_process_is_told_as_what_it_is():
    """The end of the pool puts no other error in its place."""
    with pytest.raises(BrokenExecutor), process_pool(1) as pool:
        pool.submit(os._exit, 1).result()


def test_interruptions_are_left_to_the_parent():
    """A terminal sends them to both; a process that took one would print a traceback."""
    with process_pool(1) as pool:
        assert pool.submit(signal.getsignal, signal.SIGINT).result() is signal.SIG_IGN
