"""Service times, learned from pods that start and end."""

from autoscaler.control.service_time import ServiceTime, Stay, ended, stays_of
from tests.builders import NOW_S, fleet_node, pod

STAY = Stay("pool", ("1g.5gb",), NOW_S - 100.0, was_told_to_go=False)


def test_device_holders_that_have_started_are_known_by_uid():
    """With what they hold, a whole GPU under its profile's name."""
    holders = (
        pod("a", node="node-a"),
        pod("b", {"nvidia.com/gpu": 1}, node="node-a"),
        pod("starting", node="node-a", started_s=None),
        pod("leaving", node="node-a", deletion_s=NOW_S),
    )
    found = stays_of([fleet_node(holders=holders)])
    assert found == {
        "uid-a": Stay("pool", ("1g.5gb",), NOW_S - 500.0, was_told_to_go=False),
        "uid-b": Stay("pool", ("7g.40gb",), NOW_S - 500.0, was_told_to_go=False),
        "uid-leaving": Stay("pool", ("1g.5gb",), NOW_S - 500.0, was_told_to_go=True),
    }


def test_a_pod_that_is_gone_has_served_since_its_start():
    """Its start is the API's, so a restart of ours costs nothing."""
    assert ended({"u": STAY}, {}, NOW_S) == (ServiceTime("pool", "1g.5gb", 100.0),)


def test_pods_that_still_run_or_were_told_to_go_say_nothing():
    """An eviction does not tell how long work takes."""
    told = Stay("pool", ("1g.5gb",), NOW_S, was_told_to_go=True)
    assert ended({"u": STAY, "v": told}, {"u": STAY}, NOW_S) == ()


def test_clocks_that_differ_make_no_negative_time():
    """A start in our future counts as now."""
    ahead = Stay("pool", ("1g.5gb",), NOW_S + 5.0, was_told_to_go=False)
    assert ended({"u": ahead}, {}, NOW_S)[0].seconds == 0.0
