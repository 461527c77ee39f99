"""Device nodes are made by commands, and each failure says which."""

import sys

import pytest

from autoscaler.adapters.device_nodes import DeviceNodes
from autoscaler.domain.errors import Refused, Unavailable

PYTHON = sys.executable


def script(text):
    """Return a command that runs a line of Python."""
    return (PYTHON, "-c", text)


def test_all_commands_run_in_their_order(tmp_path):
    """The second one needs what the first one made."""
    path = tmp_path / "made"
    first = script(f"open({str(path)!r}, 'w').write('a')")
    second = script(f"f = {str(path)!r}; t = open(f).read(); open(f, 'w').write(t + 'b')")
    DeviceNodes((first, second))()
    assert path.read_text() == "ab"


def test_a_failure_ends_it_with_the_last_words():
    """What comes after is not run."""
    bad = script("import sys; print('no such device', file=sys.stderr); sys.exit(3)")
    never = script("raise SystemExit('not reached')")
    with pytest.raises(Unavailable, match=r"ended with 3: no such device"):
        DeviceNodes((bad, never))()


def test_a_command_that_does_not_end_is_given_up():
    """The agent tries again later."""
    with pytest.raises(Unavailable, match=r"takes over 0.2 s"):
        DeviceNodes((script("while True: pass"),), timeout_s=0.2)()


def test_a_command_that_is_not_there_is_refused(tmp_path):
    """Trying again does not help."""
    with pytest.raises(Refused, match="cannot be run: No such file or directory"):
        DeviceNodes(((str(tmp_path / "nothing"),),))()
