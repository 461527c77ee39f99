"""Sweeps go on where they stopped."""

from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from autoscaler.adapters.dask_cluster import dask_pool
from autoscaler.domain.errors import AutoscalerError, ConfigError
from autoscaler.simulation.study.case_file import read_case
from autoscaler.simulation.study.comparison import Comparison
from autoscaler.simulation.study.division import Days, Division
from autoscaler.simulation.study.policies import Conditions
from autoscaler.simulation.study.recipe import CaseRecipe, draws_of, recipes_of
from autoscaler.simulation.study.sources.source import TraceFile
from autoscaler.simulation.study.splits import Split
from autoscaler.simulation.study.sweep import (
    Workers,
    code_version,
    entries_of,
    read_entries,
    sweep,
)
from autoscaler.simulation.study.unthrottled import unthrottled
from tests.dask_clusters import dask_cluster
from tests.studies import MODEL

TRACE = "arrival_s,duration_s,profile,mig_count\n" + "".join(
    f"{3600 * hour},{7200 + 600 * (hour % 5)},{('1g', '3g', '7g')[hour % 3]},1\n"
    for hour in range(96)
)
DIVISION = Division(Days(0, 2), Days(2, 4))


@pytest.fixture
def comparison(tmp_path):
    """Two cases of a tiny trace, two policies that never change a GPU."""
    path = tmp_path / "jobs.csv"
    path.write_text(TRACE)
    draws = draws_of(Split.BASE, [0.4, 0.6], [1], DIVISION)
    recipes = recipes_of(TraceFile(path, "profile"), MODEL, draws)
    return Comparison(recipes, ("static-past", "unpartitioned"), Conditions(unthrottled()))


@pytest.fixture
def entries(comparison, tmp_path):
    return entries_of(comparison, tmp_path / "results")


def test_each_case_has_a_file_of_its_own(entries):
    """Named after what it differs by."""
    names = [entry.path.name for entry in entries]
    assert names == ["jobs.csv_profile_base_0.4.json", "jobs.csv_profile_base_0.6.json"]
    first = entries[0].recipe
    drawn = replace(first, draw=replace(first.draw, split=Split.RESAMPLED, seed=7))
    assert drawn.label == "jobs.csv_profile_resampled_0.4_seed-7"
    long = [
        replace(first, peak="; ".join(["3g:2.5"] * 30 + [own])).label
        for own in ("1g:2", "2g:2")
    ]
    assert len(set(long)) == 2
    assert max(map(len, long)) < 200
    assert replace(first, peak="3g+7g:2.5").label.endswith("0.4_seed-1_3g+7gx2.5")


def test_two_cases_cannot_share_a_file(comparison, tmp_path):
    """Loads that are written the same are the same case."""
    doubled = replace(comparison, recipes=comparison.recipes[:1] * 2)
    with pytest.raises(ConfigError, match=r"two cases .* jobs.csv_profile_base_0.4"):
        entries_of(doubled, tmp_path)


def test_a_sweep_does_only_what_is_missing(entries):
    """Nothing twice; again where the file is gone or broken; the same bytes each time."""
    assert sweep(entries, "code") == 2
    before = entries[0].path.read_bytes()
    assert sweep(entries, "code") == 0
    entries[0].path.write_text("{")
    assert read_case(entries[0].path) is None
    assert sweep(entries, "code") == 1
    assert entries[0].path.read_bytes() == before
    assert not list(entries[0].path.parent.glob("*.part"))


def test_what_was_made_otherwise_is_made_anew(comparison, tmp_path):
    """By other code, under another policy, on other GPUs to a node, of other days."""
    folder = tmp_path / "results"
    assert sweep(entries_of(comparison, folder), "old") == 2
    assert sweep(entries_of(comparison, folder), "new") == 2
    wider = replace(comparison.conditions, gpus_per_node=2)
    changed = replace(comparison, conditions=wider)
    assert sweep(entries_of(changed, folder), "new") == 2
    draws = draws_of(Split.BASE, [0.4, 0.6], [1], Division(Days(0, 1), Days(2, 4)))
    moved = tuple(
        replace(recipe, draw=draw) for recipe, draw in zip(changed.recipes, draws, strict=True)
    )
    assert sweep(entries_of(replace(changed, recipes=moved), folder), "new") == 2


