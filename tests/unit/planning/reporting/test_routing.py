"""Routing requests anew with least movement."""

from autoscaler.planning.reporting.routing import Network


def test_what_need_not_move_stays():
    """More room elsewhere attracts nobody."""
    network = Network({0: 3, 1: 5}, {0: (0, 1)}, {(0, 0): 3})
    assert network.reroute({0: 3})
    assert network.flows == {(0, 0): 3}


def test_only_what_lost_its_place_moves():
    """Two of three requests stay in the zone that shrank."""
    network = Network({0: 2, 1: 5}, {0: (0, 1)}, {(0, 0): 3})
    assert network.reroute({0: 3})
    assert network.flows == {(0, 0): 2, (0, 1): 1}


def test_others_make_room_for_a_request_with_less_choice():
    """Want 1 may run only in zone 0, so want 0 gives way to zone 1."""
    network = Network({0: 1, 1: 1}, {0: (0, 1), 1: (0,)}, {(0, 0): 1})
    assert network.reroute({0: 1, 1: 1})
    assert network.flows == {(0, 1): 1, (1, 0): 1}


def test_a_chain_of_moves_is_found():
    """Three wants shift by one zone each."""
    zones = {0: (0,), 1: (0, 1), 2: (1, 2)}
    network = Network({0: 1, 1: 1, 2: 1}, zones, {(1, 0): 1, (2, 1): 1})
    assert network.reroute({0: 1, 1: 1, 2: 1})
    assert network.flows == {(0, 0): 1, (1, 1): 1, (2, 2): 1}


def test_requests_that_are_served_no_more_leave_the_crowded_zone():
    """The one that stays is where there is room for it."""
    network = Network({0: 0, 1: 1}, {0: (0, 1)}, {(0, 0): 1, (0, 1): 1})
    assert network.reroute({0: 1})
    assert network.flows == {(0, 1): 1}


def test_what_does_not_fit_is_said():
    """Two requests and one instance."""
    assert not Network({0: 1}, {0: (0,)}, {}).reroute({0: 2})
