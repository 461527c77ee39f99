"""``simulate``: where jobs come from, which cases they make, and what is refused."""

import html
import io
import os
import sys

import pytest

from autoscaler.cli.exit_codes import ExitCode
from autoscaler.cli.standard_output import is_output_open
from tests.commands import Shell

TRACE = "arrival_s,duration_s,profile,mig_count\n" + "".join(
    f"{3600 * hour},{7200 + 600 * (hour % 5)},{('1g', '3g', '7g')[hour % 3]},1\n"
    for hour in range(96)
)
MEMORY = "arrival,duration,memory\n" + "".join(
    f"{3600 * hour},{7200 + 600 * (hour % 5)},{(4, 18, 30)[hour % 3]}\n" for hour in range(96)
)
SCENARIO = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: Scenario
metadata: {name: tiny}
fleet: {models: [h100-80gb], loads: [0.6]}
workload: {trace: jobs.csv, column: profile}
baselines: [static-past, unpartitioned]
"""
POLICY = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {name: own}
pools: [{name: all, nodeSelector: {nvidia.com/gpu.present: "true"}}]
"""
QUICK = ("--policies", "unpartitioned")


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def jobs(tmp_path):
    (tmp_path / "jobs.csv").write_text(TRACE)
    (tmp_path / "memory.csv").write_text(MEMORY)
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    (tmp_path / "own.yaml").write_text(POLICY)
    return tmp_path


def document(shell, *arguments):
    """Return what the command says as JSON."""
    found = shell.run("simulate", *arguments, "-o", "json")
    assert (found.code, found.err) == (0, "")
    return found.json


def run_of(shell, *arguments):
    """Return the one run of one case."""
    (run,) = document(shell, *arguments, *QUICK)["runs"]
    return run


def with_priorities(folder, priority_of):
    """Return the path of the trace with priorities, each by the place of its row."""
    head, *lines = TRACE.splitlines()
    rows = [f"{line},{priority_of(place)}" for place, line in enumerate(lines)]
    path = folder / "own.csv"
    path.write_text("\n".join([f"{head},priority", *rows, ""]))
    return str(path)


def test_waits_are_shown_by_priority_where_a_column_says_it(shell, jobs):
    """Who goes first waits less; in the JSON, the wide table and the page."""
    own = with_priorities(jobs, lambda place: 100 * (place % 2))
    page = jobs / "page.html"
    run = run_of(shell, "--trace", own, "--load", "0.9", "--report", str(page))
    waits = {priority: group["meanWait"] for priority, group in run["byPriority"].items()}
    assert set(waits) == {"0", "100"}
    assert waits["100"] < waits["0"]
    told = shell.run("simulate", "--trace", own, "--load", "0.9", *QUICK, "-o", "wide")
    assert "priority 100" in told.out
    assert "priority 100" in page.read_text()
    assert "byPriority" not in run_of(shell, "--trace", str(jobs / "jobs.csv"))


def test_of_very_many_priorities_none_is_shown_in_tables(shell, jobs):
    """They would fill them; the JSON has all."""
    own = with_priorities(jobs, lambda place: place)
    page = jobs / "page.html"
    told = shell.run("simulate", "--trace", own, *QUICK, "-o", "wide", "--report", str(page))
    assert told.code == ExitCode.OK
    assert "priority" not in told.out.partition("p95 wait s")[2]
    assert "priority 5" not in page.read_text()
    assert len(run_of(shell, "--trace", own)["byPriority"]) > 6


def test_a_trace_is_run_with_its_first_usual_column(shell, jobs):
    """Its own days, the load as asked for; one case a load."""
    runs = document(shell, "--trace", str(jobs / "jobs.csv"), "--load", "0.4,0.8", *QUICK)[
        "runs"
    ]
    assert [(run["column"], run["load"]) for run in runs] == [
        ("profile", 0.4),
        ("profile", 0.8),
    ]
    # Days 2 and 3 of four, less the last one, which is not over: one job an hour.
    assert {run["jobs"] for run in runs} == {24}
    assert runs[0]["gpus"] > runs[1]["gpus"]


