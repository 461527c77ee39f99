"""Health: two clocks, and an allowance at the start."""

import pytest

from autoscaler.serving.health import Health, limits_for


class Hand:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def health(hand):
    return Health(hand)


def test_a_fresh_process_is_healthy_and_not_ready(health):
    """The first cycle has as long as later ones."""
    assert health.ailment() == ""
    assert health.obstacle() == "no policy is loaded yet"


def test_a_loop_that_never_moves_is_ill(health, hand):
    """Ten minutes after the start."""
    hand.now_s += 600.0
    assert health.ailment() == ""
    hand.now_s += 1.0
    assert health.ailment() == "the loop has not moved for 601 s"


def test_a_loop_that_runs_in_circles_is_ill(health, hand):
    """It moves, but no cycle succeeds for a quarter of an hour."""
    for _ in range(31):
        hand.now_s += 30.0
        health.begin(30.0)
        health.end(succeeded=False)
    assert health.ailment() == "no cycle has succeeded for 930 s"
    health.end(succeeded=True)
    assert health.ailment() == ""


def test_a_cycle_that_hangs_is_ill(health, hand):
    """It began and does not end."""
    health.begin(30.0)
    health.end(succeeded=True)
    hand.now_s += 30.0
    health.begin(30.0)
    hand.now_s += 601.0
    assert health.ailment() == "the loop has not moved for 601 s"


def test_a_slow_pace_is_no_illness(health, hand):
    """With a cycle every ten minutes the limits are wider."""
    health.begin(600.0)
    health.end(succeeded=True)
    hand.now_s += 650.0
    assert health.ailment() == ""
    limits = limits_for(600.0)
    assert limits.activity_s > 600.0
    assert limits.success_s > limits.activity_s


def test_ready_means_a_policy_and_one_observation(health):
    """An observation counts for good: what fails later is told by other means."""
    health.begin(30.0)
    health.end(succeeded=False)
    assert health.obstacle() == "the cluster has not been observed yet"
    health.end(succeeded=True, observed=True)
    health.end(succeeded=False)
    assert health.obstacle() == ""
