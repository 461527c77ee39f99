"""How long a change is counted to serve, by the calendar of a policy."""

from datetime import datetime

import pytest

from autoscaler.domain.demand.demand import Demand
from autoscaler.domain.mig.geometry import Geometry
from autoscaler.domain.policy.policy import Disruption, Driver
from autoscaler.planning.planner import make_plan
from autoscaler.planning.program.horizon import horizon_of
from tests.builders import fleet_node, gpu, placed, snapshot, waiting
from tests.fleets import policy, pool

NIGHT = {"start": "22:00", "end": "06:00"}
HOUR_S = 3600.0


def at(text: str) -> float:
    """Return a moment of 2030 in UTC, in epoch seconds; 2030-01-07 is a Monday."""
    return datetime.fromisoformat(f"2030-01-{text}:00+00:00").timestamp()


def with_windows(*windows, **changes):
    """Return a policy with these windows."""
    return policy(disruption=Disruption.model_validate({"windows": windows, **changes}))


def test_without_windows_the_constant_counts():
    """What may start at any time can be undone at any time."""
    found = horizon_of(policy(), at("07T12:00"))
    assert (found.anytime_s, found.window_s, found.is_closed) == (12000.0, 12000.0, False)


def test_windows_that_never_open_change_nothing():
    """An empty list of windows has no next window to wait for."""
    assert horizon_of(with_windows(), at("07T12:00")).window_s == 12000.0


@pytest.mark.parametrize(
    ("moment", "hours"),
    [("07T23:00", 23.0), ("08T05:00", 17.0), ("07T12:00", 10.0)],
)
def test_a_change_of_a_window_serves_until_the_next_window_starts(moment, hours):
    """The window that is open now is not the next one; before it, it is."""
    found = horizon_of(with_windows(NIGHT), at(moment))
    assert found.anytime_s == found.window_s == hours * HOUR_S


def test_a_window_that_is_near_gives_the_constant():
    """The horizon is never shorter than what was measured to be good."""
    assert horizon_of(with_windows(NIGHT), at("07T21:00")).window_s == 12000.0


def test_windows_in_a_freeze_do_not_open():
    """The next window is the first one after the frozen days."""
    freeze = {"from": "2030-01-08", "to": "2030-01-09"}
    found = horizon_of(with_windows(NIGHT, freezes=(freeze,)), at("07T23:00"))
    # The window of Monday ends with the freeze at midnight, and the days after it begin
    # with the rest of Wednesday's window.
    assert found.window_s == 49 * HOUR_S


def test_idle_changes_that_may_start_outside_keep_the_constant():
    """Only what must wait for windows is counted until the next one."""
    found = horizon_of(with_windows(NIGHT, outsideWindows="idle"), at("07T23:00"))
    assert (found.anytime_s, found.window_s) == (12000.0, 23 * HOUR_S)
    assert found.stretch == pytest.approx(6.9)
    assert not found.is_closed


def test_outside_windows_and_in_freezes_changes_of_windows_wait():
    """Closed is what the gate calls outside a window, or frozen."""
    freeze = {"from": "2030-01-07", "to": "2030-01-07"}
    frozen = with_windows(NIGHT, freezes=(freeze,))
    assert horizon_of(with_windows(NIGHT), at("07T12:00")).is_closed
    assert horizon_of(frozen, at("07T23:00")).is_closed


def test_the_gain_of_a_plan_lasts_until_the_next_window():
    """A seven-slice pod that would wait a day is worth a day of seven slices."""
    fleet = snapshot(fleet_node())
    demand = Demand((waiting("7g.40gb"),))
    (change,) = make_plan(fleet, demand, with_windows(NIGHT), at("07T23:00")).changes
    assert change.price.gain == 7 * 23 * HOUR_S


def half_held_agent_node(name):
    """Return a node of the agent with one of its small instances in use."""
    own = placed({"1g.5gb": 7})
    pinned = Geometry(own.instances[:1])
    cut = gpu(0, {"1g.5gb": 7}, {"1g.5gb": 1}, geometry=own, pinned=pinned)
    return fleet_node(name, [{"1g.5gb": 7}], [{"1g.5gb": 1}], driver=Driver.AGENT, gpus=(cut,))


def idle_agent_node(name):
    """Return a node of the agent that nobody uses."""
    cut = gpu(0, {"1g.5gb": 7}, geometry=placed({"1g.5gb": 7}), pinned=Geometry())
    return fleet_node(name, [{"1g.5gb": 7}], driver=Driver.AGENT, gpus=(cut,))


def changed(moment, *groups):
    """Return which nodes a plan changes where idle changes may start at any time."""
    own = policy(
        pool(driver=Driver.AGENT),
        disruption=Disruption.model_validate({"windows": (NIGHT,), "outsideWindows": "idle"}),
    )
    fleet = snapshot(half_held_agent_node("node-a"), idle_agent_node("node-b"))
    plan = make_plan(fleet, Demand(groups), own, at(moment))
    return {change.node: change.price for change in plan.changes}


def test_outside_windows_what_may_start_now_goes_first():
    """Cutting around a pod is cheaper and lasts longer, but would have to wait."""
    both = ("node-a", "node-b")
    outside = changed("07T12:00", waiting("3g.20gb", nodes=both))
    assert set(outside) == {"node-b"}
    inside = changed("07T23:00", waiting("3g.20gb", nodes=both))
    assert set(inside) == {"node-a"}


def test_what_must_wait_comes_in_addition():
    """What idle GPUs cannot serve is proposed for the window, at the worth of windows."""
    both = ("node-a", "node-b")
    outside = changed("07T12:00", waiting("3g.20gb", 3, nodes=both))
    assert set(outside) == {"node-a", "node-b"}
    # Two on the idle GPU for the constant time, one beside the pod until the window.
    assert outside["node-b"].gain == 2 * 3 * 12000.0
    assert outside["node-a"].gain == 3 * 10 * HOUR_S
