"""The order of groups: by what they are, names last."""

from dataclasses import replace

from autoscaler.planning.program.order import groups_in_order, shapes_of
from tests.builders import fleet_node, waiting

SMALL, HALF = fleet_node("node-a"), fleet_node("node-b", [{"3g.20gb": 2}])


def test_groups_that_ask_for_the_same_are_told_apart_by_their_nodes():
    """Whoever may use small nodes goes before those of halves, whatever they are called."""
    first = waiting("3g.20gb", nodes=("node-a",), prefix="z")
    second = waiting("3g.20gb", nodes=("node-b",), prefix="a")
    order = groups_in_order((second, first), (SMALL, HALF))
    renamed = [replace(SMALL, node=replace(SMALL.node, name="node-b"))]
    renamed.append(replace(HALF, node=replace(HALF.node, name="node-a")))
    swapped = groups_in_order((first, second), renamed)
    assert [g.pods[0].name[0] for g in order] == ["a", "z"]
    assert [g.pods[0].name[0] for g in swapped] == ["z", "a"]


def test_what_is_asked_for_goes_before_all_else():
    """Heavier ones first; groups without pods are left out."""
    heavy, light = waiting("3g.20gb", weight=2.0), waiting("3g.20gb")
    small, none = waiting("1g.5gb"), waiting("1g.5gb", 0)
    assert groups_in_order((light, none, heavy, small), (SMALL,)) == (small, heavy, light)


def test_where_all_is_the_same_names_of_pods_decide():
    """So that the order of lists does not."""
    groups = [waiting("3g.20gb", prefix=name) for name in ("b", "a")]
    assert groups_in_order(groups, (SMALL,)) == tuple(groups[::-1])


def test_the_shape_of_nodes_counts_those_that_are_alike():
    """Names that are no nodes count for nothing."""
    twins = [SMALL, replace(SMALL, node=replace(SMALL.node, name="node-c")), HALF]
    names = frozenset({"node-a", "node-b", "node-c", "nowhere"})
    shape = shapes_of([names], twins)[names]
    assert sorted(number for _, number in shape) == [1, 2]
    assert shapes_of([], twins) == {}
