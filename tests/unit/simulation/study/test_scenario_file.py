"""Scenario files."""

from pathlib import Path

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.policy import Driver
from autoscaler.simulation.digits import number_text
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.division import Division
from autoscaler.simulation.study.peaks import parse_peaks
from autoscaler.simulation.study.scenario_file import load_scenario
from autoscaler.simulation.study.sources.recorded import Recorded
from autoscaler.simulation.study.sources.synthetic import synthetic_named
from autoscaler.simulation.study.splits import Split
from autoscaler.simulation.study.trace_file import TraceRow

TRACE = "arrival_s,duration_s,profile,mig_count\n" + "".join(
    f"{3600 * hour},{7200 + 600 * (hour % 5)},{('1g', '3g', '7g')[hour % 3]},1\n"
    for hour in range(96)
)
SCENARIO = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: Scenario
metadata: {name: tiny}
fleet:
  models: [a100-40gb, a30-24gb]
  loads: [0.4, 0.6]
workload:
  trace: jobs.csv
  column: profile
  peaks:
    - {profiles: [3g], factor: 2.5, days: [0]}
  announced: both
days: {past: [0, 2], present: [2, 4]}
seeds: {first: 7, number: 2}
policies:
  - {name: own, file: own.yaml}
baselines: [static-past]
driver: mig-manager
"""
POLICY = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {name: own}
pools: [{name: all, nodeSelector: {nvidia.com/gpu.present: "true"}}]
"""


def nobody(asked, model):
    raise ConfigError(f"{asked.url} does not answer")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "jobs.csv").write_text(TRACE)
    (tmp_path / "own.yaml").write_text(POLICY)
    return tmp_path


def load(folder, text=SCENARIO, ask=nobody):
    path = folder / "scenario.yaml"
    path.write_text(text)
    return load_scenario(path, None, ask)


def test_a_scenario_is_a_case_for_each_model_load_seed_and_announcement(folder):
    """Sixteen here, of the same jobs."""
    found = load(folder).recipes
    assert len(found) == 2 * 2 * 2 * 2
    first, second = found[:2]
    assert (first.model.key, first.draw.load, first.draw.seed) == ("a100-40gb", 0.4, 7)
    assert (first.peak, second.peak) == (
        "3g:2.5 days=0 hours=10-16",
        "3g:2.5 days=0 hours=10-16 announced",
    )
    assert first.build().present == second.build().present
    assert {r.model.key for r in found} == {"a100-40gb", "a30-24gb"}
    assert {r.draw.division.past.first for r in found} == {0}


def test_a_scenario_may_be_run_on_several_clusters(folder):
    """Each case on each of them, where there is a loop to run; files have other names."""
    text = SCENARIO.replace("number: 2", "number: 2, clusters: 3")
    found = load(folder, text).recipes
    assert len(found) == 3 * 16
    assert [recipe.cluster_seed for recipe in found[:4]] == [0, 1, 2, 0]
    assert len({recipe.label for recipe in found}) == len(found)
    assert len({recipe.fingerprint() for recipe in found}) == len(found)
    assert [recipe.build().cluster_seed for recipe in found[:3]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("[0.4, 0.6]", "[0.4, 9]"),
            r"scenario.yaml:6:16: fleet.loads\[1\]: a load of 9 is more",
        ),
        (
            ("[0.4, 0.6]", "[0.00001]"),
            r"scenario.yaml:6:11: fleet.loads\[0\]: a load of 1e-05 is",
        ),
        (
            ("[static-past]", "[static-past, all-balanced]"),
            r"scenario.yaml:17:26: baselines\[1\]: rtx-pro-4500-blackwell-32gb has no all-bal",
        ),
    ],
)
def test_a_later_case_that_cannot_be_run_is_refused_at_once(folder, change, told):
    """With its place; what ran before it would be lost otherwise."""
    models = ("a30-24gb", "rtx-pro-4500-blackwell-32gb")
    with pytest.raises(ConfigError, match=told):
        load(folder, SCENARIO.replace(*models).replace(*change))


def test_a_policy_file_without_a_pool_for_a_model_is_refused_at_once(folder):
    """With the place where the file is named."""
    pool = "[{name: all, nodeSelector: {nvidia.com/gpu.product: NVIDIA-A30}}]"
    text = POLICY.partition("pools:")[0] + f"pools: {pool}\n"
    (folder / "own.yaml").write_text(text)
    told = r"scenario.yaml:16:23: policies\[0\].file: no pool of policy own is for a100-40gb"
    with pytest.raises(ConfigError, match=told):
        load(folder)


