"""Workloads that are drawn."""

from statistics import mean, median

import numpy as np
import pytest
from pydantic import ValidationError

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.recipe import CaseRecipe
from autoscaler.simulation.study.sources.diurnal import Diurnal
from autoscaler.simulation.study.sources.inference import InferenceFleet
from autoscaler.simulation.study.sources.pipelines import Pipelines
from autoscaler.simulation.study.sources.rhythm import draw_runs_s, mean_run_s, mean_slices
from autoscaler.simulation.study.sources.synthetic import Synthetic, synthetic_named
from autoscaler.simulation.study.splits import Draw, Split
from tests.studies import MODEL

HOUR_S = 3600.0
WEEKS = 4


def rows(part, days=7 * WEEKS, seed=5):
    return Synthetic((part,), days, seed).read(MODEL).rows


def hour_of(row):
    return int(row.arrival_s % DAY_S // HOUR_S)


def day_of(row):
    return int(row.arrival_s // DAY_S)


def slices(row):
    return int(row.profile.removesuffix("g"))


def test_diurnal_jobs_fill_as_many_gpus_as_was_asked_for():
    """On working days, on average; with run times that vary little."""
    part = Diurnal(busy_gpus=20.0, weekend=1.0, spread=0.5)
    work = sum(slices(row) * row.run_s for row in rows(part))
    assert work / (7 * 7 * WEEKS * DAY_S) == pytest.approx(20.0, rel=0.05)


def test_diurnal_jobs_follow_the_day_and_the_week():
    """The busiest hour has four times the jobs of the quietest at a depth of 0.6."""
    found = rows(Diurnal(busy_gpus=8.0, spread=0.5, weekend=0.5))
    by_hour = [sum(hour_of(r) == hour for r in found) for hour in range(24)]
    assert by_hour[15] / by_hour[3] == pytest.approx(4.0, rel=0.25)
    weekend = sum(day_of(r) % 7 >= 5 for r in found) / 2
    working = sum(day_of(r) % 7 < 5 for r in found) / 5
    assert weekend / working == pytest.approx(0.5, rel=0.1)


def test_sizes_are_drawn_by_their_shares():
    """Shares need not add up to one."""
    found = [r.profile for r in rows(Diurnal(mix={"1g": 3, "7g": 1}, spread=0.5))]
    assert set(found) == {"1g", "7g"}
    assert found.count("1g") / len(found) == pytest.approx(0.75, abs=0.03)


def test_run_times_have_the_median_and_the_mean_that_loads_are_reckoned_from():
    """None is longer than a day, which lowers the mean where they spread much."""
    for spread in (0.5, 1.7, 2.5):
        drawn = draw_runs_s(np.random.default_rng(1), 600.0, spread, 200_000)
        assert median(drawn) == pytest.approx(600.0, rel=0.03)
        assert mean(drawn) == pytest.approx(mean_run_s(600.0, spread), rel=0.03)
        assert max(drawn) <= DAY_S
    assert mean_slices({"1g": 1.0, "7g": 1.0}) == 4.0


def test_pipelines_come_in_bursts_in_working_hours():
    """A push starts several jobs within a minute; nights have one run of their own."""
    part = Pipelines(pushes_per_hour=2.0, idle=0.0, jobs_per_push=6.0, nightly=40.0)
    found = rows(part)
    nightly = [r for r in found if hour_of(r) == 2]
    assert len(nightly) == 40 * 7 * WEEKS
    pushed = [r for r in found if hour_of(r) != 2]
    # The last push of a day may come a minute before the end.
    assert {hour_of(r) for r in pushed} <= set(range(9, 20))
    assert all(day_of(r) % 7 < 5 for r in pushed)
    assert len(pushed) / (2.0 * 10 * 5 * WEEKS) == pytest.approx(6.0, rel=0.1)
    gaps = np.diff([r.arrival_s for r in pushed])
    assert float((gaps < 60.0).mean()) > 0.7


def test_replicas_follow_the_day():
    """As many at once as the service wants, at any moment of any day."""
    part = InferenceFleet(services=1, replicas=20.0, jitter=0.0, weekend=1.0)
    found = rows(part)
    most = max(_alive(found, 3 * DAY_S + minute * 60.0) for minute in range(0, 1440, 15))
    for hour in range(24):
        at_s = 5 * DAY_S + hour * HOUR_S
        level = part.wanted(most, at_s)
        assert _alive(found, at_s + 1.0) == pytest.approx(level, abs=1)
    quiet = _alive(found, 5 * DAY_S + 8 * HOUR_S)
    assert quiet / most == pytest.approx(0.3, abs=0.05)


def _alive(found, at_s):
    return sum(r.arrival_s <= at_s < r.arrival_s + r.run_s for r in found)


def test_no_replica_outlives_a_day():
    """A new version replaces all of them, so none is a service that studies leave out."""
    found = rows(InferenceFleet())
    assert max(r.run_s for r in found) <= DAY_S
    assert mean(r.run_s for r in found) > 3 * HOUR_S


def test_one_workload_more_changes_nothing_of_the_others():
    """Each has a stream of its own."""
    one = Synthetic((Diurnal(),), 7, 3).read(MODEL).rows
    both = Synthetic((Diurnal(), Pipelines()), 7, 3).read(MODEL).rows
    assert set(one) <= set(both)
    assert len(both) > len(one)


@pytest.mark.parametrize("name", ["diurnal", "inference", "diurnal+inference"])
def test_the_seed_decides(name):
    """The same jobs for the same seed, others for another, in order of arrival."""
    source = synthetic_named(name)
    first = source.seeded(1).read(MODEL)
    assert first == source.seeded(1).read(MODEL)
    assert first.rows != source.seeded(2).read(MODEL).rows
    assert [r.arrival_s for r in first.rows] == sorted(r.arrival_s for r in first.rows)
    assert source.seeded(1).fingerprint() != source.seeded(2).fingerprint()
    assert "drawn, not recorded" in first.notices[0]


def test_the_load_sets_the_size_of_the_fleet():
    """Or the other way round, where the fleet is given."""
    source = synthetic_named("inference")
    half = CaseRecipe(source, MODEL, Draw(Split.BASE, 0.4, 1)).build()
    full = CaseRecipe(source, MODEL, Draw(Split.BASE, 0.8, 1)).build()
    assert half.gpus == pytest.approx(2 * full.gpus, abs=1)
    given = CaseRecipe(source, MODEL, Draw(Split.BASE, 0.8, 1, gpus=40)).build()
    assert given.gpus == 40
    assert len(given.present.jobs) > len(full.present.jobs)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (Diurnal, "busy_gpus", 0.0),
        (Diurnal, "mix", {}),
        (Diurnal, "mix", {"1g": 0.0}),
        (Diurnal, "mix", {"1g": -1.0}),
        (Diurnal, "mix", {"9g": 1.0}),
        (Diurnal, "depth", 1.5),
        (Pipelines, "start_hour", 24.0),
        (Pipelines, "nightly", -1.0),
        (InferenceFleet, "services", 0),
        (InferenceFleet, "replicas", float("nan")),
    ],
)
def test_parameters_that_mean_nothing_are_refused(kind, field, value):
    """Each on its own."""
    with pytest.raises(ValidationError):
        kind(**{field: value})


def test_unknown_workloads_are_refused():
    """With those that there are."""
    with pytest.raises(ConfigError, match=r"'dirunal' is no workload.*diurnal, ci, inference"):
        synthetic_named("ci+dirunal")


def test_work_may_begin_within_an_hour():
    """From half past nine to a quarter to ten; by the pace of an hour, nobody else pushes."""
    part = Pipelines(
        pushes_per_hour=40.0,
        idle=0.0,
        nightly=0.0,
        jobs_per_push=1.0,
        start_hour=9.5,
        end_hour=9.75,
    )
    found = [row for row in rows(part) if day_of(row) < 5]
    seconds = [row.arrival_s % DAY_S for row in found]
    # A job follows its push within a minute.
    assert 9.5 * HOUR_S <= min(seconds) <= max(seconds) < 9.75 * HOUR_S + 60
    assert len(found) == pytest.approx(5 * 10, rel=0.5)
