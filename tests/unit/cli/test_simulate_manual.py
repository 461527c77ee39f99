"""The manual page of ``simulate`` names what there is."""

import re
from pathlib import Path

import pytest

from autoscaler.cli.simulate import simulate
from autoscaler.simulation.study.policies import POLICIES
from autoscaler.simulation.study.scenario_file import load_scenario
from autoscaler.simulation.study.sources.named import SHIPPED
from autoscaler.simulation.study.sources.source import trace_file
from autoscaler.simulation.study.sources.synthetic import KINDS

ROOT = Path(__file__).parents[3]
MANUAL = (ROOT / "docs" / "simulate.md").read_text()


@pytest.mark.parametrize("name", [*POLICIES, *SHIPPED, *KINDS])
def test_every_policy_trace_and_workload_is_in_the_manual(name):
    """By the name that the command takes."""
    assert f"`{name}`" in MANUAL


def test_every_option_is_in_the_manual():
    """But for those that need no words: where a search ends, and the form of the output."""
    options = {"--" + name.replace("_", "-") for name in simulate.__annotations__}
    told = set(re.findall(r"--[a-z][a-z-]+", MANUAL))
    silent = {"--scenario", "--form", "--budget", "--write", "--synthetic-days"}
    assert options - told <= silent
    # Nothing is told that does not exist.
    assert told <= options


def test_every_scenario_that_is_shipped_is_in_the_manual():
    """With what it asks."""
    names = {path.name for path in (ROOT / "simulations").glob("*.yaml")}
    assert {name for name in names if f"`{name}`" not in MANUAL} == set()


def test_the_scenario_of_the_manual_can_be_run(tmp_path):
    """Told and not told, under the policies that it names."""
    (tmp_path / "policies").symlink_to(ROOT / "simulations" / "policies")
    path = tmp_path / "manual.yaml"
    path.write_text(re.search(r"```yaml\n(.*?)```", MANUAL, re.DOTALL)[1])
    found = load_scenario(path, None, lambda *_: trace_file(path))
    assert [recipe.peak.endswith("announced") for recipe in found.recipes] == [False, True]
    assert found.policies[0] == "nightly"
