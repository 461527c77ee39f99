"""Names of all metrics, with help, kind and labels.

Values are made in ``telemetry``; whoever serves them needs nothing but these two.
"""

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "mig_autoscaler_"


class Kind(StrEnum):
    """Kinds of Prometheus metrics."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Parameters
    ----------
    name
        Without the prefix, and without the ``_total`` that counters end in.
    buckets
        Upper bounds of a histogram.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        """Name as exported."""
        suffix = "_total" if self.kind is Kind.COUNTER else ""
        return f"{PREFIX}{self.name}{suffix}"


def counter(name: str, text: str, *labels: str) -> Metric:
    """Return a counter."""
    return Metric(name, Kind.COUNTER, text, labels)


def gauge(name: str, text: str, *labels: str) -> Metric:
    """Return a gauge."""
    return Metric(name, Kind.GAUGE, text, labels)


CYCLES = counter("cycles", "Cycles of the loop, by how far they came.", "decision")
CYCLE_SECONDS = Metric(
    "cycle_duration_seconds",
    Kind.HISTOGRAM,
    "Time one cycle took.",
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
LAST_SUCCESS = gauge(
    "cycle_last_success_timestamp_seconds", "When a cycle last came to its end."
)
ERRORS = counter("errors", "Failures met in cycles.")
LEADER = gauge("leader", "Whether this replica holds the lease of its mode.")
MODE = gauge("mode", "1 for the mode in force.", "mode")
PAUSED = gauge("paused", "Whether an operator paused the product.")
SAFE_TO_ACT = gauge("safe_to_act", "Whether the mode acts and the view is complete.")
WINDOW_OPEN = gauge("window_open", "Whether changes may start by the calendar.")
WINDOW_OPENS = gauge(
    "window_next_open_timestamp_seconds",
    "When the next maintenance window opens; 0 when none does, now when one is open.",
)
METRICS_GAP = gauge("metrics_gap", "Whether metrics are missing or partial.")
NODES = gauge("nodes", "Nodes of each pool, by what may be done with them.", "pool", "state")
HOLDS = gauge("holds", "Nodes that are left alone, by reason.", "reason")
REQUESTED = gauge(
    "requested_instances",
    "Instances asked for by pods that wait, and held by pods that run.",
    "pool",
    "profile",
    "phase",
)
SUPPLY = gauge("advertised_instances", "Instances that nodes advertise.", "pool", "profile")
FREE = gauge("free_instances", "Advertised instances that no pod holds.", "pool", "profile")
UNSERVED = gauge("unserved_pods", "Pods that the plan cannot serve, by reason.", "reason")
CHANGES = gauge("proposed_changes", "Node changes that the plan proposes.")
BLOCKED = gauge("blocked_changes", "Proposed changes that may not start, by reason.", "reason")
GAIN = gauge("plan_gain_slice_seconds", "Gain of all proposed changes.")
COST = gauge("plan_cost_slice_seconds", "Cost of all proposed changes.")
OPTIMALITY_GAP = gauge("plan_optimality_gap_ratio", "Proven distance to the best plan.")
OPEN_ROLLOUTS = gauge("open_rollouts", "Rollouts that are open, by state.", "state")
PLACEHOLDERS = gauge(
    "placeholders", "Placeholder pods: bound, or waiting for a whole GPU.", "pool", "state"
)
ROLLOUTS = counter("rollouts", "Rollouts that ended, by result.", "result")
ROLLOUT_SECONDS = Metric(
    "rollout_duration_seconds",
    Kind.HISTOGRAM,
    "Time from the closing of a node to its release.",
    ("result",),
    (60.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0),
)
EVICTIONS = counter("evictions", "Evictions asked for, by answer.", "answer")
QUARANTINED = gauge("quarantined_nodes", "Nodes left alone after a failure.")
SERVICE_SECONDS = Metric(
    "service_duration_seconds",
    Kind.HISTOGRAM,
    "Time pods held their instances, from their start to their end.",
    ("pool", "profile"),
    (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3000.0, 6000.0, 12000.0, 36000.0, 86400.0),
)

CATALOG: tuple[Metric, ...] = (
    CYCLES,
    CYCLE_SECONDS,
    LAST_SUCCESS,
    ERRORS,
    LEADER,
    MODE,
    PAUSED,
    SAFE_TO_ACT,
    WINDOW_OPEN,
    WINDOW_OPENS,
    METRICS_GAP,
    NODES,
    HOLDS,
    REQUESTED,
    SUPPLY,
    FREE,
    UNSERVED,
    CHANGES,
    BLOCKED,
    GAIN,
    COST,
    OPTIMALITY_GAP,
    OPEN_ROLLOUTS,
    PLACEHOLDERS,
    ROLLOUTS,
    ROLLOUT_SECONDS,
    EVICTIONS,
    QUARANTINED,
    SERVICE_SECONDS,
)
