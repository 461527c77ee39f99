"""The benchmark of the planner, on small fleets: it draws and measures what it says."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

from benchmarks.planner import Case, draw_fleet, draw_groups, run

ROOT = Path(__file__).parents[3]
KEYS = ["gpus", "nodes", "variables", "objective", "bound", "gap", "seconds", "lp"]


def test_it_prints_the_form_that_was_promised():
    """As a process, with any number of GPUs and any seed."""
    command = [sys.executable, "-m", "benchmarks.planner", "--gpus", "13", "--seed", "7"]
    done = subprocess.run(
        [*command, "-o", "json"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert list(found)[:8] == KEYS
    assert set(found["lp"]) == {"objective", "gap", "seconds"}
    assert (found["gpus"], found["nodes"]) == (13, 2)
    assert set(found["others"]) == {"first-fit", "best-fit-decreasing", "nos", "nos-fixed"}
    assert set(found["others"]["nos"]) == {
        "objective",
        "unmetSlices",
        "disturbedNodes",
        "seconds",
    }


def test_the_plan_is_never_worse_than_the_others():
    """Up to its gap, on the same fleet at the same prices."""
    for seed in range(4):
        result = run(Case(gpus=40, node_size=4, seed=seed, groups=3, bundles=2))
        allowed = result.gap * abs(result.bound) + 0.01
        for row in result.others.values():
            assert row.objective <= result.objective + allowed
            assert row.objective <= result.bound + 0.01


def test_the_same_seed_draws_the_same_case():
    """Fleet and demand follow from the seed alone."""
    case = Case(gpus=240, seed=3, groups=4, bundles=5)
    fleets = [draw_fleet(240, 8, Random(3)) for _ in range(2)]
    assert fleets[0] == fleets[1] != draw_fleet(240, 8, Random(4))
    demands = [draw_groups(fleets[0], case, Random(4)) for _ in range(2)]
    assert demands[0] == demands[1]
    assert len({group.eligible for group in demands[0].groups}) == 4
    assert sum(1 for group in demands[0].groups if group.bundle.total() > 1) == 5
