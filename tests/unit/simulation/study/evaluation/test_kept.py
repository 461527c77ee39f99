"""What is kept of cases, and read again."""

import json
from math import inf
from pathlib import Path

import pytest

from autoscaler.adapters.policy_file import load_policy
from autoscaler.domain.policy.policy import Mode
from autoscaler.simulation.study.evaluation.kept import Run, read_cases, slim
from autoscaler.simulation.study.evaluation.policies import default_in_force, nightly
from autoscaler.simulation.study.evaluation.rows import planned
from tests.evaluations import document


def test_what_is_kept_is_read_again(tmp_path):
    """Ratio, interval and p95 by profile of each run; what is not there is not run."""
    first, second = planned(tmp_path)[:2]
    whole = document(0.9)
    whole["runs"][0] |= {
        "byProfile": {"much": "more"},
        "peak": {"jobs": 3, "meanCompletion": 5.0, "completion": {"p50": 1.0}},
    }
    kept = slim(whole | {"code": "c"})
    assert "byProfile" not in kept["runs"][0]
    assert kept["runs"][0]["peak"] == {"jobs": 3, "meanCompletion": 5.0}
    first.entry.path.parent.mkdir(parents=True)
    first.entry.path.write_text(json.dumps(kept))
    done, missing = read_cases([first, second])
    assert (done.gpus, done.ours.ratio.value, done.ours.ratio.high) == (7, 0.9, 0.9)
    assert done.mark.number("meanCompletion") is None
    assert not missing.is_run


@pytest.mark.parametrize(("verdict", "value"), [("better", 0), ("worse", inf), ("tie", None)])
def test_a_kept_verdict_says_who_ran_all_jobs(verdict, value):
    """Where there is no ratio, only one of both may have run them."""
    run = Run({"versusStaticPast": {"ratio": None, "verdict": verdict}})
    assert (run.ratio.value, run.ratio.verdict) == (value, verdict)


def test_the_nightly_policy_is_the_one_in_the_file():
    """So that people can read it and try it on their own jobs."""
    assert load_policy(Path("simulations/policies/nightly.yaml")).policy == nightly()


def test_the_default_policy_is_judged_as_it_is_but_in_force():
    """A dry run would show nothing."""
    policy = default_in_force()
    assert policy.mode is Mode.AUTO
    assert policy.metadata.name == "default"
