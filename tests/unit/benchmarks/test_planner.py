"""The benchmark of the planner, on small fleets: it draws and measures what it says."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.drawing import MODELS, Case, draw_demand, draw_fleet
from benchmarks.planner import run

ROOT = Path(__file__).parents[3]
KEYS = ["gpus", "nodes", "variables", "objective", "bound", "gap", "seconds", "lp"]
ROW = ["objective", "unmetSlices", "disturbedNodes", "seconds", "cpuSeconds"]
EXTRA = ["groups", "bundles", "baselines"]
BASELINES = ["first-fit", "best-fit-decreasing", "nos", "nos-fixed"]


def started(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the benchmark as a person would."""
    command = [sys.executable, "-m", "benchmarks.planner", *options]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_it_prints_the_form_that_was_promised():
    """As a process, with any number of GPUs and any seed."""
    done = started("--gpus", "13", "--seed", "7", "-o", "json")
    found = json.loads(done.stdout)
    assert list(found) == [*KEYS, *EXTRA]
    assert list(found["lp"]) == ["objective", "gap", "seconds"]
    assert (found["gpus"], found["nodes"]) == (13, 2)
    assert list(found["baselines"]) == ["autoscaler", *BASELINES]
    for row in found["baselines"].values():
        assert list(row) == ROW
    assert found["baselines"]["autoscaler"]["objective"] == found["objective"]


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (7, 1), (8, 1), (9, 2)])
def test_any_number_of_gpus_will_do(gpus, nodes):
    """One GPU is a fleet, and the last node may be smaller than the others."""
    for seed in (0, 3):
        result = run(Case(gpus=gpus, seed=seed, load=2.0, groups=2, bundles=5))
        assert (result.gpus, result.nodes) == (gpus, nodes)
        assert 0 <= result.gap <= 1e-3
        assert result.objective <= result.bound


def test_the_plan_is_never_worse_than_the_others():
    """Up to its gap, on the same fleet at the same prices."""
    for seed in range(4):
        result = run(Case(gpus=40, node_size=4, seed=seed, groups=3, bundles=2))
        allowed = result.gap * abs(result.bound) + 0.01
        for row in result.baselines.values():
            assert row.objective <= result.objective + allowed
            assert row.objective <= result.bound + 0.01


def test_the_same_seed_draws_the_same_case():
    """Fleet and demand follow from the seed alone."""
    case = Case(gpus=240, seed=3, groups=4, bundles=5)
    fleets = [draw_fleet(240, 8, Random(3)) for _ in range(2)]
    assert fleets[0] == fleets[1] != draw_fleet(240, 8, Random(4))
    demands = [draw_demand(fleets[0], case, Random(4)) for _ in range(2)]
    assert demands[0] == demands[1]
    assert len({group.eligible for group in demands[0].groups}) == 4
    assert sum(1 for group in demands[0].groups if group.bundle.total() > 1) == 5


def test_demand_is_as_large_as_the_free_slices():
    """Up to what rounding to whole pods makes of it, for models of any size."""
    for key in ("a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"):
        case = Case(gpus=200, load=1.0, models=(key,))
        fleet = draw_fleet(200, 8, Random(1), case.models)
        slices = {p.name: p.compute_slices for p in MODELS[key].profiles}
        held = sum(
            slices[name] * n
            for node in fleet.nodes
            for gpu in node.gpus
            for name, n in gpu.held.items()
        )
        asked = 0
        for group in draw_demand(fleet, case, Random(2)).groups:
            ((resource, number),) = group.bundle.items()
            asked += slices[resource.removeprefix("nvidia.com/mig-")] * number * group.number
        assert abs(asked - (200 * MODELS[key].compute_slices - held)) <= sum(slices.values())


def test_a_fleet_may_have_several_models():
    """Nodes have them in turn, and each model has a pool and pods of its own."""
    models = ("a100-40gb", "a30-24gb", "h100-80gb")
    fleet = draw_fleet(40, 4, Random(1), models)
    assert [node.pool for node in fleet.nodes[:4]] == [*models, "a100-40gb"]
    demand = draw_demand(fleet, Case(gpus=40, groups=2, models=models), Random(2))
    pool_of = {node.name: node.pool for node in fleet.nodes}
    assert all(len({pool_of[name] for name in g.eligible}) == 1 for g in demand.groups)
    result = run(Case(gpus=40, node_size=4, groups=2, bundles=5, models=models))
    assert result.gap == 0
    assert result.objective > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gpus", "0"], "at least 1"),
        (["--model", "a100"], "no such model: a100 (there are a100-40gb"),
        (["--load", "nan"], "at least 0"),
        (["--bundles", "9"], "--bundles 0 to 5"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    """With what would make sense, and nothing on standard output."""
    done = started(*options)
    assert done.returncode != 0
    assert words in done.stderr
    assert done.stdout == ""
