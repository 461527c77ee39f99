"""Whether an open rollout should go on, asked again until its label is written."""

from dataclasses import replace
from datetime import date

import pytest

from autoscaler.domain.cluster.objects import PodRef
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Demand, DemandGroup
from autoscaler.domain.journal.rollout import State
from autoscaler.domain.policy.policy import DailySpan, Disruption, Driver, Freeze
from autoscaler.domain.reasons import Hold, Reason
from autoscaler.domain.rollout.revalidation import verdict
from tests.builders import NOW_S, fleet_node
from tests.fleets import policy, pool
from tests.rollouts import journal

OWN = journal(State.DRAINING, pool="pool", serves=("default/a",))
LARGE = "nvidia.com/mig-3g.20gb"


def waiting(name="a", resource=LARGE):
    """Return the demand of one waiting pod."""
    pods = (PodRef("default", name, "u"),)
    return Demand((DemandGroup(Counts({resource: 1}), frozenset({"node-a"}), pods=pods),))


def reason_of(own=OWN, node=None, demand=None, rules=None, **changes):
    """Return the reason to end a rollout, if there is one."""
    node = fleet_node() if node is None else node
    now = policy(**changes) if rules is None else rules
    found = verdict(own, node, demand=demand or waiting(), policy=now, now_s=NOW_S)
    return None if found is None else found.reason


def test_a_rollout_that_is_still_right_goes_on():
    """Its pods wait, its node is ours, and it may."""
    assert reason_of() is None


def test_a_node_that_no_pool_has_any_more():
    """Its labels, the policy, or an annotation took it away."""
    found = verdict(OWN, None, demand=waiting(), policy=policy(), now_s=NOW_S)
    assert found.reason is Reason.IGNORED
    assert reason_of(node=fleet_node(pool="other")) is Reason.IGNORED


@pytest.mark.parametrize(
    ("held", "ends"),
    [
        (Reason.HELD, True),
        (Reason.TWO_OWNERS, True),
        (Reason.NODE_LEAVING, True),
        (Reason.CHANGE_IN_PROGRESS, False),
        (Reason.CORDONED, False),
        (Reason.NOT_READY, False),
    ],
)
def test_holds_that_waiting_does_not_cure_end_it(held, ends):
    """The others are its own doing, or pass."""
    node = fleet_node(holds=(Hold(held, "because", "node-a"),))
    assert reason_of(node=node) == (held if ends else None)


def test_pods_that_left_the_queue_leave_nothing_to_do():
    """Unless others wait for the same resources."""
    assert reason_of(demand=Demand()) is Reason.NOT_WORTH_IT
    assert reason_of(demand=waiting("b")) is None
    assert reason_of(demand=waiting("b", "nvidia.com/mig-2g.10gb")) is Reason.NOT_WORTH_IT


def test_a_change_for_no_pods_is_not_measured_by_pods():
    """A floor or a reserve is worth it whoever waits."""
    assert reason_of(journal(State.DRAINING, pool="pool"), demand=Demand()) is None


def test_a_profile_that_an_edit_took_away():
    """The policy was edited since."""
    assert reason_of(rules=policy(pool(profiles=("1g.5gb",)))) is Reason.NOT_ALLOWED


def test_the_agent_may_leave_what_was_taken_away_where_it_is():
    """A running pod holds it; only what comes anew must be allowed."""
    kept = replace(OWN.target, gpus=(Counts({"1g.5gb": 3, "3g.20gb": 1}), OWN.target.gpus[1]))
    own = replace(OWN, driver=Driver.AGENT, target=kept)
    own = replace(own, before=replace(OWN.before, gpus=(Counts({"3g.20gb": 1}), None)))
    small = policy(pool(profiles=("1g.5gb",)))
    assert (
        reason_of(own, demand=waiting(resource="nvidia.com/mig-3g.20gb"), rules=small) is None
    )
    by_manager = replace(own, driver=Driver.MIG_MANAGER)
    assert reason_of(by_manager, rules=small) is Reason.NOT_ALLOWED


@pytest.mark.parametrize(
    ("outside", "evictions", "reason"),
    [
        ("none", (), Reason.OUTSIDE_WINDOW),
        ("idle", (), None),
        ("idle", ("default/x",), Reason.OUTSIDE_WINDOW),
    ],
)
def test_a_window_that_has_closed(outside, evictions, reason):
    """What evicts nobody may go on where the policy says so."""
    own = journal(State.DRAINING, pool="pool", evictions=evictions)
    shut = Disruption(windows=(), outside_windows=outside)
    assert reason_of(own, disruption=shut) == reason


def test_a_freeze():
    """It holds in open windows too."""
    frozen = Freeze(from_=date(2023, 11, 14), to=date(2023, 11, 15))
    rules = Disruption(windows=(DailySpan(start="00:00", end="24:00"),), freezes=(frozen,))
    assert reason_of(disruption=rules) is Reason.FROZEN