def test_policies_with_files_come_first_and_then_the_others(folder):
    """Under the conditions that the file names."""
    found = load(folder)
    assert found.policies == ("own", "static-past")
    assert dict(found.conditions.named)["own"].metadata.name == "own"
    assert (found.conditions.driver, found.conditions.gpus_per_node) == (Driver.MIG_MANAGER, 8)


def test_what_a_scenario_leaves_out_is_as_usual(folder):
    """One model, one load, the usual days, nothing drawn but the workload."""
    head = SCENARIO.partition("fleet:")[0]
    found = load(folder, f"{head}workload: {{synthetic: [{{kind: inference, services: 3}}]}}\n")
    (recipe,) = found.recipes
    assert (recipe.model.key, recipe.draw.load, recipe.peak) == ("a100-40gb", 0.5, "")
    assert (recipe.draw.division, recipe.draw.split) == (Division(), Split.BASE)
    assert recipe.source.name == "inference"
    assert recipe.source != synthetic_named("inference")
    assert found.policies == ("autoscaler", "static-past")


def test_jobs_may_come_by_memory_or_from_a_prometheus(folder):
    """Paths are seen from the scenario file."""
    head = SCENARIO.partition("fleet:")[0]
    (folder / "memory.csv").write_text(
        "arrival_s,duration_s,memory_gib\n"
        + "".join(f"{DAY_S * d},80000,30\n" for d in range(4))
    )
    by_memory = load(folder, f"{head}workload: {{jobs: memory.csv}}\nfleet: {{gpus: 1}}\n")
    assert by_memory.recipes[0].source.column == "memory"
    assert by_memory.recipes[0].draw.load is None
    rows = tuple(TraceRow(DAY_S * day, 80_000.0, "7g.40gb", 1) for day in range(4))
    asked = []

    def ask(settings, model):
        asked.append((settings.url, settings.history_s, model.key))
        return Recorded(settings.url, rows)

    text = "workload: {prometheus: {url: 'http://p:9090', history: 4d}}\nfleet: {gpus: 1}\n"
    assert load(folder, head + text, ask).recipes[0].source == Recorded("http://p:9090", rows)
    assert asked == [("http://p:9090", 4 * DAY_S, "a100-40gb")]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: Scenario", "kind: Scenari", r":2:7: kind: "),
        ("loads: [0.4, 0.6]", "loads: [0.4, 0]", r":6:16: fleet.loads\[1\]: must be a number"),
        ("loads: [0.4, 0.6]", "loads: [0.4, all]", r":6:16: fleet.loads\[1\]: must be a"),
        ("trace: jobs.csv", "prometheus: {url: x}", r":8:21: workload.prometheus.url: "),
        ("loads: [0.4, 0.6]", "loads: [own]", r":6:10: fleet.loads: own is the load of a"),
        ("fleet:", "fleets:", r":4:1: fleets: .*did you mean fleet"),
        ("a30-24gb", "a30-42gb", r":5:23: fleet.models\[1\]: a30-42gb is no GPU model"),
        ("trace: jobs.csv", "trace: job.csv", r":8:3: workload: .*job.csv: cannot be read"),
        ("column: profile", "column: profil", r"workload: .*there is no column profil"),
        ("trace: jobs.csv", "jobs: jobs.csv", r":9:11: workload.column: says nothing without"),
        ("trace: jobs.csv", "synthetic: [{kind: x}]", r":8:15: workload.synthetic\[0\]: "),
        ("factor: 2.5", "factor: 1", r":11:32: workload.peaks\[0\].factor: "),
        ("[3g], factor", "[3x], factor", r":11:7: workload.peaks\[0\]: 3x is no profile"),
        ("days: [0]}", "startHour: 20}", r"workload.peaks\[0\].endHour: is not after"),
        ("days: [0]}", "days: [9]}", r":8:3: workload: peak .*: the run is too short for"),
        ("past: [0, 2]", "past: [2, 0]", r":13:7: days: 2:0 are no days"),
        ("past: [0, 2]", "past: [0, 3]", r":13:7: days: days to learn from \(0:3\) and"),
        ("past: [0, 2]", "past: [90, 92]", r"workload: jobs.csv: no job arrived on days 90"),
        ("first: 7", "first: -1", r":14:16: seeds.first: "),
        ("number: 2", "number: 0", r":14:27: seeds.number: "),
        ("file: own.yaml", "file: none.yaml", r":16:23: policies\[0\].file: .*cannot be read"),
        ("file: own.yaml", "file: jobs.csv", r":16:23: policies\[0\].file: .*jobs.csv"),
        ("name: own", "name: static-past", r":16:3: policies: static-past is the name of"),
        ("[static-past]", "[static-pst]", r":17:13: baselines\[0\]: static-pst is no policy"),
        ("[static-past]", "[ff, ff]", r":17:17: baselines\[1\]: ff is there twice"),
        ("mig-manager", "mig-manger", r":18:9: driver: .*did you mean mig-manager"),
        ("announced: both", "announced: maybe", r":12:14: workload.announced: "),
        ("announced: both", "syntheticDays: 9", r":12:18: workload.syntheticDays: says"),
        ("days: [0]}", "days: [50000]}", r":8:3: workload: peak .*: the run is too short for"),
        ("trace: jobs.csv", "synthetic: [{kind: ci, startHour: 20, endHour: 10}]",
         r":8:50: workload.synthetic\[0\].endHour: is not after startHour"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(folder, old, new, words):
    """File, line, column and key, whether it is the form or what the file names."""
    assert old in SCENARIO
    with pytest.raises(
        ConfigError, match=rf"scenario\.yaml{words}" if words[0] == ":" else words
    ):
        load(folder, SCENARIO.replace(old, new))


def test_a_key_of_another_workload_is_told_with_those_of_its_own(folder):
    """Each kind has its own; one that is meant is among them or not at all."""
    text = "workload: {synthetic: [{kind: ci, busyGpus: 4}]}\n"
    keys = "kind, pushesPerHour, jobsPerPush, startHour, endHour, idle, medianRun, spread, mix"
    told = (
        rf"synthetic\[0\].busyGpus: is not a key here; allowed: {keys}, nightly, nightlyHour$"
    )
    with pytest.raises(ConfigError, match=told):
        load(folder, SCENARIO.partition("fleet:")[0] + text)


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        ("{kind: [ci], x: 1}", ""),
        ("{x: 1}", "must say its kind"),
        ("{kind: cy}", "'cy' is not allowed; allowed: diurnal, ci, inference"),
    ],
)
def test_a_workload_of_no_known_kind_is_refused(folder, drawn, told):
    """In the words of the form, whatever stands where its kind should."""
    head = SCENARIO.partition("fleet:")[0]
    with pytest.raises(ConfigError, match=rf":4:24: workload.synthetic\[0\]: {told}"):
        load(folder, f"{head}workload: {{synthetic: [{drawn}]}}\n")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("factor: 1.0000001, days: [0]", "3g:1.0000001 days=0 hours=10-16"),
        ("factor: 2.5, days: [0], startHour: 0.00001", "3g:2.5 days=0 hours=0.00001-16"),
        ("factor: 2, days: [0], startHour: 9.123456789, endHour: 9.123457",
         "3g:2 days=0 hours=9.123456789-9.123457"),
    ],
)  # fmt: skip
def test_numbers_of_peaks_are_taken_as_they_are_given(folder, given, text):
    """To the last digit, and whether they are large or small."""
    found = load(folder, SCENARIO.replace("factor: 2.5, days: [0]", given)).recipes[0]
    assert found.peak == text
    (peak,) = parse_peaks(found.peak, found.model)
    assert f"factor: {number_text(peak.factor)}," in given
    assert peak.start_h in (10, 0.00001, 9.123456789)


