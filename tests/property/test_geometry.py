"""Properties of the path between two geometries."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.domain.mig.geometry import Geometry, GpuInstance, transitions


@st.composite
def geometries(draw):
    """Draw a geometry of a GPU with 8 memory slices."""
    cuts = sorted(draw(st.sets(st.integers(0, 8), max_size=9)))
    spans = [(a, b - a) for a, b in pairwise(cuts) if draw(st.booleans())]
    return Geometry(tuple(GpuInstance(start, size, f"{size}g") for start, size in spans))


@given(geometries(), geometries())
def test_a_path_ends_at_the_target(current, target):
    """The last geometry of the path is the target."""
    assert [current, *transitions(current, target)][-1] == target


@given(geometries(), geometries(), st.data())
def test_an_interrupted_path_leads_on_to_the_target(current, target, data):
    """From every geometry on the way a fresh path still reaches the target."""
    path = [current, *transitions(current, target)]
    stop = data.draw(st.integers(0, len(path) - 1))
    assert [path[stop], *transitions(path[stop], target)][-1] == target


@given(geometries(), geometries())
def test_kept_instances_are_never_touched(current, target):
    """An instance of both geometries is there after every step."""
    kept = set(current.instances) & set(target.instances)
    for geometry in transitions(current, target):
        assert kept <= set(geometry.instances)


@given(geometries(), geometries())
def test_each_step_destroys_or_creates_one_instance(current, target):
    """No step does more than one thing, and no thing is done twice."""
    path = [current, *transitions(current, target)]
    changes = [set(a.instances) ^ set(b.instances) for a, b in pairwise(path)]
    assert all(len(change) == 1 for change in changes)
    assert len(changes) == len(set(current.instances) ^ set(target.instances))


@given(geometries())
def test_there_is_no_step_where_nothing_changes(geometry):
    """The path to where one is has no steps."""
    assert list(transitions(geometry, geometry)) == []
