"""How long a closed GPU waits for its holders."""

from math import exp, inf

import pytest

from autoscaler.planning.program.drain import Stay, drain_of

DEADLINE_S = 1200.0


def test_a_known_end_is_waited_for():
    """Nothing is left to chance where the API says when a pod is gone."""
    found = drain_of((Stay(gone_in_s=300.0),), DEADLINE_S)
    assert found.chance == 1.0
    assert found.wait_s == pytest.approx(300.0)


def test_who_never_ends_is_waited_for_in_vain():
    """The wait is over at the deadline, and the change is given up."""
    found = drain_of((Stay(),), DEADLINE_S)
    assert (found.chance, found.wait_s) == (0.0, pytest.approx(DEADLINE_S))


def test_a_memoryless_stay_has_its_closed_form():
    """The integral of a single exponential stay is known."""
    found = drain_of((Stay(mean_s=600.0),), DEADLINE_S)
    assert found.chance == pytest.approx(1.0 - exp(-2.0))
    assert found.wait_s == pytest.approx(600.0 * (1.0 - exp(-2.0)), rel=1e-3)


def test_the_last_of_several_is_waited_for():
    """With two alike, the chance is squared and the wait is longer than for one."""
    one = drain_of((Stay(mean_s=600.0),), DEADLINE_S)
    two = drain_of((Stay(mean_s=600.0),) * 2, DEADLINE_S)
    assert two.chance == pytest.approx(one.chance**2)
    # Each of two stays 600 s, together they overlap for 300 s in the mean.
    assert two.wait_s > one.wait_s
    assert two.stays_s == (pytest.approx(one.wait_s),) * 2


def test_a_deadline_ends_a_stay_without_one():
    """Who may end at any time is gone by its own deadline all the same."""
    found = drain_of((Stay(mean_s=inf, gone_in_s=100.0), Stay(600.0, 400.0)), DEADLINE_S)
    assert found.chance == 1.0
    assert 100.0 < found.wait_s < 400.0
