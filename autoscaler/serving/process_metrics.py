"""Metrics of the process that runs the loop; those of its cycles are the loop's own."""

from collections.abc import Iterator

from autoscaler import __version__
from autoscaler.control.metric_catalog import METRICS_GAP, counter, gauge
from autoscaler.control.telemetry import Sample, Telemetry

BUILD = gauge("build_info", "Always 1; the label tells the version.", "version")
CRASHES = counter("loop_exceptions", "Cycles that ended by a fault of our own.")
MISSED = counter("cycles_missed", "Cycles left out because the one before was not over.")
RELOADS = counter("policy_reloads", "Changes of the policy file, by what it was.", "result")
POLICY_ERROR = gauge("policy_invalid", "Whether the policy file as it is now is wrong.")
POLICY_LOADED = gauge(
    "policy_last_success_timestamp_seconds", "When the policy in force was read."
)
RESULTS = ("good", "bad")

PROCESS_METRICS = (BUILD, CRASHES, MISSED, RELOADS, POLICY_ERROR, POLICY_LOADED)


def process_start(now_s: float) -> Telemetry:
    """Return what is true when the process has just started, with a good policy."""
    gauges = (
        Sample(BUILD, 1.0, (__version__,)),
        Sample(POLICY_ERROR, 0.0),
        Sample(POLICY_LOADED, now_s),
        # Nothing has been observed yet.
        Sample(METRICS_GAP, 1.0),
    )
    zeros = [Sample(CRASHES, 0.0), Sample(MISSED, 0.0)]
    zeros += [Sample(RELOADS, 0.0, (result,)) for result in RESULTS]
    return Telemetry(gauges, tuple(zeros))


def crashed() -> Telemetry:
    """Return what a fault of our own changes."""
    return Telemetry(increments=(Sample(CRASHES, 1.0),))


def missed() -> Telemetry:
    """Return what a cycle that was left out changes."""
    return Telemetry(increments=(Sample(MISSED, 1.0),))


def reloaded(now_s: float, *, is_good: bool) -> Telemetry:
    """Return what a changed policy file changes."""

    def gauges() -> Iterator[Sample]:
        yield Sample(POLICY_ERROR, float(not is_good))
        if is_good:
            yield Sample(POLICY_LOADED, now_s)

    result = RESULTS[0] if is_good else RESULTS[1]
    return Telemetry(tuple(gauges()), (Sample(RELOADS, 1.0, (result,)),))
