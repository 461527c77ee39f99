"""The season: real rhythms count, those of chance do not."""

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from autoscaler.planning.forecasting.season import hour_of_week, hours_of_week, season_of
from autoscaler.planning.past.demand_history import Grid
from tests.pasts import DAY_S, HOUR_S, MONDAY_S

HOURS = np.arange(4 * 168)
EVEN = np.ones(len(HOURS))


def season(values, hours=HOURS):
    """Return the season of hourly samples that begin on Monday at midnight."""
    own = np.asarray(values, dtype=float)
    return season_of(own, hours[: len(own)] % 168, EVEN[: len(own)], HOUR_S)


def test_a_rhythm_that_repeats_is_taken_as_it_is():
    """Day for day the same: nothing is left beyond it."""
    nights = np.where(HOURS % 24 < 6, 8.0, 0.0)
    found = season(nights)
    assert found.level == pytest.approx(nights[:168])
    assert found.rest == pytest.approx(np.zeros(len(HOURS)), abs=1e-9)


def test_days_of_the_week_have_rhythms_of_their_own():
    """Weekends without work."""
    work = np.where((HOURS % 168 < 120) & (HOURS % 24 < 12), 10.0, 0.0)
    found = season(work)
    assert found.level[3] == pytest.approx(10.0)
    assert found.level[123] == pytest.approx(0.0, abs=1e-9)


def test_chance_is_no_rhythm():
    """The last week repeats nothing of what the weeks before seemed to show."""
    noise = np.random.default_rng(7).normal(10, 3, len(HOURS))
    found = season(noise)
    assert found.level.std() < 0.5


def test_a_rhythm_that_has_ended_is_not_gone_by():
    """For three weeks it held, in the last it did not."""
    nights = np.where((HOURS % 24 < 6) & (HOURS < 3 * 168), 8.0, 0.0)
    assert season(nights).level.std() < 0.01


def test_the_fit_does_not_look_better_than_it_is():
    """What is beyond the season spreads as widely as new samples would."""
    rng = np.random.default_rng(5)
    rhythm = np.where(HOURS % 168 < 84, 20.0, 0.0)
    found = season(rhythm[: 2 * 168] + rng.normal(0, 2, 2 * 168))
    fresh = rhythm[:168] + rng.normal(0, 2, 168) - found.level
    assert found.rest.std() > 0.85 * fresh.std()


@pytest.mark.parametrize("values", [[], [np.nan] * 50, [4.0], [4.0] * 100])
def test_with_nothing_to_learn_from_there_is_no_season(values):
    """The level is the same at all hours."""
    found = season(values)
    assert len(set(np.round(found.level, 9))) == 1
    assert len(found.rest) == len(values)


def test_holes_are_no_low_hours():
    """Every other night is not known; the others say what nights are."""
    nights = np.where(HOURS % 24 < 6, 8.0, 0.0)
    nights[(HOURS // 24 % 2 == 0) & (HOURS % 24 < 6)] = np.nan
    found = season(nights)
    assert found.level[2] == pytest.approx(8.0)
    assert np.isnan(found.rest).sum() == np.isnan(nights).sum()


@pytest.mark.parametrize(
    ("zone", "moved"), [("UTC", 0), ("Europe/Berlin", 1), ("Asia/Shanghai", 0)]
)
def test_hours_are_those_of_local_clocks(zone, moved):
    """So habits keep their hour when clocks are put forward, here on 29 March 2026."""
    own, winter_s = ZoneInfo(zone), 1_774_000_800.0
    spring_s = winter_s + 14 * DAY_S
    assert hour_of_week(spring_s, own) - hour_of_week(winter_s, own) == moved
    grid = Grid(winter_s, HOUR_S, 15 * 24)
    hours = hours_of_week(grid, zone)
    assert hours.tolist() == [hour_of_week(s, own) for s in grid.times_s()]


def test_the_week_begins_on_monday_at_midnight():
    """Also in zones that lie half an hour or a quarter beside the others."""
    assert hours_of_week(Grid(MONDAY_S, HOUR_S, 2), "UTC").tolist() == [0, 1]
    grid = Grid(MONDAY_S, 300.0, 12)
    nepal = hours_of_week(grid, "Asia/Kathmandu").tolist()
    assert nepal == [5] * 3 + [6] * 9
