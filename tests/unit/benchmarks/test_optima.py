"""The golden reconfiguration instances, through the core that makes plans."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autoscaler.planning.solving.highs import solve_with_highs
from autoscaler.planning.solving.scipy_highs import solve_with_scipy
from benchmarks.optima import BadInstance, read_instances, solve_all

ROOT = Path(__file__).parents[3]
FILE = ROOT / "tests" / "data" / "instances" / "reconfig_optima.json.gz"


@pytest.mark.parametrize("solver", [solve_with_highs, solve_with_scipy])
def test_every_instance_is_solved_to_its_optimum(solver):
    """Both backends reach and prove the known optima."""
    rows = list(solve_all(read_instances(FILE), solver))
    assert len(rows) == 30
    assert [row.objective for row in rows] == [row.expected for row in rows]
    assert [row.bound for row in rows] == [row.expected for row in rows]


def test_answers_in_the_file_are_not_needed():
    """An instance without its answer gets the same one."""
    bare = [
        {key: own[key] for key in ("demand", "classes")} for own in read_instances(FILE)[:6]
    ]
    assert [row.objective for row in solve_all(bare)] == [52, 0, 52, 52, 52, 52]


@pytest.mark.parametrize(
    "instance",
    [
        {},
        {"demand": {"9g": 1}, "classes": []},
        {"demand": {}, "classes": [{"count": 1, "busy": ["3g"], "idle": []}]},
        {"demand": {}, "classes": [{"count": 1, "busy": ["7g@0", "1g@0"], "idle": []}]},
        [],
    ],
)
def test_a_wrong_instance_is_named(instance):
    """What is not of the format is an error of its own kind, never a guess."""
    with pytest.raises(BadInstance):
        list(solve_all([instance]))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the benchmark as a person would."""
    command = [sys.executable, "-m", "benchmarks.optima", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_json_output_is_json(tmp_path):
    """The solver prints no banner into it."""
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(read_instances(FILE)[:2]))
    result = run(str(path), "-o", "json")
    assert result.returncode == 0
    rows = json.loads(result.stdout)
    assert [row["objective"] for row in rows] == [52, 0]
    assert {"objective", "bound", "gap", "seconds"} <= set(rows[0])


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    """It ends with the exit code for wrong input and one line."""
    path = tmp_path / "instances.json"
    path.write_text("{")
    result = run(str(path))
    assert result.returncode == 65
    assert result.stderr.count("\n") == 1