@pytest.mark.parametrize(
    ("name", "column"),
    [("miso", ""), ("miso", "half"), ("msitp:10", ""), ("msitp:10", "mixed_v100eq")],
)
def test_shipped_traces_go_by_name(shell, name, column):
    """Thinned to a small fleet."""
    chosen = ("--profile-column", column) if column else ()
    run = run_of(shell, "--trace", name, *chosen, "--gpus", "2", "--load", "0.5")
    assert run["gpus"] == 2
    assert run["unfinished"] == 0
    assert run["column"] == column or not column


def test_jobs_by_memory_are_run_on_instances_that_hold_them(shell, jobs):
    """A third each on a 1g, a 3g and a whole GPU."""
    run = run_of(shell, "--from-jobs", str(jobs / "memory.csv"), "--load", "0.5")
    assert run["column"] == "memory"
    assert sorted(run["p95Wait"]) == ["1g.5gb", "3g.20gb", "7g.40gb"]


def test_jobs_of_ones_own_are_run_as_they_are_on_ones_fleet(shell, jobs):
    """None is added or left out, and the load is what they make of the GPUs."""
    given = ("--from-jobs", str(jobs / "memory.csv"), "--gpus", "2")
    run, drawn = run_of(shell, *given), run_of(shell, *given, "--load", "0.5")
    assert run == run_of(shell, *given, "--load", "own")
    assert (run["jobs"], run["seed"]) == (24, 1)
    # One job an hour, in turn of 1, 3 and 7 slices, on two GPUs.
    length_s = run["meanCompletion"] - run["meanWait"]
    assert run["load"] == pytest.approx(24 * length_s * 11 / 3 / (86_400 * 14), abs=0.01)
    assert drawn["load"] == 0.5
    assert drawn["jobs"] != run["jobs"]


def test_drawn_jobs_differ_by_seed_and_not_by_run(shell):
    """The same command prints the same bytes."""
    own = ("--synthetic", "diurnal+inference", "--synthetic-days", "3", "--gpus", "3")
    first = document(shell, *own, "--seed-base", "5", *QUICK)
    assert document(shell, *own, "--seed-base", "5", *QUICK) == first
    assert document(shell, *own, "--seed-base", "6", *QUICK) != first
    assert first["notices"][0] == "diurnal+inference: jobs are drawn, not recorded"


def test_each_seed_is_a_case(shell):
    """Of drawn jobs."""
    own = ("--synthetic", "inference", "--synthetic-days", "3", "--seeds", "2")
    runs = document(shell, *own, *QUICK)["runs"]
    assert [run["seed"] for run in runs] == [1, 2]
    assert runs[0]["meanCompletion"] != runs[1]["meanCompletion"]


def test_a_seed_that_draws_nothing_makes_no_case_of_its_own(shell, jobs):
    """Three seeds of a recorded trace on its own days are one case, of the first seed."""
    own = ("--trace", str(jobs / "jobs.csv"), "--seed-base", "7", "--seeds", "3", *QUICK)
    assert [run["seed"] for run in document(shell, *own)["runs"]] == [7]
    drawn = document(shell, *own, "--split", "resampled")["runs"]
    assert [run["seed"] for run in drawn] == [7, 8, 9]


def test_the_size_of_the_fleet_may_be_given(shell, jobs):
    """On nodes of any size, of any model; the load stays."""
    own = ("--trace", str(jobs / "jobs.csv"), "--load", "0.5", "--seed-base", "1")
    for gpus, per_node, model in (
        (3, 1, "a30-24gb"),
        (30, 4, "h100-80gb"),
        (40, 8, "a100-80gb"),
    ):
        sizes = ("--gpus", str(gpus), "--gpus-per-node", str(per_node), "--model", model)
        run = run_of(shell, *own, *sizes)
        assert run["gpus"] == gpus
        assert run["jobs"] >= 3 * gpus


