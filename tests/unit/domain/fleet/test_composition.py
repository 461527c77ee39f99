"""Which instances each GPU of a node holds, and when that is not known."""

import pytest

from autoscaler.domain.cluster.inventory import inventory_of
from autoscaler.domain.counts import Counts
from autoscaler.domain.fleet.composition import compose
from autoscaler.domain.fleet.hardware import Hardware, fewest_boards
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.mig.strategy import Strategy
from autoscaler.domain.reasons import Reason
from tests.builders import model, node
from tests.fleets import inventory

SMALL = Counts({"1g.5gb": 7})
LARGE = Counts({"3g.20gb": 2})


def amounts(**by_profile):
    """Return resources; ``gpu`` counts whole ones, 1g_5gb is a profile."""
    names = {n: "nvidia.com/gpu" if n == "gpu" else resource_name(n) for n in by_profile}
    return Counts({names[n]: k for n, k in by_profile.items()})


def hardware(advertised, num_gpus, **changes):
    """Return a node that advertises this on so many GPUs."""
    capacity = changes.pop("capacity", Counts())
    labels = changes.pop("labels", {})
    own = node(allocatable=advertised, capacity=capacity, labels=labels)
    return Hardware(
        own, model(changes.pop("key", "a100-40gb")), num_gpus, Strategy.MIXED, **changes
    )


def composed(advertised, num_gpus, promised=(), report=None, **changes):
    """Return the composition of such a node."""
    own = None
    if report is not None:
        own = inventory_of(node(annotations=report))
    return compose(hardware(advertised, num_gpus, **changes), promised, own)


def counts_of(found):
    """Return profile counts by GPU; None is MIG off."""
    return [gpu.counts if gpu.mig_enabled else None for gpu in found.gpus]


def reasons(found):
    """Return the reasons of the holds."""
    return [hold.reason for hold in found.holds]


def test_a_configuration_that_adds_up_tells_each_gpu():
    """Different GPUs are told apart by their index."""
    found = composed(amounts(**{"1g.5gb": 7, "3g.20gb": 2}), 2, [(LARGE, SMALL)])
    assert counts_of(found) == [LARGE, SMALL]
    assert found.holds == ()
    assert found.confirms


def test_a_configuration_that_does_not_add_up_is_drift():
    """What is advertised is still counted, and split where that is possible."""
    found = composed(amounts(**{"3g.20gb": 4}), 2, [(SMALL, SMALL)])
    assert reasons(found) == [Reason.DRIFTED]
    assert "promises 14xnvidia.com/mig-1g.5gb" in found.holds[0].message
    assert counts_of(found) == [LARGE, LARGE]
    assert found.is_countable


def test_two_meanings_that_both_add_up_leave_the_geometry_unknown():
    """Sums cannot tell which GPU is which."""
    mixed = amounts(**{"1g.5gb": 7, "3g.20gb": 2})
    found = composed(mixed, 2, [(LARGE, SMALL), (SMALL, LARGE)])
    assert found.gpus == ()
    assert reasons(found) == [Reason.GEOMETRY_UNKNOWN]


def test_gpus_that_are_all_alike_need_no_configuration():
    """There is one split into equal parts."""
    found = composed(amounts(**{"1g.5gb": 4, "3g.20gb": 2}), 2)
    assert counts_of(found) == [Counts({"1g.5gb": 2, "3g.20gb": 1})] * 2
    assert found.holds == ()
    assert not found.confirms


@pytest.mark.parametrize(
    "advertised",
    [
        {"1g.5gb": 7, "3g.20gb": 2},
        {"1g.5gb": 7},
        {"1g.5gb": 3},
    ],
)
def test_sums_that_no_equal_split_explains_leave_the_geometry_unknown(advertised):
    """Seven on two GPUs may be seven and none, or four and three."""
    found = composed(amounts(**advertised), 2)
    assert found.gpus == ()
    assert reasons(found) == [Reason.GEOMETRY_UNKNOWN]
    assert found.is_countable


def test_whole_gpus_alone_are_a_geometry():
    """MIG is off everywhere."""
    found = composed(amounts(gpu=4), 4)
    assert counts_of(found) == [None] * 4
    assert found.holds == ()


def test_gpus_that_advertise_nothing_are_not_taken_for_empty():
    """The device plugin may be away, or the boards have MIG on and no instance."""
    found = composed(amounts(gpu=2), 4)
    assert reasons(found) == [Reason.GEOMETRY_UNKNOWN]
    assert "2 of its 4 GPUs advertise nothing" in found.holds[0].message
    empty = composed(Counts(), 2, [(Counts(), Counts())])
    assert counts_of(empty) == [Counts(), Counts()]


