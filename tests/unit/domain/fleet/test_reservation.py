"""Which nodes of a pool are kept whole."""

import pytest

from autoscaler.domain.fleet.reservation import is_whole, reserve, reserved_holds
from autoscaler.domain.reasons import Hold, Reason
from tests.builders import fleet_node, node
from tests.fleets import pool

WHOLE = [{"7g.40gb": 1}] * 2
CUT = [{"1g.5gb": 7}] * 2
MARK = {"mig-autoscaler.io/reserved": "true"}


def own_pool(number):
    """Return a pool that reserves so many nodes."""
    return pool(reserve={"full_gpu_nodes": number})


def marked(name, layout=CUT):
    """Return a node that a person reserved."""
    return fleet_node(name, layout, node=node(name, layout, annotations=MARK))


def reserved(number, *nodes, total=None):
    """Return the names of the reserved nodes, and the holds."""
    found, holds = reserve(nodes, own_pool(number), len(nodes) if total is None else total)
    return [n.name for n in found if n.reserved], holds


@pytest.mark.parametrize(
    ("layout", "whole"),
    [
        (WHOLE, True),
        ([None, None], True),
        ([None, {"7g.40gb": 1}], False),
        ([{"7g.40gb": 1}, {"3g.20gb": 2}], False),
        ([{}, {}], False),
    ],
)
def test_a_whole_node_has_mig_off_or_one_whole_instance_everywhere(layout, whole):
    """A mixture of both is not one kind of supply."""
    assert is_whole(fleet_node(layout=layout)) is whole


def test_whole_nodes_are_taken_by_name_up_to_the_number():
    """A further one stays free for other demand."""
    nodes = [fleet_node("c", WHOLE), fleet_node("b", WHOLE), fleet_node("a", CUT)]
    assert reserved(1, *nodes) == (["b"], ())
    assert reserved(2, *nodes) == (["b", "c"], ())
    assert reserved(0, *nodes) == ([], ())


def test_nodes_that_people_marked_come_first_and_all_stay():
    """Their number may be above that of the policy."""
    nodes = [fleet_node("a", WHOLE), marked("y", WHOLE), marked("z", WHOLE)]
    assert reserved(1, *nodes)[0] == ["y", "z"]
    assert reserved(3, *nodes)[0] == ["a", "y", "z"]


def test_a_marked_node_that_is_cut_is_reserved_all_the_same():
    """Nothing cuts it further; it has no hold, so that it can be made whole."""
    found, _ = reserve([marked("a")], own_pool(1), 1)
    (own,) = reserved_holds(found)
    assert own.reserved
    assert own.holds == ()


def test_a_reserved_node_that_is_whole_is_held():
    """The reason is its own."""
    found, _ = reserve([fleet_node("a", WHOLE)], own_pool(1), 1)
    (own,) = reserved_holds(found)
    assert [hold.reason for hold in own.holds] == [Reason.RESERVED]
    assert not own.is_changeable


def test_a_percentage_is_of_the_pool_and_rounds_down():
    """Ten percent of nineteen is one."""
    nodes = [fleet_node(f"n{i:02}", WHOLE) for i in range(19)]
    assert reserved("10%", *nodes)[0] == ["n00"]


def test_nodes_that_are_going_or_unknown_are_no_reserve():
    """They cannot serve anyone."""
    gone = Hold(Reason.NODE_LEAVING, "it leaves", "a")
    nodes = [fleet_node("a", WHOLE, holds=(gone,)), fleet_node("b", WHOLE)]
    assert reserved(1, *nodes)[0] == ["b"]


def test_an_impossible_reserve_is_told_with_its_numbers():
    """More than there are, or than can be whole."""
    names, (hold,) = reserved(3, fleet_node("a", WHOLE), fleet_node("b", CUT))
    assert names == ["a"]
    assert (hold.reason, hold.node) == (Reason.RESERVE_IMPOSSIBLE, None)
    assert "shall keep 3 full-GPU nodes (3 of 2), 2 can be whole" in hold.message
    unknown = fleet_node("u", gpus=())
    assert len(reserved(1, unknown)[1]) == 1