def test_many_at_once_write_what_one_would(entries, tmp_path):
    """To the byte, in whatever order they end."""
    sweep(entries, "code")
    alone = [entry.path.read_bytes() for entry in entries]
    for entry in entries:
        entry.path.unlink()
    told = []
    with ThreadPoolExecutor(2) as pool:
        sweep(entries, "code", Workers(pool, 2), lambda entry, _: told.append(entry.path))
    assert [entry.path.read_bytes() for entry in entries] == alone
    assert sorted(told) == [entry.path for entry in entries]


def test_a_case_that_cannot_be_made_does_not_stop_the_others(entries, comparison):
    """It is named in the end, as a wrong input and not as a fault of ours."""
    broken = replace(
        entries[0],
        comparison=replace(
            entries[0].comparison, recipes=(replace(entries[0].recipe, peak="2g:2.5"),)
        ),
    )
    with pytest.raises(ConfigError, match=r"base_0\.4: peak 2g\.10gb:2\.5: no past job"):
        sweep((broken, entries[1]), "code")
    assert read_case(entries[0].path) is None
    assert read_case(entries[1].path) is not None


def test_a_process_that_dies_ends_the_sweep(entries):
    """Not with a traceback; what was done before is kept."""

    class Dying:
        def submit(self, run, *given):
            future = Future()
            future.set_exception(BrokenExecutor())
            return future

    with pytest.raises(AutoscalerError, match="a process has died; what is done is kept"):
        sweep(entries, "code", Workers(Dying(), 1))


def test_kept_cases_hold_figures_and_no_jobs(entries):
    """Runs by policy with their ratios; small enough to be kept with the code."""
    sweep(entries, "code")
    first = read_entries(entries)[0]
    assert [run["policy"] for run in first["runs"]] == ["static-past", "unpartitioned"]
    assert first["runs"][0]["versusStaticPast"]["ratio"] == 1.0
    assert (first["gpus"], first["load"], first["code"]) == (
        first["runs"][0]["gpus"],
        0.4,
        "code",
    )
    assert entries[0].path.stat().st_size < 10_000


def test_a_file_that_is_no_result_is_refused(entries):
    """It is named."""
    entries[0].path.parent.mkdir()
    entries[0].path.write_text("[]")
    with pytest.raises(ConfigError, match=r"0.4.json: is no result of a study"):
        read_entries(entries)


def test_the_version_of_the_code_is_that_of_its_files():
    """Twelve digits, the same while nothing changes."""
    assert code_version() == code_version()
    assert len(code_version()) == 12


def test_the_same_recipe_elsewhere_has_the_same_fingerprint(comparison, tmp_path):
    """Where a trace lies does not matter, what it holds does."""
    other = tmp_path / "other.csv"
    other.write_text(TRACE)
    first = comparison.recipes[0]
    moved = CaseRecipe(TraceFile(other, "profile"), MODEL, first.draw)
    assert moved.fingerprint() == first.fingerprint()
    other.write_text(TRACE.replace("7200", "7300"))
    assert moved.fingerprint() != first.fingerprint()


def test_a_cluster_writes_what_this_process_would(entries):
    """Cases are handed over whole: a worker has no file of this machine."""
    pytest.importorskip("distributed")
    sweep(entries, "code")
    alone = [entry.path.read_bytes() for entry in entries]
    for entry in entries:
        entry.path.unlink()
    with dask_cluster() as address, dask_pool(address) as (pool, number):
        assert sweep(entries, "code", Workers(pool, number)) == 2
    assert [entry.path.read_bytes() for entry in entries] == alone
