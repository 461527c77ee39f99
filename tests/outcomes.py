"""Outcomes of cycles for tests: a quiet one by default."""

from dataclasses import replace
from typing import Any

from autoscaler.control.leadership import Standing
from autoscaler.control.memory import FRESH
from autoscaler.control.outcome import CycleOutcome, Decision, View
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.fleet.snapshot import Snapshot
from autoscaler.domain.plan.plan import Plan
from tests.builders import NOW_S, snapshot


def view(fleet: Snapshot | None = None, **changes: Any) -> View:
    """Return a complete view of one idle node."""
    own = View(Observation(NOW_S), fleet or snapshot(), Demand())
    return replace(own, **changes)


def plan(*changes: Any, **more: Any) -> Plan:
    """Return a plan of these changes."""
    return replace(Plan("p", NOW_S, "test", "hash", "auto", changes=changes), **more)


def outcome(**changes: Any) -> CycleOutcome:
    """Return the outcome of a cycle of a leader that planned nothing."""
    own = CycleOutcome(
        decision=Decision.PLANNED,
        message="nothing to change",
        started_s=NOW_S,
        ended_s=NOW_S + 0.5,
        standing=Standing(is_leader=True, epoch=1, holder="me"),
        memory=FRESH,
        view=view(),
        plan=plan(),
    )
    return replace(own, **changes)
