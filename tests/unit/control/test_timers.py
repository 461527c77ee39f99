"""When time alone may change a decision."""

import pytest

from autoscaler.control.timers import next_due_s
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.quarantine import Quarantine
from autoscaler.domain.journal.rollout import Result
from autoscaler.domain.policy.policy import DailySpan, DemandRules, Disruption, PendingRules
from autoscaler.domain.reasons import Block, Reason
from autoscaler.planning.gating.persistence import Sighting
from tests.builders import NOW_S, node, pod
from tests.fleets import policy, pool
from tests.outcomes import plan, view
from tests.rollouts import change

# NOW_S is 2023-11-14 22:13:20 UTC, a Tuesday.
HALF_PAST_S = NOW_S + 1000.0
WINDOW = DailySpan(start="22:30", end="23:30")
FLOORS = {"floors": ({"start": "22:30", "end": "23:00", "profiles": {"1g.5gb": 1}},)}


def due(rules=None, seen=(), proposals=None, history=(), proposed=None):
    """Return when the next look is due, seconds from now."""
    looked = view(observation=Observation(NOW_S, **dict(seen)))
    found = next_due_s(
        looked,
        rules or policy(),
        plan=proposed or plan(),
        proposals=proposals or {},
        history=history,
    )
    return found - NOW_S


def test_nothing_to_come_is_never():
    """An idle fleet costs nothing."""
    assert due() == float("inf")


@pytest.mark.parametrize(
    ("rules", "after_s"),
    [
        (policy(disruption=Disruption(windows=(WINDOW,))), 1000.0),
        (
            policy(disruption=Disruption(windows=(DailySpan(start="22:00", end="22:30"),))),
            1000.0,
        ),
        (policy(pool(**FLOORS)), 1000.0),
    ],
)
def test_edges_of_times_of_day(rules, after_s):
    """A window opens or closes, a floor begins."""
    assert due(rules) == after_s


def test_ages_of_pods_and_nodes():
    """A pod gets old enough, a node has warmed up, a quarantine is over."""
    waiting = pod(created_s=NOW_S - 10.0)
    rules = policy(demand=DemandRules(pending=PendingRules(min_age_s=60.0)))
    assert due(rules, {"pods": (waiting,)}) == 50.0
    young = node(created_s=NOW_S - 100.0, ready_since_s=NOW_S - 40.0)
    assert due(seen={"nodes": (young,)}) == 500.0
    entry = Quarantine("x", "y", 0.0, NOW_S + 77.0).to_text()
    ill = node(annotations={"mig-autoscaler.io/quarantine": entry})
    assert due(seen={"nodes": (ill,)}) == 77.0


def test_proposals_and_rests():
    """A proposal has persisted, a node has rested, the hour's budget is free."""
    assert due(proposals={"node-a/0/x": Sighting(NOW_S - 20.0, 2, NOW_S)}) == 40.0
    record = RolloutRecord("node-a", NOW_S - 300.0, NOW_S - 60.0, Result.DONE)
    assert due(history=(record,)) == 1740.0
    assert due(policy(disruption=Disruption(cooldown_s=0.0)), history=(record,)) == 3300.0


def test_a_blocked_change_is_looked_at_again_in_any_case():
    """Some blocks end at times that are not told here."""
    blocked = change(blocked_by=(Block(Reason.COOLDOWN, "rests"),))
    assert due(proposed=plan(blocked)) == 300.0
