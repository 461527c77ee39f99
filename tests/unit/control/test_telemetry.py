"""Metrics: names that promtool accepts, zeros from the start, values of a cycle."""

import re

import pytest

from autoscaler.control import metric_catalog as catalog
from autoscaler.control.metric_catalog import CATALOG, Kind
from autoscaler.control.outcome import Decision
from autoscaler.control.rollouts import Progress
from autoscaler.control.service_time import ServiceTime
from autoscaler.control.telemetry import initial_telemetry, telemetry_of
from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.rollout import Result, State
from autoscaler.domain.plan.plan import Price
from autoscaler.domain.policy.policy import Disruption, Mode
from autoscaler.domain.reasons import Block, Hold, PodNote, Reason
from tests.builders import NOW_S, fleet_node, snapshot
from tests.fleets import policy
from tests.outcomes import outcome, plan, view
from tests.rollouts import change, journal


def gauge(metric, *labels, **changes):
    """Return one gauge after a cycle, ``None`` when it is absent."""
    rules = changes.pop("policy", policy(mode=Mode.AUTO))
    found = telemetry_of(outcome(**changes), rules).gauges
    return next((s.value for s in found if (s.metric, s.labels) == (metric, labels)), None)


@pytest.mark.parametrize("metric", CATALOG, ids=lambda m: m.name)
def test_names_follow_prometheus(metric):
    """Base units in plural, ``_total`` for counters only, a help that is a sentence."""
    assert re.fullmatch(r"mig_autoscaler_[a-z][a-z_]*[a-z]", metric.full_name)
    assert metric.full_name.endswith("_total") is (metric.kind is Kind.COUNTER)
    assert metric.help.endswith(".")
    assert bool(metric.buckets) is (metric.kind is Kind.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert not re.search(r"_(count|sum|bucket|info)$", metric.name)


def test_every_metric_is_in_the_catalog_once():
    """Names are a contract."""
    assert len({m.full_name for m in CATALOG}) == len(CATALOG)


def test_closed_label_sets_are_there_before_the_first_cycle():
    """So that a first failure is a step and not a new series."""
    first = initial_telemetry()
    found = {(s.metric.name, *s.labels): s.value for s in (*first.gauges, *first.increments)}
    assert set(found.values()) == {0}
    for result in Result:
        assert ("rollouts", result.value) in found
    for reason in Reason:
        assert ("holds", reason.value) in found


def test_requested_instances_by_pool_profile_and_phase():
    """What waits and what runs, with a zero for every profile that could be asked for."""
    group = DemandGroup(
        Counts({"nvidia.com/mig-3g.20gb": 1}),
        frozenset({"node-a"}),
        pods=(PodRef("x", "a"), PodRef("x", "b")),
    )
    running = fleet_node(held=[{"1g.5gb": 3}])
    seen = view(snapshot(running), demand=Demand((group,)))
    expected = {("3g.20gb", "pending"): 2, ("1g.5gb", "running"): 3, ("7g.40gb", "pending"): 0}
    for (profile, phase), number in expected.items():
        labels = ("pool", profile, phase)
        assert gauge(catalog.REQUESTED, *labels, view=seen) == number


def test_supply_and_free_instances():
    """Seven advertised, three held."""
    seen = view(snapshot(fleet_node(held=[{"1g.5gb": 3}])))
    assert gauge(catalog.SUPPLY, "pool", "1g.5gb", view=seen) == 7
    assert gauge(catalog.FREE, "pool", "1g.5gb", view=seen) == 4


def test_a_whole_gpu_counts_under_its_profile():
    """A GPU with MIG off has no other name."""
    seen = view(snapshot(fleet_node(layout=[None])))
    assert gauge(catalog.SUPPLY, "pool", "7g.40gb", view=seen) == 1


def test_nodes_and_holds_are_counted():
    """By what may be done with them, and why not."""
    hold = Hold(Reason.HELD, "by a person", "b")
    fleet = snapshot(fleet_node("a"), fleet_node("b", holds=(hold,)))
    assert gauge(catalog.NODES, "pool", "held", view=view(fleet)) == 1
    assert gauge(catalog.NODES, "pool", "changeable", view=view(fleet)) == 1
    assert gauge(catalog.NODES, "pool", "rolling", view=view(fleet)) == 0
    assert gauge(catalog.HOLDS, "Held", view=view(fleet)) == 1
    assert gauge(catalog.HOLDS, "Quarantined", view=view(fleet)) == 0


def test_a_plan_in_numbers():
    """Changes, what blocks them, gain, cost, and what stays unserved."""
    block = Block(Reason.PAUSED, "paused")
    own = change(blocked_by=(block,), price=Price(waiting_avoided=90.0, out_of_service=30.0))
    note = PodNote(PodRef("x", "a"), Reason.NO_CAPACITY, "full")
    proposed = plan(own, unserved=(note,))
    assert gauge(catalog.CHANGES, plan=proposed) == 1
    assert gauge(catalog.BLOCKED, "Paused", plan=proposed) == 1
    assert gauge(catalog.BLOCKED, "Frozen", plan=proposed) == 0
    assert gauge(catalog.GAIN, plan=proposed) == 90.0
    assert gauge(catalog.COST, plan=proposed) == 30.0
    assert gauge(catalog.UNSERVED, "NoCapacity", plan=proposed) == 1


def test_what_was_not_observed_is_absent():
    """Missing is never zero."""
    blind = {"view": None, "plan": None, "decision": Decision.INCOMPLETE}
    for metric in (catalog.PAUSED, catalog.METRICS_GAP, catalog.CHANGES, catalog.LAST_SUCCESS):
        assert gauge(metric, **blind) is None
    assert gauge(catalog.HOLDS, "Held", **blind) is None
    assert gauge(catalog.SAFE_TO_ACT, **blind) == 0


def test_pause_gap_mode_and_leader():
    """The state of the loop."""
    paused = view(paused="by ops", metrics_gap="no Prometheus")
    assert gauge(catalog.PAUSED, view=paused) == 1
    assert gauge(catalog.METRICS_GAP, view=paused) == 1
    assert gauge(catalog.SAFE_TO_ACT, view=paused) == 0
    assert gauge(catalog.SAFE_TO_ACT) == 1
    assert gauge(catalog.SAFE_TO_ACT, policy=policy(mode=Mode.DRY_RUN)) == 0
    assert gauge(catalog.MODE, "auto") == 1
    assert gauge(catalog.MODE, "off") == 0
    assert gauge(catalog.LEADER) == 1


def test_windows():
    """Never open without a window; always without the rule."""
    shut = policy(disruption=Disruption(windows=()))
    assert gauge(catalog.WINDOW_OPEN, policy=shut) == 0
    assert gauge(catalog.WINDOW_OPENS, policy=shut) == 0
    assert gauge(catalog.WINDOW_OPEN) == 1
    assert gauge(catalog.WINDOW_OPENS) == NOW_S


def test_what_happened_is_added_up():
    """Rollouts, evictions, errors, and how long things took."""
    record = RolloutRecord("node-a", NOW_S - 240.0, NOW_S, Result.DONE)
    pod = PodRef("x", "a")
    acted = Progress("node-a", evicted=(pod,), refused={pod: "budget"})
    found = telemetry_of(
        outcome(
            records=(record,),
            progress=(acted,),
            errors=("one", "two"),
            service_times=(ServiceTime("pool", "1g.5gb", 77.0),),
            journals={"node-b": journal(State.REPAIRING)},
        ),
        policy(),
    )
    added = {(s.metric.name, *s.labels): s.value for s in found.increments}
    assert added["rollouts", "done"] == added["evictions", "accepted"] == 1
    assert (added["evictions", "refused"], added[("errors",)]) == (1, 2)
    assert added["cycles", "planned"] == 1
    seconds = {(s.metric.name, *s.labels): s.value for s in found.observations}
    assert seconds["rollout_duration_seconds", "done"] == 240.0
    assert seconds["service_duration_seconds", "pool", "1g.5gb"] == 77.0
    assert seconds[("cycle_duration_seconds",)] == 0.5


def test_open_rollouts_by_state():
    """One series a state."""
    journals = {"node-b": journal(State.REPAIRING)}
    assert gauge(catalog.OPEN_ROLLOUTS, "repairing", journals=journals) == 1
    assert gauge(catalog.OPEN_ROLLOUTS, "draining", journals=journals) == 0