def test_a_policy_that_draws_makes_a_case_of_each_seed(folder):
    """nos takes the GPUs of a node in a drawn order, if there are several."""
    plain = SCENARIO.replace("factor: 2.5, days: [0]", "factor: 2.5").replace(
        "  peaks:\n    - {profiles: [3g], factor: 2.5}\n  announced: both\n", ""
    )
    assert len(load(folder, plain).recipes) == 4
    drawing = plain.replace("[static-past]", "[nos-strict]")
    assert len(load(folder, drawing).recipes) == 8
    single = drawing.replace("fleet:\n", "fleet:\n  gpusPerNode: 1\n")
    assert len(load(folder, single).recipes) == 4


def test_jobs_come_from_one_place(folder):
    """Neither none nor two; a peak that nobody has cannot be announced."""
    for text, words in (
        ("workload: {}", "says nothing of where jobs come from"),
        ("workload: {trace: openb, jobs: a.csv}", "cannot go with trace; keep one"),
        ("workload: {trace: openb, announced: both}", "says nothing without peaks"),
    ):
        with pytest.raises(ConfigError, match=words):
            load(folder, SCENARIO.partition("fleet:")[0] + text + "\n")


@pytest.mark.parametrize(
    "path", sorted(Path("simulations").glob("*.yaml")), ids=lambda p: p.stem
)
def test_the_scenarios_that_are_shipped_can_be_run(path):
    """Each of their cases can be built."""
    found = load_scenario(path, None, nobody)
    for recipe in found.recipes:
        assert recipe.build().present.jobs
