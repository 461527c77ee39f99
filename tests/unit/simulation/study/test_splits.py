"""Cases of the real trace, whose sizes are known from an independent experiment."""

import pytest

from autoscaler.domain.errors import ConfigError
from autoscaler.simulation.study.splits import (
    DAY_S,
    Days,
    Division,
    Draw,
    Split,
    build_case,
    fleet_size,
    resampled,
)
from autoscaler.simulation.study.trace_file import read_trace, shipped_trace
from tests.studies import MODEL, ONE, WHOLE, work

SHARE, EQUIVALENT = "mig_share", "mig_v100eq"


def case(column, load, split=Split.BASE, seed=0):
    return build_case(
        read_trace(shipped_trace(), column), column, MODEL, Draw(split, load, seed)
    )


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        (SHARE, {0.3: 22, 0.4: 16, 0.5: 13, 0.6: 11, 0.7: 9, 0.8: 8, 0.9: 7, 0.95: 7}),
        (EQUIVALENT, {0.3: 12, 0.4: 9, 0.5: 7, 0.6: 6, 0.7: 5, 0.8: 4, 0.95: 3}),
    ],
)
def test_fleets_are_as_large_as_their_load_needs(column, sizes):
    """The GPUs that the jobs of the test days fill to each load."""
    assert {load: case(column, load).gpus for load in sizes} == sizes


def test_the_base_split_has_its_known_jobs():
    """3,387 jobs to learn from and 3,005 to be judged on; swapped the other way round."""
    base, swapped = case(SHARE, 0.5), case(SHARE, 0.5, Split.SWAPPED)
    assert (len(base.past.jobs), len(base.present.jobs)) == (3387, 3005)
    assert (swapped.past, swapped.present) == (base.present, base.past)


def test_no_job_is_shorter_than_a_second_or_longer_than_a_day():
    """Longer ones are services, and no job takes no time."""
    runs = [job.run_s for job in case(SHARE, 0.5).present.jobs]
    assert min(runs) >= 1.0
    assert max(runs) <= DAY_S


def test_resampled_days_keep_the_time_of_day():
    """Each day is one of the past, moved as a whole; the seed chooses."""
    base, drawn = case(SHARE, 0.5).present, case(SHARE, 0.5, Split.RESAMPLED, 3).present
    known = {(j.arrival_s % DAY_S, j.run_s, j.profile) for j in base.jobs}
    assert {(j.arrival_s % DAY_S, j.run_s, j.profile) for j in drawn.jobs} <= known
    assert drawn == resampled(base, 3)
    assert drawn != resampled(base, 4)
    assert [j.number for j in drawn.jobs] == list(range(len(drawn.jobs)))


def test_a_fleet_holds_the_work_at_its_load():
    """Two GPUs for half a day of seven slices on each of four at load 0.25."""
    load = work((0, 43_200, WHOLE))
    assert fleet_size(load, MODEL, 0.25) == 2
    assert fleet_size(load, MODEL, 0.5) == 1
    with pytest.raises(ConfigError, match="more than all the work"):
        fleet_size(work((0, 60, ONE)), MODEL, 0.5)


def test_odd_wishes_are_refused():
    """No load, no days, no jobs on the days."""
    with pytest.raises(ConfigError, match="load of 0"):
        case(SHARE, 0)
    with pytest.raises(ConfigError, match="no days"):
        Days(5, 5)
    far = Draw(Split.BASE, 0.5, division=Division(Days(115, 134), Days(900, 901)))
    with pytest.raises(ConfigError, match="no job arrived on days 900 to 901"):
        build_case(read_trace(shipped_trace(), SHARE), SHARE, MODEL, far)
