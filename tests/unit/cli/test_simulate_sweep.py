"""``simulate --sweep``: cases that are kept, and what is drawn of them."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from autoscaler.cli.simulate_view import draw_cases, ratio_text
from tests.commands import Shell, write_policy

POLICIES = "static-past,unpartitioned,static-hindsight"


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def given(tmp_path):
    """Return options for two cases of a trace of four days."""
    trace = tmp_path / "jobs.csv"
    rows = [f"{3600 * k},{7200 + 600 * (k % 5)},{('1g', '3g', '7g')[k % 3]}" for k in range(96)]
    trace.write_text("arrival_s,duration_s,profile\n" + "\n".join(rows) + "\n")
    days = ("--past-days", "0:2", "--days", "2:4")
    return (
        "simulate",
        "--trace",
        str(trace),
        *days,
        "--load",
        "0.4,0.6",
        "--policies",
        POLICIES,
    )


def test_a_sweep_says_what_one_run_says(shell, given, tmp_path):
    """To the byte, at once, again from what is kept, and after losing one case."""
    folder = tmp_path / "kept"
    alone = shell.run(*given, "-o", "json")
    assert alone.code == 0
    assert len(alone.json["runs"]) == 6
    for _ in range(2):
        assert shell.run(*given, "-o", "json", "--sweep", str(folder)).out == alone.out
    first = min(folder.iterdir())
    changed = first.read_text().replace('"unpartitioned"', '"somebody"')
    first.write_text(changed)
    assert "somebody" in shell.run(*given, "--sweep", str(folder)).out
    first.unlink()
    assert shell.run(*given, "-o", "json", "--sweep", str(folder)).out == alone.out


def test_a_killed_sweep_leaves_whole_cases_only(shell, given, tmp_path):
    """What was being written then is made anew."""
    folder = tmp_path / "kept"
    shell.run(*given, "--sweep", str(folder))
    first, second = sorted(folder.iterdir())
    whole = first.read_bytes()
    first.rename(folder / f"{first.name}.part")
    stamp = second.stat().st_mtime_ns
    assert shell.run(*given, "--sweep", str(folder)).code == 0
    assert first.read_bytes() == whole
    assert second.stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    "other",
    [
        ("--days", "2:3"),
        ("--policies", "unpartitioned"),
        ("--load", "0.6,0.4,0.8", "--gpus-per-node", "2"),
    ],
)
def test_a_kept_case_of_other_inputs_is_not_replaced(shell, given, tmp_path, other):
    """Nothing is run then, and the file is named."""
    folder = tmp_path / "kept"
    shell.run(*given, "--sweep", str(folder))
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    found = shell.run(*given, *other, "--sweep", str(folder))
    assert found.code == 65
    assert f"{folder}/jobs.csv_profile_base_0." in found.err
    assert "keep this sweep in another folder" in found.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept


def test_a_kept_case_of_older_code_is_run_again_in_place(shell, given, tmp_path):
    """Its inputs are the same, so nothing is lost."""
    folder = tmp_path / "kept"
    shell.run(*given, "--sweep", str(folder))
    first = min(folder.iterdir())
    whole = first.read_text()
    first.write_text(json.dumps(json.loads(whole) | {"code": "old"}))
    assert shell.run(*given, "--sweep", str(folder)).code == 0
    assert first.read_text() == whole


def test_what_cannot_be_run_is_refused_before_anything_is(shell, given, tmp_path):
    """With the option that says it: a load, a policy file, a policy of some models only."""
    folder = tmp_path / "kept"
    h100 = write_policy(tmp_path).replace("policy.yaml", "h100.yaml")
    policy = (tmp_path / "policy.yaml").read_text()
    Path(h100).write_text(policy.replace("A100-SXM4-40GB", "H100-80GB-HBM3"))
    names = f"--policies=static-past, h={h100}"
    for options, told in (
        (("--load", "0.4,9.9"), "--load 9.9: a load of 9.9 is more than all the work"),
        (("--load", "1e-320"), "--load 9.99989e-321: a load of 9.99989e-321 is that of more"),
        (
            ("--load", "0.5,0.00001"),
            "--load 1e-05: a load of 1e-05 is that of more than 10,000",
        ),
        ((names,), f"--policies h={h100}: no pool of policy test is for a100-40gb"),
        (
            ("--policies", "static-past,autoscaler", "--policy", h100),
            f"--policy {h100}: no pool of policy test is for a100-40gb",
        ),
        (
            (
                "--policies",
                "static-past,all-balanced",
                "--model",
                "rtx-pro-4500-blackwell-32gb",
            ),
            "--policies all-balanced: rtx-pro-4500-blackwell-32gb has no all-balanced",
        ),
    ):
        found = shell.run(*given, *options, "--sweep", str(folder))
        assert (found.code, found.out) == (65, "")
        assert found.err.startswith(f"error: {told}")
        assert not folder.exists()


def test_the_table_shows_the_ratio_with_its_interval(shell, given):
    """Whole GPUs are far worse on two GPUs, and no different on three."""
    out = shell.run(*given).out
    worse = next(line for line in out.splitlines() if "worse" in line)
    assert worse.startswith("unpartitioned")
    assert " to " in worse
    assert "tie" in out


def test_wide_shows_regret_and_waits_by_profile(shell, given):
    """By how much each took longer than the best fixed mix, known afterwards."""
    out = shell.run(*given, "-o", "wide").out
    assert "over hindsight" in out
    assert "+0.0%" in out
    assert "7g.40gb" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dask", "tcp://127.0.0.1:1"), "--dask needs --sweep"),
        (("--sweep", "kept", "--report", "page.html"), "--sweep keeps figures and not"),
    ],
)
def test_options_that_do_not_go_together_are_refused(shell, given, options, words):
    """Before anything is run."""
    result = shell.run(*given, *options)
    assert result.code == 64
    assert words in result.err


def test_a_ratio_is_told_with_what_is_known_of_it():
    """Its interval, its verdict, and jobs that never ran."""
    known = {"ratio": 0.9, "low": 0.85, "high": 0.95, "verdict": "better"}
    assert ratio_text(known) == "0.900 (0.850 to 0.950) better"
    assert ratio_text({"ratio": None, "verdict": "worse"}) == "worse"
    assert ratio_text({"ratio": None, "verdict": "better"}) == "better"
    assert ratio_text({"ratio": None, "verdict": "tie"}) == "-"
    assert ratio_text({}) == "-"


def test_the_json_has_the_keys_of_the_contract(shell, given):
    """Seconds as numbers, waits by profile."""
    run = json.loads(shell.run(*given, "-o", "json").out)["runs"][0]
    keys = {"policy", "load", "gpus", "jobs", "meanCompletion", "meanWait", "p95Wait"}
    assert keys | {"utilisation", "changes", "evictions", "planGapMax"} <= run.keys()
    assert set(run["p95Wait"]) == {"1g.5gb", "3g.20gb", "7g.40gb"}
    assert isinstance(run["meanCompletion"], float)


def test_a_case_that_cannot_be_kept_is_named(shell, given, tmp_path):
    """A folder is where its file should be; no traceback, and an exit code of its own."""
    folder = tmp_path / "kept"
    one = (*given, "--load", "0.4", "--policies", "unpartitioned", "--sweep", str(folder))
    shell.run(*one)
    (kept,) = folder.iterdir()
    kept.unlink()
    kept.mkdir()
    found = shell.run(*one)
    assert found.code == 65
    assert f"{kept.name}: cannot be written: " in found.err


def test_what_a_loop_complained_of_is_told_after_the_tables(capsys):
    """And in the wide table how many rollouts were given up."""
    loop = {"errors": 3, "firstError": "the lease is lost", "ends": {"done": 2, "waited": 5}}
    names = ("meanCompletion", "meanWait", "utilisation", "fragmentation", "unmetSliceHours")
    run = {"policy": "autoscaler", "changes": 2, "evictions": 0, "unfinished": 0, "loop": loop}
    run |= dict.fromkeys((*names, "planGapMax"))
    case = {"case": "openb", "gpus": 7, "model": "a100-40gb", "runs": [run]}
    draw_cases(Console(width=300), [case], wide=True)
    shown = capsys.readouterr().out
    assert "autoscaler on openb: 3 errors, first: the lease is lost" in shown
    heads, _, values = shown.splitlines()[1:4]
    assert values[heads.index("given up") :].split()[0] == "5"
