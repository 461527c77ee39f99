"""Real time."""

from datetime import UTC, datetime

from autoscaler.adapters.clock import SystemClock


def test_time_is_that_of_the_machine_and_goes_on() -> None:
    """Wall clock between two looks at it, monotonic time never backwards."""
    clock = SystemClock()
    before = datetime.now(UTC).timestamp()
    assert before <= clock.now_s() <= datetime.now(UTC).timestamp()
    first = clock.monotonic_s()
    assert clock.monotonic_s() >= first


def test_a_wait_that_is_over_is_none() -> None:
    """A deadline that has passed is no error."""
    clock = SystemClock()
    clock.sleep(-1.0)
    before = clock.monotonic_s()
    clock.sleep(0.01)
    assert clock.monotonic_s() - before >= 0.009