def test_peaks_have_days_and_hours_and_may_be_announced(shell, jobs):
    """The same jobs either way; only who can be told is told."""
    own = ("--trace", str(jobs / "jobs.csv"), "--load", "0.5", "--days", "2:4")
    peak = "3g:3 days=1 hours=9-12"
    silent = run_of(shell, *own, "--peak", peak)
    told = run_of(shell, *own, "--peak", f"{peak} announced")
    assert silent["peak"] == told["peak"]
    assert silent["peak"]["jobs"] >= 3


def test_the_json_tells_the_cases_of_a_scenario_apart(shell, jobs):
    """By name, model, peaks and whether those are announced; announced ones read the same."""
    text = SCENARIO.replace("[h100-80gb]", "[h100-80gb, a100-40gb]").replace(
        "column: profile",
        "column: profile, announced: both, peaks: [{profiles: [3g], factor: 2.5, days: [0]}]",
    )
    (jobs / "tiny.yaml").write_text(text)
    runs = document(shell, str(jobs / "tiny.yaml"))["runs"]
    names = ("model", "peaks", "announced", "policy")
    assert len(runs) == len({tuple(run[name] for name in names) for run in runs}) == 8
    assert {run["peaks"] for run in runs} == {"3g:2.5 days=0 hours=10-16"}
    assert all(run["case"].startswith("jobs.csv profile base load 0.6") for run in runs)


@pytest.mark.parametrize(
    ("peaks", "text", "announced"),
    [
        ("3g:3 days=1", "3g:3 days=1", False),
        ("3g:3 days=1 announced", "3g:3 days=1", True),
        ("3g:3 days=0 announced;7g:3 days=1", "3g:3 days=0 announced; 7g:3 days=1", True),
    ],
)
def test_peaks_are_told_as_they_were_given(shell, jobs, peaks, text, announced):
    """Where only some are announced the text says which; without peaks there is no word."""
    own = ("--trace", str(jobs / "jobs.csv"), "--load", "0.5", "--days", "2:4")
    run = run_of(shell, *own, "--peak", peaks)
    assert (run["peaks"], run["announced"]) == (text, announced)
    assert not {"peaks", "announced"} & run_of(shell, *own).keys()


def test_a_policy_file_is_compared_under_its_own_name(shell, jobs):
    """Beside the others, in the order asked for."""
    own = (
        "--trace",
        str(jobs / "jobs.csv"),
        "--past-days",
        "0:1",
        "--days",
        "3:4",
        "--gpus",
        "1",
    )
    policies = f"static-past,mine={jobs / 'own.yaml'}"
    runs = document(shell, *own, "--load", "0.2", "--policies", policies)["runs"]
    assert [run["policy"] for run in runs] == ["static-past", "mine"]


@pytest.mark.parametrize("name", ["a$\\bad{$.csv", os.fsdecode(b"\xff.csv"), ":bomb:.csv"])
def test_a_file_may_have_any_name(shell, jobs, monkeypatch, name):
    """It is in the output, on the page and in pictures, as far as it can be printed."""
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", output)
    assert is_output_open()
    shown = name.encode("utf-8", "backslashreplace").decode()
    (jobs / name).write_text(TRACE)
    page, pictures = jobs / "page.html", jobs / "pictures"
    files = ("--report", str(page), "--png", str(pictures))
    found = shell.run("simulate", "--trace", str(jobs / name), *QUICK, *files)
    assert (found.code, found.err) == (0, "")
    assert shown in output.buffer.getvalue().decode()
    assert html.escape(shown) in page.read_text()
    assert len(list(pictures.iterdir())) == 3


@pytest.mark.parametrize("option", ["--trace", "--from-jobs"])
def test_a_pipe_is_refused(shell, jobs, option):
    """Jobs are read more than once, and a pipe is empty then."""
    os.mkfifo(jobs / "pipe")
    found = shell.run("simulate", option, str(jobs / "pipe"), "--gpus", "2", *QUICK)
    assert found.code == ExitCode.INPUT
    assert "pipe: is no regular file; jobs are read more than once" in found.err


