"""``simulate --recommend``: from a user's jobs to a policy file that holds."""

from pathlib import Path

import pytest
import yaml

from autoscaler.adapters.policy_file import load_policy
from autoscaler.domain.policy.policy import Driver, Mode
from tests.commands import Shell

DAY_S = 86_400


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def trace(tmp_path):
    """Write six days on one GPU: halves on even days, sevenths on odd ones."""
    lines = ["arrival_s,duration_s,profile"]
    for day in range(6):
        name, run_s = ("3g", 3000) if day % 2 == 0 else ("1g", 2000)
        lines += [f"{day * DAY_S + 100 * k},{run_s},{name}" for k in range(6)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    days = ("--past-days", "0:2", "--days", "2:6", "--load", "0.01", "--gpus", "1")
    return ("--trace", str(path), "--profile-column", "profile", *days)


def recommend(shell, trace, *options):
    return shell.run("simulate", *trace, "--recommend", "--budget", "27", *options)


def test_advice_comes_with_its_proof_and_a_policy(shell, trace, tmp_path):
    """What is written is what was proven, in the mode of the policy that was changed."""
    path = tmp_path / "advised.yaml"
    result = recommend(shell, trace, "-o", "json", "--write", str(path))
    assert result.code == 0
    found = result.json
    assert (found["days"]["choosing"], found["days"]["proving"]) == (2, 2)
    simulated = sum(each["days"] for each in found["tried"]) + 4 * (len(found["proof"]) - 1)
    assert found["days"]["simulated"] == simulated
    assert found["proof"][0]["policy"] == "a fixed mix"
    assert found["proof"][0]["versusFixedMix"] is None
    own = next(each for each in found["proof"] if each["policy"] == found["chosen"])
    assert own["versusFixedMix"] == found["effect"]
    assert {each["round"] for each in found["tried"]} == {1, 2, 3}
    policy = load_policy(path).policy
    assert policy.metadata.name == "default-advised"
    expected = Mode.DRY_RUN if found["advice"] == "use" else Mode.OFF
    assert policy.mode is expected
    assert all(pool.driver is Driver.AGENT for pool in policy.pools)
    assert found["written"] == str(path)
    # To the byte.
    again = recommend(shell, trace, "-o", "json", "--write", str(path))
    assert again.out == result.out


def test_a_policy_of_ones_own_is_what_is_changed(shell, trace, tmp_path):
    """Its name, pools and what it says else stay in the file that is written."""
    own, path = tmp_path / "own.yaml", tmp_path / "advised.yaml"
    own.write_text(
        "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: mine}\n"
        "mode: recommend\npools: [{name: team, nodeSelector: {team: vision}}]\n"
        "rollout: {warmUp: 3m}\n"
    )
    result = recommend(shell, trace, "--policy", str(own), "--write", str(path), "-o", "wide")
    assert result.code == 0
    written = yaml.safe_load(path.read_text())
    assert written["metadata"] == {"name": "mine-advised"}
    assert written["pools"][0]["nodeSelector"] == {"team": "vision"}
    assert written["rollout"] == {"warmUp": "3m"}
    assert "LATER DAYS THAT CHOSE NOTHING" in result.out
    assert "nothing held back" in result.out
    # The pool selects none of the simulated nodes, and yet its rules were tried.
    as_it_is = next(line for line in result.out.splitlines() if line.startswith("as it is"))
    assert int(as_it_is.split()[-1]) > 0


def test_the_policy_that_studies_use_is_changed_where_it_is_given(shell, trace):
    """Whoever names its file means it, and not the one for who names none."""
    given = ("--policy", "simulations/policies/unthrottled.yaml", "-o", "json")
    assert recommend(shell, trace, *given).json["base"] == "unthrottled"


SCENARIO = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: Scenario
metadata: {name: tiny}
fleet: {gpus: 1, loads: [0.01]}
workload: {trace: jobs.csv, column: profile}
days: {past: [0, 2], present: [2, 6]}
policies:
  - {name: nightly, file: nightly.yaml}
"""


@pytest.fixture
def scenario(trace, tmp_path):
    """Write a scenario with one policy file, beside the jobs."""
    (tmp_path / "nightly.yaml").write_text(
        Path("simulations/policies/nightly.yaml").read_text()
    )
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def test_the_policy_of_a_scenario_is_what_is_changed(shell, scenario):
    """It is the only one, so there is no doubt."""
    result = shell.run("simulate", str(scenario), "--recommend", "--budget", "27", "-o", "json")
    assert (result.code, result.json["base"]) == (0, "nightly")


def test_several_policies_of_a_scenario_are_refused(shell, scenario):
    """Advice is about changes of one."""
    scenario.write_text(SCENARIO + "  - {name: other, file: nightly.yaml}\n")
    result = shell.run("simulate", str(scenario), "--recommend")
    assert (result.code, result.out) == (65, "")
    assert "--recommend is for one policy, and the scenario has nightly, other" in result.err


def test_a_policy_for_other_gpus_is_refused(shell, trace, tmp_path):
    """It says nothing about these."""
    own = tmp_path / "own.yaml"
    own.write_text(
        "apiVersion: mig-autoscaler.io/v1alpha1\nkind: MigPolicy\nmetadata: {name: mine}\n"
        "pools: [{name: a, nodeSelector: {nvidia.com/gpu.product: NVIDIA-A30}}]\n"
    )
    result = recommend(shell, trace, "--policy", str(own))
    assert (result.code, result.out) == (65, "")
    assert result.err == f"error: --policy {own}: no pool of policy mine is for a100-40gb\n"


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--budget", "20"], 65, "a budget of 20 simulated days is too small"),
        (["--split", "resampled"], 65, "--recommend draws days itself"),
        (["--seeds", "2"], 65, "one load, one seed and one cluster at a time"),
        (["--load", "0.05,0.1"], 65, "one load, one seed and one cluster at a time"),
        (["--days", "2:5"], 65, "3 days to be judged on are too few for advice"),
        (["--write", "/none/policy.yaml"], 65, "/none/policy.yaml: cannot be written"),
        (["--report", "page.html"], 64, "--recommend draws and keeps nothing"),
        (["--policies", "nos-fixed"], 64, "that of --policy, with a fixed mix"),
    ],
)
def test_what_cannot_be_advised_is_refused_at_once(shell, trace, options, code, text):
    """Before anything runs, with what is wrong."""
    result = shell.run("simulate", *trace, "--recommend", *options)
    assert (result.code, result.out) == (code, "")
    assert text in " ".join(result.err.split())


def test_options_of_advice_alone_are_a_usage_error(shell, trace):
    """Nobody meant to compare policies with a budget."""
    result = shell.run("simulate", *trace, "--budget", "50")
    assert result.code == 64
    assert "go with --recommend" in result.err


def test_help_tells_of_advice(shell):
    """And what the budget counts."""
    text = " ".join(shell.run("simulate", "--help").out.split())
    assert "--recommend" in text
    assert "Days that the search may simulate" in text
