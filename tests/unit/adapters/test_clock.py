"""Real time."""

from time import time_ns

from autoscaler.adapters.clock import SystemClock


def test_time_is_that_of_the_machine_and_goes_on() -> None:
    """Wall clock between two looks at it, monotonic time never backwards."""
    clock = SystemClock()
    before = time_ns()
    now_s = clock.now_s()
    # A float of seconds is coarser than the clock.
    assert before / 1e9 - 1e-3 <= now_s <= time_ns() / 1e9 + 1e-3
    first = clock.monotonic_s()
    assert clock.monotonic_s() >= first


def test_a_wait_that_is_over_is_none() -> None:
    """A deadline that has passed is no error."""
    SystemClock().sleep(-1.0)
