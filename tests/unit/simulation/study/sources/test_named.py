"""The traces that are shipped, by name."""

import hashlib

import numpy as np
import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.measured import measured_jobs
from autoscaler.simulation.study.sources.named import source_named
from autoscaler.simulation.study.splits import Draw, Split
from autoscaler.simulation.study.trace_file import read_trace, shipped_trace
from tests.studies import MODEL, ONE, THREE, WHOLE

HOUR_S = 3600.0


def rows(name, column="", seed=0):
    return source_named(name, column).seeded(seed).read(MODEL).rows


def test_openb_is_the_trace_of_studies():
    """By its usual column where none is named."""
    assert rows("openb") == read_trace(shipped_trace(), "mig_share").rows
    assert rows("openb", "mig_v100eq") == read_trace(shipped_trace(), "mig_v100eq").rows


def test_msitp_has_the_gpu_hours_that_its_source_states():
    """All of its jobs, on whole GPUs."""
    found = rows("msitp")
    assert len(found) == 69351
    hours = sum(row.run_s * row.count for row in found) / HOUR_S
    assert hours == pytest.approx(1_632_719.7, abs=0.1)
    assert {row.profile for row in found} == {"7g"}


def test_one_cluster_of_msitp_is_part_of_it():
    """The smallest has 260 jobs; each is in the whole too."""
    part = rows("msitp:10")
    assert len(part) == 260
    assert set(part) <= set(rows("msitp"))


def test_mixed_sizes_are_drawn_for_jobs_of_one_gpu_only():
    """As often as they are in the other trace; run times and arrivals stay."""
    whole, mixed = rows("msitp:1"), rows("msitp:1", "mixed_share", seed=3)
    assert [(r.arrival_s, r.run_s, r.count) for r in mixed] == [
        (r.arrival_s, r.run_s, r.count) for r in whole
    ]
    assert {r.profile for r in mixed if r.count > 1} == {"7g"}
    single = [r.profile for r in mixed if r.count == 1]
    sizes = [r.profile for r in read_trace(shipped_trace(), "mig_share").rows if r.count == 1]
    for share in ("3g", "4g", "7g"):
        expected = sizes.count(share) / len(sizes)
        spread = 4 * (expected * (1 - expected) / len(single)) ** 0.5
        assert single.count(share) / len(single) == pytest.approx(expected, abs=spread)
    assert mixed != rows("msitp:1", "mixed_share", seed=4)
    assert mixed == rows("msitp:1", "mixed_share", seed=3)


def test_mixed_sizes_say_that_they_are_semi_synthetic():
    """And whole ones do not."""
    trace = source_named("msitp:1", "mixed_share").read(MODEL)
    assert "semi-synthetic" in trace.notices[0]
    assert source_named("msitp:1").read(MODEL).notices == ()


def test_jobs_of_miso_run_longer_on_smaller_instances():
    """A transformer of batch 32, which takes 120 s on a whole GPU, at its measured speeds."""
    first = measured_jobs(slowest=0.0)[0]
    assert (first.profile, dict(first.run_on_s)["7g"]) == ("1g", 120.0)
    assert first.run_s == pytest.approx(120.0 / 0.163)
    assert dict(first.run_on_s)["3g"] == pytest.approx(120.0 / 0.5328)
    half = measured_jobs(slowest=0.5)[0]
    assert (half.profile, half.run_s) == ("3g", pytest.approx(120.0 / 0.5328))
    whole = measured_jobs(slowest=1.0)[0]
    assert (whole.profile, whole.run_s) == ("7g", 120.0)


def test_a_job_of_miso_asks_for_no_instance_that_it_does_not_fit_on():
    """A transformer of batch 128 was not measured below half a GPU."""
    sizes = {row.profile for row in measured_jobs(slowest=0.0)}
    assert sizes == {"1g", "2g", "3g"}
    large = [row for row in measured_jobs(slowest=0.0) if row.profile == "3g"]
    assert all("2g" not in dict(row.run_on_s) for row in large)


def test_jobs_of_miso_come_in_batches_as_its_simulator_draws_them():
    """A third with a mean gap of 30 s, the others of 60 s: 50 s on average."""
    found = rows("miso")
    gaps = np.diff([row.arrival_s for row in found])
    assert float(gaps.mean()) == pytest.approx(50.0, rel=0.05)
    assert all(gap == int(gap) for gap in gaps.tolist())
    assert found[-1].arrival_s < 4 * DAY_S
    first = sorted((r.line, r.run_s) for r in found[:100])
    assert first == sorted((r.line, r.run_s) for r in measured_jobs(slowest=0.0))
    assert found != rows("miso", seed=1)


def test_a_case_of_miso_carries_the_run_times_by_profile():
    """So that whoever gets a larger instance is done sooner."""
    recipe = CaseRecipe(source_named("miso"), MODEL, Draw(Split.BASE, 0.5, 1))
    job = next(j for j in recipe.build().present.jobs if j.profile == ONE)
    assert job.run_time_s(ONE) == job.run_s
    assert job.run_time_s(WHOLE) < job.run_time_s(THREE) < job.run_time_s(ONE)


def test_what_is_drawn_differs_by_seed_and_says_so():
    """In the name of the case and in that of its file."""
    mixed = source_named("msitp:1", "mixed_share")
    recipe = CaseRecipe(mixed, MODEL, Draw(Split.BASE, 0.5, 7))
    assert recipe.is_drawn
    assert recipe.build().name == "msitp:1 mixed_share base load 0.5 seed 7"
    assert recipe.label == "msitp-1_mixed_share_base_0.5_seed-7"
    plain = CaseRecipe(source_named("openb"), MODEL, Draw(Split.BASE, 0.5, 7))
    assert not plain.is_drawn


@pytest.mark.parametrize(
    ("name", "column", "words"),
    [
        ("msitp", "mig_share", "msitp has no column mig_share; columns: whole, mixed_share"),
        ("msitp:11", "", "msitp has no cluster 11"),
        ("miso", "1g", "miso has no column 1g; columns: fit, half, whole"),
        ("miso:2", "", "miso has no parts"),
        ("openb:2", "", "openb has no parts"),
        ("opnb", "", "opnb: cannot be read"),
        ("openb", "mig", "there is no column mig"),
    ],
)
def test_names_of_nothing_are_refused(name, column, words):
    """With what there is."""
    with pytest.raises(ConfigError, match=words):
        source_named(name, column).read(MODEL)


def test_the_shipped_files_are_those_that_are_cited():
    """A change of a byte would change every study."""
    digests = {
        "msitp_jobs.csv.gz": "5769fcea0802919b",
        "miso_jobs.csv": "bc762f38ea79ea29",
        "miso_speeds.csv": "6935edac029067a4",
    }
    for name, digest in digests.items():
        assert hashlib.sha256(shipped_trace(name).read_bytes()).hexdigest()[:16] == digest