def test_names_of_cases_are_printed_a_line_each(shell, jobs):
    """For scripts, as other commands print what they are about."""
    given = ("--trace", str(jobs / "jobs.csv"), "--load", "0.4,0.6", *QUICK)
    found = shell.run("simulate", *given, "-o", "name")
    assert found.out == "jobs.csv profile base load 0.4\njobs.csv profile base load 0.6\n"


def test_days_that_reach_beyond_the_jobs_are_told(shell, jobs):
    """They are part of the load, which then comes in fewer days."""
    trace = ("--trace", str(jobs / "jobs.csv"), "--gpus", "1", "--past-days", "0:2")
    own = (*trace, "--load", "own", *QUICK)
    assert "notices" not in document(shell, *own, "--days", "2:4")
    (told,) = document(shell, *own, "--days", "2:8")["notices"]
    assert "days 2:8 reach beyond the jobs, which come on days 0:4" in told


def test_a_policy_that_draws_makes_a_case_of_each_seed(shell, jobs):
    """nos takes the GPUs of a node in a drawn order; one GPU a node has no order."""
    own = ("--trace", str(jobs / "jobs.csv"), "--seeds", "3", "--policies", "nos-fixed")
    drawn = document(shell, *own, "--gpus-per-node", "2")["runs"]
    assert [run["seed"] for run in drawn] == [1, 2, 3]
    assert "load 0.5 seed 3, " in shell.run("simulate", *own, "--gpus-per-node", "2").out
    assert len(document(shell, *own)["runs"]) == 1
    others = (*own[:-1], "unpartitioned", "--gpus-per-node", "2")
    assert len(document(shell, *others)["runs"]) == 1


def test_each_cluster_is_a_case_of_the_same_jobs(shell, jobs):
    """With the loop; what has no cluster is one case however many are asked for."""
    own = ("--trace", str(jobs / "jobs.csv"), "--clusters", "2", "--gpus-per-node", "2")
    runs = document(shell, *own, "--driver", "mig-manager", "--policies", "autoscaler")["runs"]
    assert [run["clusterSeed"] for run in runs] == [0, 1]
    assert [run["case"].endswith("cluster 1") for run in runs] == [False, True]
    # Pods take other times to start.
    assert runs[0]["meanWait"] != runs[1]["meanWait"]
    (only,) = document(shell, *own, "--policies", "static-past")["runs"]
    assert only["clusterSeed"] == 0


def test_a_load_given_twice_is_one_case(shell, jobs):
    """Two would have one name."""
    assert run_of(shell, "--trace", str(jobs / "jobs.csv"), "--load", "0.5,0.50")["load"] == 0.5


def test_a_scenario_file_is_run(shell, jobs):
    """As if its contents had been given as options."""
    by_file = document(shell, str(jobs / "tiny.yaml"))
    own = ("--trace", str(jobs / "jobs.csv"), "--load", "0.6", "--model", "h100-80gb")
    by_options = document(shell, *own, "--policies", "static-past,unpartitioned")
    assert by_file == by_options