def test_the_inventory_comes_before_the_configuration():
    """It shows placements, which no configuration does."""
    layout = [{"3g.20gb": 2}, {"1g.5gb": 7}]
    mixed = amounts(**{"1g.5gb": 7, "3g.20gb": 2})
    found = composed(mixed, 2, [(LARGE, SMALL)], inventory(layout))
    assert counts_of(found) == [LARGE, SMALL]
    assert found.gpus[0].geometry is not None
    assert str(found.gpus[0].geometry) == "3g.20gb@0 3g.20gb@4"


def test_an_inventory_that_does_not_add_up_is_not_believed():
    """Agent and kubelet disagree, so nobody knows."""
    found = composed(amounts(**{"3g.20gb": 4}), 2, report=inventory([{"1g.5gb": 7}] * 2))
    assert found.gpus == ()
    assert reasons(found) == [Reason.GEOMETRY_UNKNOWN]


def test_a_label_that_the_instances_do_not_follow_is_drift():
    """A restart of MIG manager would cut the GPUs anew, unless nobody obeys the label."""
    layout = [{"3g.20gb": 2}, {"1g.5gb": 7}]
    mixed = amounts(**{"1g.5gb": 7, "3g.20gb": 2})
    swapped = [(SMALL, LARGE)]
    assert reasons(composed(mixed, 2, swapped, inventory(layout))) == [Reason.DRIFTED]
    own = composed(mixed, 2, swapped, inventory(layout), obeys_label=False)
    assert own.holds == ()


def test_an_unknown_profile_is_told_by_name():
    """The table of the model is in the message."""
    found = composed(Counts({"nvidia.com/mig-1g.11gb": 7}), 1)
    assert reasons(found) == [Reason.UNKNOWN_PROFILE]
    assert "nvidia.com/mig-1g.11gb" in found.holds[0].message
    assert "3g.20gb" in found.holds[0].message


def test_more_than_the_boards_can_hold_is_told_and_not_counted():
    """Three GPUs are needed for five 3g and one whole."""
    found = composed(amounts(**{"3g.20gb": 5, "gpu": 1}), 3)
    assert reasons(found) == [Reason.EXCEEDS_HARDWARE]
    assert "at least 4 GPUs, its label counts 3" in found.holds[0].message
    assert not found.is_countable


def test_e12_an_unhealthy_device_holds_its_node():
    """Fifteen of sixteen are offered: which GPU is faulty is not said."""
    all_of_it = amounts(**{"3g.20gb": 16})
    found = composed(amounts(**{"3g.20gb": 15}), 8, [(LARGE,) * 8], capacity=all_of_it)
    assert reasons(found) == [Reason.UNHEALTHY_DEVICE]
    assert "1 unhealthy of 16" in found.holds[0].message
    assert counts_of(found) == [LARGE] * 8


def test_e12_without_a_configuration_the_unhealthy_device_is_told_too():
    """The split does not work out then."""
    all_of_it = amounts(**{"3g.20gb": 16})
    found = composed(amounts(**{"3g.20gb": 15}), 8, capacity=all_of_it)
    assert Reason.UNHEALTHY_DEVICE in reasons(found)


def test_what_lingers_of_an_earlier_layout_is_no_fault():
    """Kubelet keeps the capacity of a resource for some minutes after its plugin is gone."""
    both = amounts(**{"3g.20gb": 2, "1g.5gb": 7})
    found = composed(amounts(**{"3g.20gb": 2}), 1, [(LARGE,)], capacity=both)
    assert found.holds == ()
    assert counts_of(found) == [LARGE]


def test_a_plugin_that_is_away_leaves_all_its_devices_unhealthy():
    """Nothing is offered, everything is there."""
    found = composed(Counts(), 1, [(LARGE,)], capacity=amounts(**{"3g.20gb": 2}))
    assert reasons(found) == [Reason.UNHEALTHY_DEVICE]


@pytest.mark.parametrize(
    ("counts", "boards"),
    [
        ({}, 0),
        ({"1g.5gb": 1}, 1),
        ({"1g.5gb": 8}, 2),
        ({"3g.20gb": 3}, 2),
        ({"4g.20gb": 2}, 2),
        ({"7g.40gb": 3, "1g.5gb": 1}, 4),
        ({"3g.20gb": 2, "1g.5gb": 1}, 2),
    ],
)
def test_fewest_boards_is_a_bound_by_slices_and_by_number(counts, boards):
    """Two 3g fill all memory of a board, though a compute slice is left."""
    assert fewest_boards(model(), Counts(counts)) == boards
