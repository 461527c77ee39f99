"""The command as a whole: its parts, its help and its exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from autoscaler import __version__
from autoscaler.cli.main import COMMANDS
from tests.commands import Shell, write_policy
from tests.dumps import AT, dump_node, write_dump

ROOT = Path(__file__).parents[3]


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


def test_help_lists_every_command(shell):
    """Each with a sentence; none is left out by the way they are imported."""
    out = shell.run("--help").out
    for name in COMMANDS:
        assert f"  {name} " in out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(shell, name):
    """And does nothing else when asked for it."""
    result = shell.run(name, "--help")
    assert result.code == 0
    assert f"mig-autoscaler {name}" in result.out


def test_the_version_is_told(shell):
    """The one of the package."""
    assert shell.run("--version").out == f"mig-autoscaler {__version__}\n"


@pytest.mark.parametrize(
    "line",
    ["nonsense", "plan --nonsense", "plan -o prose", "capacity", "validate", "quarantine x"],
)
def test_usage_errors_are_64(shell, line):
    """With the usage of the command that was meant."""
    result = shell.run(*line.split())
    assert result.code == 64
    assert "Usage: mig-autoscaler" in result.err


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    """As with ``| head``."""
    path = write_dump(tmp_path, *(dump_node(f"gpu-{i}") for i in range(300)))
    command = f"{sys.executable} -m autoscaler status --from {path} --at {AT} -o json | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{\n", b"")


@pytest.mark.parametrize("command", ["profiles", "profiles -o json", "--help", "--version"])
@pytest.mark.parametrize(
    ("output", "words"),
    [("> /dev/full", "No space left on device"), (">&-", "it is closed")],
)
def test_output_that_cannot_be_written_is_an_error(command, output, words):
    """A line and a code of its own: a script would take what is missing for nothing."""
    line = f"{sys.executable} -m autoscaler {command} {output}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False
    )
    told = f"error: standard output cannot be written: {words}\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_validate_tells_good_from_bad(shell, tmp_path):
    """One bad file makes the whole run fail; each is told by itself."""
    good = write_policy(tmp_path, name="good.yaml")
    bad = write_policy(tmp_path, "mode: sideways", name="bad.yaml")
    assert shell.run("validate", good).code == 0
    result = shell.run("validate", good, bad, "-o", "json")
    assert result.code == 65
    assert [f["valid"] for f in result.json["files"]] == [True, False]
    assert f"{good}: valid" in shell.run("validate", good, bad).out


def test_validate_warns_of_what_has_no_effect(shell, tmp_path):
    """The file is valid all the same."""
    peak = '{name: a, start: "09:00", end: "10:00", timeZone: UTC, profiles: {3g.20gb: 2}}'
    policy = write_policy(tmp_path, f"demand: {{peaks: {{weight: 0}}, scheduled: [{peak}]}}")
    result = shell.run("validate", policy)
    assert result.code == 0
    assert "warning: " in result.err
    assert "demand.scheduled[0]" in result.err


def test_capacity_is_the_fewest_gpus(shell):
    """Ten of the smallest and four thirds of a GPU need four GPUs: 10 + 12 slices of 28."""
    options = ("--model", "a100-40gb", "--demand", "1g.5gb=10,3g.20gb=4")
    document = shell.run("capacity", *options, "-o", "json").json
    assert document["gpus"] == max(document["bounds"].values()) == 4
    assert shell.run("capacity", *options, "-o", "name").out == "4\n"
    fits = shell.run("capacity", *options, "--gpus", "2", "-o", "json").json["fits"]
    assert sum(fits["served"].values()) + sum(fits["unserved"].values()) == 14


@pytest.mark.parametrize("demand", ["", "1g.5gb", "1g.5gb=x", "9g.9gb=1", "1g.5gb=1,1g.5gb=1"])
def test_a_demand_that_is_none_is_a_usage_error(shell, demand):
    """The message says which part."""
    result = shell.run("capacity", "--model", "a100-40gb", "--demand", demand)
    assert result.code == 64


def test_profiles_in_every_form(shell):
    """A table, the same in YAML, and names."""
    out = shell.run("profiles", "NVIDIA-A100-SXM4-40GB").out
    assert "1g.5gb+me" in out
    document = yaml.safe_load(shell.run("profiles", "a100-40gb", "-o", "yaml").out)
    assert document["models"][0]["computeSlices"] == 7
    assert "a100-40gb/1g.5gb\n" in shell.run("profiles", "a100-40gb", "-o", "name").out
    assert shell.run("profiles", "gtx-1").code == 64


# Stands for the first of all modules that the command loads, and is interrupted in it.
INTERRUPTED = """
import importlib.abc, runpy, sys

class Interrupted(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "autoscaler.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
runpy.run_module("autoscaler", run_name="__main__")
"""


def test_an_interruption_while_loading_shows_no_traceback():
    """Loading takes a second; 130 is what shells expect."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")
