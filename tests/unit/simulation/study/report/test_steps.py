"""Values over time and how they are thinned."""

import pytest

from autoscaler.simulation.study.report.steps import Steps, steps_of, thinned


def test_moves_add_up_by_time():
    """In any order; those of one moment together, and none after the end."""
    steps = steps_of([(30, -1), (10, 1), (10, 1), (90, 5)], 60.0)
    assert steps == Steps((0.0, 10, 30), (0.0, 2.0, 1.0), 60.0)


def test_few_steps_stay_as_they_are():
    """Nothing is averaged where all can be drawn."""
    steps = steps_of([(k, 1) for k in range(1, 6)], 10.0)
    assert thinned(steps, 6) is steps


def test_many_steps_become_means_over_equal_times():
    """0 for a second, 1 for a second and so on: half of each two, and the same area."""
    steps = steps_of([(k, 1 if k % 2 else -1) for k in range(1, 100)], 100.0)
    few = thinned(steps, 10)
    assert len(few.times_s) == 10
    assert few.values == pytest.approx([0.5] * 10)
    assert few.mean_over_s == 10.0