def test_options_that_a_scenario_says_are_refused_beside_it(shell, jobs):
    """Which of both would hold?"""
    for option in (("--load", "0.4"), ("--trace", "openb"), ("--policies", "autoscaler")):
        found = shell.run("simulate", str(jobs / "tiny.yaml"), *option)
        assert found.code == ExitCode.USAGE
        assert f"{option[0]} cannot go with a scenario file" in " ".join(found.err.split())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--trace", "none.csv"), ExitCode.INPUT, "none.csv: cannot be read"),
        (("--trace", "openb:1"), ExitCode.INPUT, "openb has no parts"),
        (("--profile-column", "mig"), ExitCode.INPUT, "there is no column mig"),
        (("--trace", "FOLDER/empty.csv"), ExitCode.INPUT, "empty.csv:1: there is no column"),
        (("--trace", "FOLDER/header.csv"), ExitCode.INPUT, "header.csv: no row has a duration"),
        (("--trace", "FOLDER/bad.csv"), ExitCode.INPUT, "bad.csv:3: duration_s = '-2'"),
        (("--trace", "FOLDER/odd.csv"), ExitCode.INPUT, "odd.csv:2: 9 of 7 compute"),
        (("--from-jobs", "FOLDER/header.csv"), ExitCode.INPUT, "no row has a duration"),
        (("--from-jobs", "FOLDER/lacks.csv"), ExitCode.INPUT, "lacks.csv:1: there is no"),
        (("--from-jobs", "FOLDER/large.csv"), ExitCode.INPUT, "large.csv:2: memory = '99'"),
        (("--synthetic", "x"), ExitCode.INPUT, "'x' is no workload"),
        (("--synthetic", "ci", "--synthetic-days", "1"), ExitCode.USAGE, "--synthetic-days"),
        (("--trace", "openb", "--synthetic", "ci"), ExitCode.USAGE, "both say where jobs come"),
        (("--synthetic", "ci", "--profile-column", "x"), ExitCode.USAGE, "says nothing about"),
        (("--from-prometheus", "x"), ExitCode.INPUT, "'x' is no address like"),
        (("--from-prometheus", "http://127.0.0.1:9", "--history", "-1d"), ExitCode.INPUT,
         "--history: "),
        (("--from-prometheus", "http://127.0.0.1:9"), ExitCode.ERROR, ""),
        (("--load", "0"), ExitCode.INPUT, "a load is above 0"),
        (("--load", "-1"), ExitCode.INPUT, "a load is above 0"),
        (("--load", "x"), ExitCode.INPUT, "--load x"),
        (("--load", "own"), ExitCode.INPUT, "add --gpus"),
        (("--load", "nan"), ExitCode.INPUT, "a load is above 0"),
        (("--gpus", "0"), ExitCode.USAGE, "--gpus"),
        (("--gpus-per-node", "0"), ExitCode.USAGE, "--gpus-per-node"),
        (("--model", "b17"), ExitCode.USAGE, "b17"),
        (("--days", "5"), ExitCode.INPUT, "'5' are no days such as"),
        (("--days", "5:5"), ExitCode.INPUT, "5:5 are no days"),
        (("--days", "900:901"), ExitCode.INPUT, "no job arrived on days 900 to 901"),
        (("--peak", "3g"), ExitCode.INPUT, "'3g' is no peak such as"),
        (("--peak", "3g:2 daily"), ExitCode.INPUT, "'daily' is not understood"),
        (("--peak", ":2"), ExitCode.INPUT, "':2' is no peak such as"),
        (("--peak", f"{'9' * 5000}g:2"), ExitCode.INPUT, "is no profile of a100-40gb"),
        (("--peak", "3g:2 hours=9-13 hours=1-2"), ExitCode.INPUT, "hours is there twice"),
        (("--days", f"0:{'9' * 400}"), ExitCode.INPUT, "the last day there can be is 100,000"),
        (("--days", f"0:{'9' * 5000}"), ExitCode.INPUT, "--days: '0:999"),
        (("--seed-base", "-1", "--synthetic", "ci"), ExitCode.USAGE, "--seed-base"),
        (("--seeds", "10001"), ExitCode.USAGE, "--seeds"),
        (("--gpus-per-node", "17"), ExitCode.USAGE, "--gpus-per-node"),
        (("--policies", "x"), ExitCode.INPUT, "x is no policy; known are"),
        (("--policies", "x="), ExitCode.INPUT, "give a name and a file"),
        (("--policies", "x=none.yaml"), ExitCode.INPUT, "none.yaml: cannot be read"),
        (("--policies", "miso=FOLDER/own.yaml"), ExitCode.INPUT, "name of another policy"),
        (("--policy", "none.yaml"), ExitCode.INPUT, "none.yaml: cannot be read"),
        (("--policies", "ff, ff"), ExitCode.INPUT, "ff is there twice"),
        (("--policies", ""), ExitCode.INPUT, "--policies: names none"),
        (("--trace", ""), ExitCode.USAGE, "--trace: name a file"),
        (("--trace", "FOLDER/short.csv", "--gpus", "9999"), ExitCode.INPUT,
         "short.csv: a load of 0.5 on 9999 GPUs takes"),
        (("--history", "3d"), ExitCode.USAGE, "go with --from-prometheus"),
        (("--pool", "x"), ExitCode.USAGE, "go with --from-prometheus"),
        (("--synthetic-days", "9"), ExitCode.USAGE, "goes with --synthetic"),
        (("--load", ","), ExitCode.INPUT, "--load ,: '' is neither a number nor own"),
        (("--past-days", "9:5"), ExitCode.INPUT, "--past-days: 9:5 are no days"),
        (("--past-days", "120:130", "--days", "122:124"), ExitCode.INPUT,
         "days to learn from (120:130) and days to be judged on (122:124) overlap"),
        (("--days", "100:116"), ExitCode.INPUT, "there are none before 100:116"),
        (("--peak", "9g:2"), ExitCode.INPUT, "peak: 9 of 7"),
        (("--peak", "3g:1001"), ExitCode.INPUT, "at most 1000 times the mean"),
        (("--report", "FOLDER"), ExitCode.INPUT, "cannot be written: it is a folder"),
        (("--report", "FOLDER/none/a.html"), ExitCode.INPUT, "there is no folder"),
        (("--png", "FOLDER/own.yaml"), ExitCode.INPUT, "own.yaml: is a file, not a folder"),
        (("--png", ""), ExitCode.USAGE, "--png': name a folder"),
        (("--sweep", ""), ExitCode.USAGE, "--sweep': name a folder"),
        (("--sweep", "FOLDER/own.yaml"), ExitCode.INPUT, "own.yaml: is a file, not a folder"),
        (("--sweep", "FOLDER/own.yaml/a"), ExitCode.INPUT, "own.yaml: is a file, not a"),
        (("--recommend", "--write", "FOLDER"), ExitCode.INPUT, "it is a folder"),
        (("FOLDER/own.yaml",), ExitCode.INPUT, "own.yaml:2:7: kind: "),
        (("none.yaml",), ExitCode.INPUT, "none.yaml: cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said(shell, jobs, arguments, code, words):
    """With an exit code of its own, and never as a traceback."""
    header = "arrival_s,duration_s,profile\n"
    for name, text in (
        ("empty.csv", ""),
        ("header.csv", header),
        ("bad.csv", f"{header}1,2,3g\n1,-2,3g\n"),
        ("short.csv", f"{header}1,0,1g\n200000,0,1g\n400000,0,1g\n"),
        ("odd.csv", f"{header}1,2,9g\n100000,2,3g\n200000,2,3g\n"),
        ("lacks.csv", "arrival,duration\n1,2\n"),
        ("large.csv", "arrival,duration,memory\n1,2,99\n"),
    ):
        (jobs / name).write_text(text)
    given = [part.replace("FOLDER", str(jobs)) for part in arguments]
    is_quick = {"--policies", "--recommend"}.isdisjoint(given)
    found = shell.run("simulate", *given, *(QUICK if is_quick else ()))
    if given[0].endswith(".yaml"):
        found = shell.run("simulate", *given)
    assert found.code == code
    assert words in " ".join(found.err.replace("│", " ").split())
    assert found.out == ""


def test_notices_that_differ_in_numbers_only_are_told_once(shell, jobs):
    """Each seed adds its own number of jobs; the JSON has every one of them."""
    made = ("--from-jobs", str(jobs / "memory.csv"), "--gpus", "8", "--load", "0.8")
    seeds = (*made, "--seeds", "3", "--split", "resampled", *QUICK)
    found = shell.run("simulate", *seeds)
    assert found.out.count("copies of jobs are added to make load 0.8") == 1
    assert "; 2 more with other numbers (-o json)" in found.out
    told = [n for n in document(shell, *seeds)["notices"] if n.startswith("copies")]
    assert len(told) == 3
