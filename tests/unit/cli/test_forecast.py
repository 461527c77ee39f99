"""The command forecast: from logs, backtests, and a policy without Prometheus."""

import json

import pytest

from tests.commands import Shell
from tests.pasts import DAY_S, HOUR_S, ONE, WHOLE


@pytest.fixture
def shell(capsys):
    """Run commands in this process."""
    return Shell(capsys)


@pytest.fixture
def log(tmp_path):
    """Write a log of 20 days with three small jobs at once in the first six hours."""
    lines = ["arrival_s,duration_s,profile,mig_count"]
    lines += [
        f"{day * DAY_S + hour * HOUR_S:.0f},{HOUR_S:.0f},1g.5gb,3"
        for day in range(20)
        for hour in range(6)
    ]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_log_gives_quantiles_and_a_home_mix(shell, log):
    """At its end three are wanted; one GPU is home to them."""
    result = shell.run("forecast", "--from-jobs", log, "--gpus", "1", "-o", "json")
    assert result.code == 0
    assert (result.json["apiVersion"], result.json["kind"]) == (
        "mig-autoscaler.io/v1alpha1", "MigForecast"
    )  # fmt: skip
    (pool,) = result.json["pools"]
    small, whole = pool["profiles"]
    assert (small["resource"], small["now"], small["home"]) == (ONE, 3.0, 3)
    assert (whole["resource"], whole["home"]) == (WHOLE, 0)
    assert small["p10"] <= small["p50"] <= small["p90"] <= 3
    assert small["meanServiceSeconds"] == HOUR_S
    assert pool["homeMix"]["sources"] == ["job-log"]
    assert pool["usedByPlans"] is False


def test_a_moment_and_a_horizon_may_be_given(shell, log):
    """An hour before the night of day 15 it is seen coming; at noon nothing is."""
    found = []
    for at in ("1970-01-15T23:00:00Z", "1970-01-15T12:00:00Z"):
        options = ("--from-jobs", log, "--at", at, "--horizon", "3h", "-o", "json")
        (pool,) = shell.run("forecast", *options).json["pools"]
        assert (pool["madeAt"], pool["horizonSeconds"]) == (at, 3 * HOUR_S)
        found.append(pool["profiles"][0]["p50"])
    assert found == [3.0, 0.0]


def test_too_short_a_log_is_silent_with_its_reason(shell, tmp_path):
    """Question marks, not zeros."""
    path = tmp_path / "short.csv"
    path.write_text("arrival_s,duration_s,profile\n0,60,1g.5gb\n3600,60,1g.5gb\n")
    result = shell.run("forecast", "--from-jobs", str(path))
    assert result.code == 0
    assert "of the past are known, 7d are needed" in result.out
    assert "home mix: not looked for" in result.out
    assert " ? " in result.out


@pytest.mark.parametrize("form", ["table", "wide", "yaml", "name"])
def test_every_form_can_be_had(shell, log, form):
    """The same document, drawn."""
    result = shell.run("forecast", "--from-jobs", log, "-o", form)
    assert (result.code, result.err) == (0, "")
    assert "jobs" in result.out


def test_a_backtest_compares_with_the_simple_ones(shell, log):
    """On nights that repeat themselves the season is no riddle."""
    result = shell.run("forecast", "--backtest", "--from-jobs", log, "-o", "json")
    assert (result.code, result.json["kind"]) == (0, "MigBacktest")
    loss = {own["method"]: own["pinballLoss"] for own in result.json["methods"]}
    assert list(loss) == ["forecast", "naive", "seasonal-naive", "share-of-time"]
    assert loss["forecast"] < loss["naive"]
    assert {score["resource"] for score in result.json["scores"]} == {ONE}
    drawn = shell.run("forecast", "--backtest", "--from-jobs", log)
    assert "coverage: share of the truths" in drawn.out


def test_a_backtest_of_too_short_a_log_says_so(shell, tmp_path):
    """No scores are no good scores."""
    path = tmp_path / "short.csv"
    path.write_text("arrival_s,duration_s,profile\n0,60,1g.5gb\n")
    result = shell.run("forecast", "--backtest", "--from-jobs", str(path))
    assert "no scores: the history is shorter than 14 days" in result.out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--from-jobs", "/none/such.csv"), 65, "/none/such.csv: cannot be read"),
        (("--horizon", "soon"), 64, "--horizon"),
        (("--horizon", "0s"), 64, "is no time at all"),
        (("--model", "x9", "--backtest"), 64, "no GPU model"),
        (("--at", "noon"), 64, "is not like"),
    ],
)
def test_what_is_wrong_ends_in_a_clear_error(shell, options, code, said):
    """Usage is 64, input 65."""
    result = shell.run("forecast", *options)
    assert result.code == code
    assert said in result.err


def test_a_moment_before_the_log_is_refused(shell, log):
    """Nothing is known of it."""
    result = shell.run("forecast", "--from-jobs", log, "--at", "1969-01-01T00:00:00Z")
    assert result.code == 65
    assert "holds nothing before" in result.err


def test_the_document_is_json_without_odd_numbers(shell, log):
    """NaN is none of JSON."""
    text = shell.run("forecast", "--from-jobs", log, "-o", "json").out
    json.loads(text, parse_constant=lambda word: pytest.fail(word))
