"""Placements for profile counts, found by backtracking."""

from dataclasses import replace

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.mig.geometry import Geometry, GpuInstance
from autoscaler.domain.mig.placement import fits, is_valid, place
from autoscaler.domain.mig.profile import Media
from tests.builders import model, placed, toy_model

PINNED_3G = Geometry((GpuInstance(0, 4, "3g.20gb"),))


def test_a_placement_is_found_where_greedy_fails():
    """a at 0 would leave one place for two of b; a at 4 leaves both."""
    toy = toy_model(8, {"a": ((0, 4), 1), "b": ((0, 1), 1)})
    assert str(place(toy, Counts({"a": 1, "b": 2}))) == "b@0 b@1 a@4"


def test_search_goes_back_over_more_than_one_choice():
    """Three sizes on six slices, where most first choices are a dead end."""
    toy = toy_model(6, {"a": ((0, 2, 3), 3), "b": ((0, 1, 4), 2), "c": ((0, 2, 5), 1)})
    found = place(toy, Counts({"a": 1, "b": 1, "c": 1}))
    assert found is not None
    assert found.counts == Counts({"a": 1, "b": 1, "c": 1})
    assert place(toy, Counts({"a": 2, "b": 1})) is None


def test_the_order_of_creation_does_not_matter():
    """3g goes to 4, so that 2g and two 1g fit before it."""
    assert str(placed({"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2})) == (
        "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"
    )


def test_gigabytes_in_names_are_no_limit():
    """12 + 12 + 24 + 47 is 95 on a 94 GB board, and fits."""
    assert fits(model("h100-94gb"), Counts({"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1}))


@pytest.mark.parametrize(
    ("counts", "start"), [({"1g.5gb": 1}, 6), ({"3g.20gb": 1}, 4), ({"1g.10gb": 1}, 6)]
)
def test_a_lone_instance_is_put_where_it_is_least_in_the_way(counts, start):
    """The end of the GPU is of use to the fewest other placements."""
    assert placed(counts).instances[0].start == start


@pytest.mark.parametrize(
    ("key", "counts"),
    [
        ("a100-40gb", {"7g.40gb": 1, "1g.5gb": 1}),
        ("a100-40gb", {"1g.5gb": 8}),
        ("a100-40gb", {"4g.20gb": 2}),
        ("a100-40gb", {"3g.20gb": 2, "1g.5gb": 1}),
        ("a100-40gb", {"1g.5gb+me": 2}),
        ("a30-24gb", {"1g.6gb+me": 1, "2g.12gb+me": 1}),
        ("rtx-pro-6000-blackwell-96gb", {"1g.24gb+me.all": 1, "1g.24gb": 1}),
        ("a100-40gb", {"3g.40gb": 1}),
    ],
)
def test_what_a_gpu_cannot_hold_has_no_placement(key, counts):
    """Too much, too many of one kind, or no profile of the model."""
    assert place(model(key), Counts(counts)) is None
    assert not fits(model(key), Counts(counts))


def test_nothing_fits_always():
    """An empty GPU is a geometry."""
    assert place(model(), Counts()) == Geometry()


def test_pinned_instances_stay_in_place():
    """The rest is placed around them, and they count among the whole."""
    found = place(model(), Counts({"3g.20gb": 1, "1g.5gb": 3}), PINNED_3G)
    assert str(found) == "3g.20gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6"
    assert place(model(), Counts({"3g.20gb": 1, "1g.5gb": 4}), PINNED_3G) is None


def test_counts_without_the_pinned_ones_have_no_placement():
    """What is pinned cannot be left out."""
    assert place(model(), Counts({"1g.5gb": 3}), PINNED_3G) is None


def test_impossible_pinned_placements_are_refused():
    """A 2g starts at 0, 2 or 4."""
    with pytest.raises(ValueError, match=r"a100-40gb does not allow 2g\.10gb@1"):
        place(model(), Counts({"2g.10gb": 1}), Geometry((GpuInstance(1, 2, "2g.10gb"),)))


@pytest.mark.parametrize(
    ("instance", "valid"),
    [
        (GpuInstance(4, 4, "3g.20gb"), True),
        (GpuInstance(4, 3, "3g.20gb"), False),
        (GpuInstance(2, 4, "3g.20gb"), False),
        (GpuInstance(0, 1, "1g.10gb"), False),
        (GpuInstance(0, 4, "3g.40gb"), False),
    ],
)
def test_a_valid_geometry_has_placements_of_the_table(instance, valid):
    """Profile, start and size must be those of the model."""
    assert is_valid(model(), Geometry((instance,))) is valid


def test_a_valid_geometry_keeps_the_limits():
    """Two +me are one too many, wherever they are."""
    two = Geometry((GpuInstance(0, 1, "1g.5gb+me"), GpuInstance(1, 1, "1g.5gb+me")))
    assert not is_valid(model(), two)
    assert is_valid(model(), two.minus(two.instances[0]))


def test_one_instance_with_extra_engines_a_gpu_where_none_are_counted():
    """Two kinds of +me exclude each other though no engine numbers are known."""
    shapes = {"a": ((0, 1, 2, 3), 1), "b": ((0, 2), 2)}
    toy = toy_model(4, shapes, media=Media.ONE, engines=None)
    assert fits(toy, Counts({"a": 1}))
    assert fits(toy, Counts({"b": 1}))
    assert not fits(toy, Counts({"a": 1, "b": 1}))


def test_compute_slices_limit_as_well():
    """Where memory has room, compute may have none."""
    small = replace(toy_model(4, {"a": ((0, 1, 2, 3), 1)}), compute_slices=2)
    assert fits(small, Counts({"a": 2}))
    assert not fits(small, Counts({"a": 3}))
