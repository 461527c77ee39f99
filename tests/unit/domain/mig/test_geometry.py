"""Geometries of one GPU."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance

SMALL, LARGE = GpuInstance(0, 1, "1g.5gb"), GpuInstance(4, 4, "3g.20gb")


def test_instances_are_kept_in_placement_order():
    """The order in which they are given says nothing."""
    assert Geometry((LARGE, SMALL)) == Geometry((SMALL, LARGE))
    assert str(Geometry((LARGE, SMALL))) == "1g.5gb@0 3g.20gb@4"


def test_counts_forget_placements():
    """How many of each profile."""
    geometry = Geometry((SMALL, GpuInstance(1, 1, "1g.5gb"), LARGE))
    assert geometry.counts == Counts({"1g.5gb": 2, "3g.20gb": 1})


def test_overlapping_instances_are_refused():
    """No memory slice belongs to two instances."""
    with pytest.raises(ValueError, match=r"2g\.10gb@3 overlaps 3g\.20gb@4"):
        Geometry((LARGE,)).plus(GpuInstance(3, 2, "2g.10gb"))


@pytest.mark.parametrize(("start", "size"), [(-1, 1), (0, 0)])
def test_an_impossible_placement_is_refused(start, size):
    """A start below 0 or a size below 1."""
    with pytest.raises(ValueError, match="no such placement"):
        GpuInstance(start, size, "1g.5gb")


def test_minus_takes_away_one_instance():
    """What is not there changes nothing."""
    assert Geometry((SMALL, LARGE)).minus(SMALL) == Geometry((LARGE,))
    assert Geometry((LARGE,)).minus(SMALL) == Geometry((LARGE,))
